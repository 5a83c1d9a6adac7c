// Bodies that are coming in, for an HTTP server that does not limit how long that takes.

const lookMs = 1000

/** Something that is waited for, and can be given up. */
export interface Cuttable {
  cut(): void
}

export class SlowBodies<T extends Cuttable> {
  /** When each has to be there, the first one first: all have the same time. */
  readonly #due = new Map<T, number>()
  readonly #patienceMs: number
  readonly #timer: NodeJS.Timeout

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs
    this.#timer = setInterval(() => this.cutDue(performance.now()), lookMs).unref()
  }

  add(body: T): void {
    this.#due.set(body, performance.now() + this.#patienceMs)
  }

  delete(body: T): void {
    this.#due.delete(body)
  }

  /** Gives up those that should have been there at this time. */
  cutDue(nowMs: number): void {
    for (const [body, dueMs] of this.#due) {
      if (dueMs > nowMs) return
      this.#due.delete(body)
      body.cut()
    }
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
