// Polls for a condition for a limited time. The error at the end names the condition.

import { setTimeout as sleep } from 'node:timers/promises'

/** Longer than any test needs on a busy machine: only a condition that never holds takes it. */
const patienceMs = 60_000
const pauseMs = 20

/** Resolves to the first result that is not false, null or undefined. Rejects after the limit. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
): Promise<Exclude<T, false | null | undefined>> {
  const giveUpAt = performance.now() + patienceMs
  for (;;) {
    const found = await look()
    if (found !== false && found !== null && found !== undefined) {
      return found as Exclude<T, false | null | undefined>
    }
    if (performance.now() > giveUpAt) throw new Error(`waited ${patienceMs} ms in vain for ${what}`)
    await sleep(pauseMs)
  }
}
