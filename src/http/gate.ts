// The gate: no answer leaves before everything it says is durable, and while it may be wrong.
//
// G1. Answers that wait leave in the order in which they came to the gate.
// G2. Each leaves once: as it is, or as a refusal when the log can no longer be trusted.
//     `no_leader` if another node continues the log, or may do so: the caller sends the request
//     again, and that node answers it.
// G3. Answers that have left are released, also while others wait: memory follows what waits.
// G4. An answer that needs no new record follows from the state alone. The state of a leader of a
//     replicated log may be old, because another node may lead by now: then a refusal because
//     something does not exist may be wrong, while a page is still a part of the one history.

import { Queue } from '../base/queue.ts'

/** How what waits is refused when it cannot become durable. */
export type GateFailure = 'storage_failed' | 'no_leader'

/** Called once: with null when the position is durable, or else with the reason of the refusal. */
type Leave = (failure: GateFailure | null) => void

interface Waiting {
  position: number
  leave: Leave
}

/** Until when a node may answer from its state, as performance.now(). */
export interface Standing {
  /** Until then no other node decides: what is not in the state does not exist. */
  readonly decidesUntilMs: number
  /** Until then pages may be shown. */
  readonly showsUntilMs: number
}

/** For a node alone, and for a follower: its pages may be old, and it passes writes on. */
const always = Number.POSITIVE_INFINITY

export class Gate {
  standing: Standing = { decidesUntilMs: always, showsUntilMs: always }
  #failure: GateFailure | null = null
  /** Called when something has become durable, and what waited for it has left. */
  onOpen: () => void = () => {}
  readonly #waiting = new Queue<Waiting>()

  get length(): number {
    return this.#waiting.length
  }

  /** Whether nobody else decides at this moment (G4). */
  get mayDecide(): boolean {
    return this.standing.decidesUntilMs > performance.now() && this.#failure !== 'no_leader'
  }

  /** Whether pages of the state may be shown at this moment (G4). */
  get mayShow(): boolean {
    return this.standing.showsUntilMs > performance.now() && this.#failure !== 'no_leader'
  }

  /** Calls `leave` when the position is durable, or can no longer become so. */
  keep(position: number, leave: Leave): void {
    if (this.#failure !== null) leave(this.#failure)
    else this.#waiting.push({ position, leave })
  }

  /** Lets out what has become durable. */
  open(durable: number): void {
    const waiting = this.#waiting
    while (waiting.length > 0 && waiting.first.position <= durable) waiting.shift().leave(null)
    this.onOpen()
  }

  /** Refuses all that wait now, as `no_leader`: nobody knows whether they will be durable. */
  giveUp(): void {
    for (let count = this.#waiting.length; count > 0; count--) {
      this.#waiting.shift().leave('no_leader')
    }
  }

  /** Refuses all that wait, and all that will: what they say may be lost. */
  fail(failure: GateFailure = 'storage_failed'): void {
    this.#failure = failure
    while (this.#waiting.length > 0) this.#waiting.shift().leave(failure)
  }
}
