// The gate: no answer leaves before everything it says is durable.
//
// G1. Answers that wait leave in the order in which they came to the gate.
// G2. Each leaves once: as it is, or as `failure` when the log can no longer be trusted.
//     `no_leader` if another node continues the log: it answers the same request, sent again.
// G3. Answers that have left are released, also while others wait: memory follows what waits.

import { Queue } from '../../wal/queue.ts'

interface Waiting {
  position: number
  leave(isDurable: boolean): void
}

export class Gate {
  #hasFailed = false
  /** How answers are refused once the gate has failed. */
  failure: 'storage_failed' | 'no_leader' = 'storage_failed'
  readonly #waiting = new Queue<Waiting>()

  get length(): number {
    return this.#waiting.length
  }

  /** Calls `leave` when the position is durable (true), or can no longer become so (false). */
  keep(position: number, leave: (isDurable: boolean) => void): void {
    if (this.#hasFailed) leave(false)
    else this.#waiting.push({ position, leave })
  }

  /** Lets out what has become durable. */
  open(durable: number): void {
    const waiting = this.#waiting
    while (waiting.length > 0 && waiting.first.position <= durable) waiting.shift().leave(true)
  }

  /** Refuses all that wait, and all that will: what they say may be lost. */
  fail(failure: Gate['failure'] = 'storage_failed'): void {
    this.#hasFailed = true
    this.failure = failure
    while (this.#waiting.length > 0) this.#waiting.shift().leave(false)
  }
}
