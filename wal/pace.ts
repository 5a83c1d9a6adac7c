// Long work in slices: others on the event loop get their turn between them.

/** Says whether others have waited long enough: null, or a promise of the loop's next turn. */
export type Pause = () => Promise<void> | null

export interface Pace {
  pause: Pause
  /** The longest slice so far. */
  longestMs: number
}

/** Slices of `sliceMs`, and whatever one piece of work takes. */
export function inSlicesOf(sliceMs: number): Pace {
  let begun = performance.now()
  const nextTurn = (resolve: () => void) =>
    setImmediate(() => {
      begun = performance.now()
      resolve()
    })
  const pace: Pace = {
    longestMs: 0,
    pause() {
      const took = performance.now() - begun
      if (took < sliceMs) return null
      pace.longestMs = Math.max(pace.longestMs, took)
      return new Promise(nextTurn)
    },
  }
  return pace
}
