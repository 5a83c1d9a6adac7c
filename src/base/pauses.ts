// Pauses: between attempts after a failure, and between slices of long work.

/**
 * Pauses between attempts: short at first, each twice as long as the one before it, up to a limit.
 */
export class Backoff {
  readonly #shortestMs: number
  readonly #longestMs: number
  #nextMs: number

  constructor(shortestMs = 50, longestMs = 1_000) {
    this.#shortestMs = shortestMs
    this.#longestMs = longestMs
    this.#nextMs = shortestMs
  }

  /** The length of the next pause. */
  next(): number {
    const ms = this.#nextMs
    this.#nextMs = Math.min(this.#longestMs, 2 * ms)
    return ms
  }

  /** Resolves after the next pause. */
  async pause(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.next()))
  }

  /** Begins with short pauses again: an attempt has succeeded. */
  reset(): void {
    this.#nextMs = this.#shortestMs
  }
}

/** Returns null to continue at once, or a promise that resolves in the next iteration. */
export type Pause = () => Promise<void> | null

/**
 * Divides long work into slices, so that the event loop can process other work between them. Pauses
 * when a slice has taken `sliceMs`; the last unit of work may make it longer.
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
