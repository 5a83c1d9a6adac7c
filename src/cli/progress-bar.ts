// Shows on a terminal how far a tool is; elsewhere nothing, so that logs and pipes stay clean.

import cliProgress from 'cli-progress'

export interface ProgressBar {
  /** Bytes done, of how many. */
  at(done: number, total: number): void
  stop(): void
}

export function progressBar(what: string): ProgressBar {
  if (!process.stderr.isTTY) return { at: () => {}, stop: () => {} }
  const bar = new cliProgress.SingleBar({
    format: `${what} {bar} {percentage}% {eta_formatted}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    clearOnComplete: true,
    // Its own handler would swallow the first interrupt; without it nothing must be restored.
    gracefulExit: false,
    stream: process.stderr,
  })
  bar.start(0, 0)
  return {
    at(done, total) {
      bar.setTotal(total)
      bar.update(done)
    },
    stop: () => bar.stop(),
  }
}
