// Polls for a condition that nothing announces, for a limited time; the error at its end says what
// was waited for.

import { setTimeout as sleep } from 'node:timers/promises'

/** Longer than anything takes on a busy machine, so only conditions that never hold reach it. */
const patienceMs = 60_000
const pauseMs = 20

/** The first result that is neither false, null nor undefined. Rejects when there is none. */
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
