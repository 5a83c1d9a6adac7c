// Waits for a condition, or for work, for a limited time. The error at the end names it.

import { setTimeout as sleep } from 'node:timers/promises'

/** Longer than any test needs on a busy machine: only a condition that never holds takes it. */
const patienceMs = 60_000
/** The same for work that takes milliseconds, such as a stop. */
const workMs = 20_000
/** Pauses grow with the time waited: a look may be a request to a node, or a process. */
const [shortestPauseMs, longestPauseMs] = [20, 100]
const pausePart = 0.05
const tooLate = Symbol('too late')

/**
 * Resolves to the first result that is not false, null or undefined. Rejects after the limit, also
 * if `look` never ends.
 */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
): Promise<Exclude<T, false | null | undefined>> {
  const late = sleep(patienceMs, tooLate, { ref: false })
  const begun = performance.now()
  for (;;) {
    const found = await Promise.race([late, look()])
    if (found === tooLate) throw new Error(`waited ${patienceMs} ms in vain for ${what}`)
    if (found !== false && found !== null && found !== undefined) {
      return found as Exclude<T, false | null | undefined>
    }
    const part = (performance.now() - begun) * pausePart
    await sleep(Math.min(Math.max(part, shortestPauseMs), longestPauseMs))
  }
}

/** Resolves or rejects as the work does. Rejects after the limit if it does neither. */
export async function inTime<T>(what: string, work: Promise<T>): Promise<T> {
  const found = await Promise.race([work, sleep(workMs, tooLate, { ref: false })])
  if (found === tooLate) throw new Error(`waited ${workMs} ms in vain for ${what}`)
  return found as T
}
