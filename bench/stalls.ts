// Measures how long the event loop stalls while the swarm keeps it busy, by the node's /metrics,
// which reset the value at each scrape.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Amount, Side } from './compare.ts'
import type { Seen } from './generator.ts'
import type { Stall } from './results.ts'
import type { Forum } from './sides.ts'

const lookMs = 200
const longest = 'agent_forum_event_loop_delay_seconds{percentile="100"}'

export interface Watched {
  stalls: Stall[]
  load: Seen
}

export async function watchStalls(side: Side, forum: Forum, amount: Amount): Promise<Watched> {
  const stalls: Stall[] = []
  let isOver = false
  const load = side.load(amount, 0).finally(() => {
    isOver = true
  })
  await forum.metrics()
  const begun = performance.now()
  while (!isOver) {
    await sleep(lookMs)
    const seconds = (await forum.metrics()).get(longest)!
    stalls.push({ atSeconds: (performance.now() - begun) / 1e3, stallMs: seconds * 1e3 })
  }
  return { stalls, load: await load }
}
