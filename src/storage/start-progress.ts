// How far a start is: /readyz shows it, and a start that takes long logs it regularly.

import type { Logger } from 'pino'
import type { StartProgress, Vitals } from '../ops/vitals.ts'

const logEveryMs = 2_000

/** Notes where the start is; cheap enough for every megabyte. */
export type OnStartProgress = (step: StartProgress['step'], done: number, of: number) => void

/** `everyMs`: the time between two lines of the log. */
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
