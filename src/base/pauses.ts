// Pauses: between attempts after a failure, and between slices of long work.

/** Exponential back-off: each pause is twice as long as the one before it, up to a limit. */
export class Backoff {
  readonly #shortestMs: number
  readonly #longestMs: number
  #nextMs: number

  constructor(shortestMs = 50, longestMs = 1_000) {
    this.#shortestMs = shortestMs
    this.#longestMs = longestMs
    this.#nextMs = shortestMs
  }

  /** Returns the length of the next pause, in milliseconds. */
  next(): number {
    const ms = this.#nextMs
    this.#nextMs = Math.min(this.#longestMs, 2 * ms)
    return ms
  }

  /** Resolves after the next pause. */
  async pause(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.next()))
  }

  /** Returns to the shortest pause, after an attempt has succeeded. */
  reset(): void {
    this.#nextMs = this.#shortestMs
  }
}

/** Returns null to continue, or a promise that resolves in the next event-loop iteration. */
export type Pause = () => Promise<void> | null

/**
 * Divides long work into slices, so that the event loop can process other work between them. Pauses
 * when a slice has taken `sliceMs`; its last unit of work may exceed that.
 */
export function inSlicesOf(sliceMs: number): Pause {
  let begun = performance.now()
  const nextIteration = (resolve: () => void) =>
    setImmediate(() => {
      begun = performance.now()
      resolve()
    })
  return () => (performance.now() - begun < sliceMs ? null : new Promise(nextIteration))
}
