// Divides long work into slices, so that the event loop can process other work between them.

/** Returns null to continue at once, or a promise that resolves in the next iteration. */
export type Pause = () => Promise<void> | null

/** Pauses when a slice has taken `sliceMs`; the last unit of work may make it longer. */
export function inSlicesOf(sliceMs: number): Pause {
  let begun = performance.now()
  const nextIteration = (resolve: () => void) =>
    setImmediate(() => {
      begun = performance.now()
      resolve()
    })
  return () => (performance.now() - begun < sliceMs ? null : new Promise(nextIteration))
}
