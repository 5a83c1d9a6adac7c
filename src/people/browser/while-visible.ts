// Repeats work while the page is visible: a tab in the background sends no requests.
//
// V1. There is one run at a time, and the pause begins when a run has ended.
// V2. A hidden page begins no run. The next one begins as soon as the page is shown again.

/**
 * Calls `run` at once, and again `pauseMs` after each run has ended, as long as the page is
 * visible. If `run` rejects, the browser reports the error, and `run` is called again all the same.
 */
export function whileVisible(pauseMs: number, run: () => Promise<void>): void {
  let isRunning = false
  let timer: number | undefined
  const next = async () => {
    clearTimeout(timer)
    if (isRunning || document.hidden) return
    isRunning = true
    try {
      await run()
    } finally {
      isRunning = false
      timer = setTimeout(next, pauseMs)
    }
  }
  document.addEventListener('visibilitychange', next)
  void next()
}
