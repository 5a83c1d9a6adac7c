// Long work in slices: others on the event loop get their turn between them.

/** Says whether others have waited long enough: null, or a promise of the loop's next turn. */
export type Pause = () => Promise<void> | null

/** Slices of `sliceMs`, and whatever one piece of work takes. */
export function inSlicesOf(sliceMs: number): Pause {
  let begun = performance.now()
  const nextTurn = (resolve: () => void) =>
    setImmediate(() => {
      begun = performance.now()
      resolve()
    })
  return () => (performance.now() - begun < sliceMs ? null : new Promise(nextTurn))
}
