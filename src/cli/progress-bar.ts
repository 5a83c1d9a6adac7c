// Shows the progress of a tool on a terminal, and nothing elsewhere: logs and pipes stay clean.

import cliProgress from 'cli-progress'

export interface ProgressBar {
  /** Shows that `done` of `total` units, usually bytes, are processed. */
  at(done: number, total: number): void
  stop(): void
}

/** Begins a bar with a label. The caller must stop it. */
export function progressBar(what: string): ProgressBar {
  if (!process.stderr.isTTY) return { at: () => {}, stop: () => {} }
  const bar = new cliProgress.SingleBar({
    format: `${what} {bar} {percentage}% {eta_formatted}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    clearOnComplete: true,
    // The library's handler would swallow the first interrupt, and there is nothing to restore.
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

/** Shows a bar while `work` runs, which moves it by calling `onProgress`. */
export async function withBar<T>(
  what: string,
  work: (onProgress: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  const bar = progressBar(what)
  try {
    return await work(bar.at)
  } finally {
    bar.stop()
  }
}
