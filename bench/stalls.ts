// Measures how long the event loop stalls, by the samples of the node's /status.json: each has the
// longest delay in its second. (That in /metrics is of the last minutes.)

import { setTimeout as sleep } from 'node:timers/promises'
import type { Amount, Side } from './compare.ts'
import type { Seen } from './generator.ts'
import type { Forum } from './sides.ts'

const lookMs = 50

/** The longest stall of the event loop in a second. */
export interface Stall {
  atSeconds: number
  stallMs: number
}

export interface Watched {
  stalls: Stall[]
  load: Seen
}

export async function watchStalls(side: Side, forum: Forum, amount: Amount): Promise<Watched> {
  const stalls = await stallsFromNow(forum)
  const load = await side.load(amount, 0)
  return { stalls: await stalls(), load }
}

/** Resolves when a second begins, to a function that ends the last one and returns all of them. */
export async function stallsFromNow(forum: Forum): Promise<() => Promise<Stall[]>> {
  const first = await nextSample(forum, 0)
  return async () => {
    await nextSample(forum, first)
    const { at, columns } = await forum.samples(first)
    return at.map((second, i) => ({
      atSeconds: second - at[0],
      stallMs: (columns.loop_max?.[i] ?? 0) * 1e3,
    }))
  }
}

export function longestOf(stalls: readonly Stall[]): number {
  return Math.max(...stalls.map(({ stallMs }) => stallMs))
}

/** Resolves to the number of the next sample, once it is taken. Those up to `seen` are not read. */
async function nextSample(forum: Forum, seen: number): Promise<number> {
  const { last } = await forum.samples(seen)
  for (;;) {
    const now = (await forum.samples(last)).last
    if (now > last) return now
    await sleep(lookMs)
  }
}
