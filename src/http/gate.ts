// The gate: no answer leaves before everything it says is durable (DESIGN.md, rule 3).
//
// G1. Answers that wait leave in the order in which they came to the gate.
// G2. Each leaves once: as it is, or as `storage_failed` when the log can no longer be trusted.

import type { Answer } from '../api/route.ts'

interface Waiting extends Answer {
  send(answer: Answer | null): void
}

export class Gate {
  #waiting: Waiting[] = []
  /** Waiting answers before this index have left. */
  #left = 0
  readonly #journal: { readonly durable: number }

  constructor(journal: { readonly durable: number }) {
    this.#journal = journal
  }

  get length(): number {
    return this.#waiting.length - this.#left
  }

  /** Sends the answer now or when it is durable; sends null when it never will be. */
  pass(answer: Answer, send: (answer: Answer | null) => void): void {
    const { body, position } = answer
    if (position <= this.#journal.durable) return send(answer)
    // A page lies in memory that the next request uses. (A Buffer's own `slice` would not copy it.)
    const kept = typeof body === 'string' ? body : Buffer.from(body)
    this.#waiting.push({ ...answer, body: kept, send })
  }

  /** Lets out what has become durable. */
  open(durable: number): void {
    while (this.length > 0 && this.#waiting[this.#left].position <= durable) {
      const waiting = this.#waiting[this.#left]
      this.#left += 1
      waiting.send(waiting)
    }
    if (this.length === 0) {
      this.#waiting = []
      this.#left = 0
    }
  }

  /** Refuses all that wait: what they say may be lost. */
  fail(): void {
    const waiting = this.#waiting.slice(this.#left)
    this.#waiting = []
    this.#left = 0
    for (const { send } of waiting) send(null)
  }
}
