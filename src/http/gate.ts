// The gate: no answer leaves before everything it says is durable.
//
// G1. Answers that wait leave in the order in which they came to the gate.
// G2. Each leaves once: as it is, or as `storage_failed` when the log can no longer be trusted.
// G3. What has left is let go, also while others wait: at most as much is held as waits.

interface Waiting {
  position: number
  leave(isDurable: boolean): void
}

export class Gate {
  #hasFailed = false
  #waiting: Waiting[] = []
  /** Waiting answers before this index have left. */
  #left = 0

  get length(): number {
    return this.#waiting.length - this.#left
  }

  /** Keeps an answer until its position is durable, or never will be, and tells `leave` which. */
  keep(position: number, leave: (isDurable: boolean) => void): void {
    if (this.#hasFailed) leave(false)
    else this.#waiting.push({ position, leave })
  }

  /** Lets out what has become durable. */
  open(durable: number): void {
    const waiting = this.#waiting
    while (this.#left < waiting.length && waiting[this.#left].position <= durable) {
      this.#left += 1
      waiting[this.#left - 1].leave(true)
    }
    // Under load something waits at all times: those that left must be let go all the same.
    if (this.#left * 2 < waiting.length) return
    this.#waiting = waiting.slice(this.#left)
    this.#left = 0
  }

  /** Refuses all that wait, and all that will: what they say may be lost. */
  fail(): void {
    this.#hasFailed = true
    const waiting = this.#waiting.slice(this.#left)
    this.#waiting = []
    this.#left = 0
    for (const { leave } of waiting) leave(false)
  }
}
