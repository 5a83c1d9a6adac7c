// The progress of a start, for /readyz and for the log of a start that takes long.

import type { Logger } from 'pino'
import type { StartProgress, Vitals } from '../ops/vitals.ts'

const logEveryMs = 2_000

/** Receives the progress of a start; cheap enough to be called for every megabyte. */
export type OnStartProgress = (step: StartProgress['step'], done: number, of: number) => void

/**
 * Returns a function that keeps track of the progress of a start: /readyz shows it, and a start
 * that takes long logs it every `everyMs`.
 */
export function startProgress(
  vitals: Pick<Vitals, 'start'>,
  log: Pick<Logger, 'info'>,
  everyMs = logEveryMs,
): OnStartProgress {
  let nextMs = performance.now() + everyMs
  return (step, done, of) => {
    vitals.start = { step, done, of }
    if (performance.now() < nextMs) return
    nextMs = performance.now() + everyMs
    log.info({ ...vitals.start }, 'starting')
  }
}
