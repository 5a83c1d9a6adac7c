// Limits how long bodies may take to arrive, for HTTP servers without such a limit.

const checkMs = 1000

/** A request whose body is being received. */
interface Abortable {
  abort(): void
}

export class SlowBodies<T extends Abortable> {
  /** The deadlines, as performance.now(), earliest first, because all bodies have one timeout. */
  readonly #due = new Map<T, number>()
  readonly #timeoutMs: number
  readonly #timer: NodeJS.Timeout

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
    this.#timer = setInterval(() => this.abortDue(performance.now()), checkMs).unref()
  }

  add(body: T): void {
    this.#due.set(body, performance.now() + this.#timeoutMs)
  }

  delete(body: T): void {
    this.#due.delete(body)
  }

  /** Aborts the requests whose deadline has passed at `nowMs`. */
  abortDue(nowMs: number): void {
    for (const [body, dueMs] of this.#due) {
      if (dueMs > nowMs) return
      this.#due.delete(body)
      body.abort()
    }
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
