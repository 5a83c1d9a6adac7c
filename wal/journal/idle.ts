// Notices when nothing was written for a while.

const idleMs = 200

export class IdleWatch {
  readonly #count: () => number
  readonly #onIdle: () => void
  #timer: NodeJS.Timeout | null = null

  /** `count` grows with every write; `onIdle` is called once for each `begin`. */
  constructor(count: () => number, onIdle: () => void) {
    this.#count = count
    this.#onIdle = onIdle
  }

  /** Begins to wait, unless it does so already. */
  begin(): void {
    if (this.#timer !== null) return
    const before = this.#count()
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (this.#count() === before) this.#onIdle()
      else this.begin()
    }, idleMs).unref()
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
  }
}
