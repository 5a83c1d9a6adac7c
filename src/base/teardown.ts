// Ends what a start has begun: when it is stopped, or when the start fails halfway.

/** Calls the functions that were added to it, the newest first. */
export class Teardown {
  readonly #ends: (() => unknown)[] = []
  #running: Promise<void> | null = null

  /** Has `run` call this before everything that was added earlier. */
  add(end: () => unknown): void {
    this.#ends.push(end)
  }

  /**
   * Ends everything, each when the one before it has ended. If one fails, the others are ended all
   * the same; then it rejects with the first failure.
   */
  run(): Promise<void> {
    this.#running ??= this.#run()
    return this.#running
  }

  async #run(): Promise<void> {
    const failures: unknown[] = []
    for (const end of this.#ends.reverse()) {
      try {
        await end()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}

/** Resolves to what `start` makes. If it fails, ends what it had added to the teardown. */
export async function startWhole<T>(start: (teardown: Teardown) => Promise<T>): Promise<T> {
  const teardown = new Teardown()
  try {
    return await start(teardown)
  } catch (error) {
    await teardown.run().catch(() => {}) // the failure of the start comes first
    throw error
  }
}
