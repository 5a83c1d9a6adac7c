// Pauses between attempts: short at first, each twice as long as the one before it, up to a limit.

const shortestMs = 50
const longestMs = 1_000

export class Backoff {
  #nextMs = shortestMs

  /** Resolves after the next pause. */
  async pause(): Promise<void> {
    const ms = this.#nextMs
    this.#nextMs = Math.min(longestMs, 2 * ms)
    await new Promise((resolve) => setTimeout(resolve, ms))
  }

  /** Begins with short pauses again: an attempt has succeeded. */
  reset(): void {
    this.#nextMs = shortestMs
  }
}
