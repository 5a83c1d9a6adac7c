// The gate: an answer leaves only when everything it shows is durable, and only while it cannot be
// wrong.
//
// G1. Waiting answers leave in the order in which they arrived at the gate.
// G2. Each answer leaves exactly once: unchanged, or as a refusal when the log can no longer be
//     trusted. The refusal is `no_leader` if another node continues the log, or may do so; the
//     caller then sends the request again, and that node answers it. It is `shutting_down` at a
//     reader whose main process is stopping or gone.
// G3. Answers that have left are released, even while others still wait, so that memory is
//     proportional to what waits.
// G4. An answer that needs no new record follows from the state alone. The state of a leader of a
//     replicated log may be stale, because another node may lead by now. A refusal because
//     something does not exist may then be wrong, while a page is still a part of the one history.
//     A follower's state is stale as well once the follower lags
//     (cluster/replication/following.ts). Then a token may have been replaced and an identity
//     blocked, so what needs a token is refused.

import { Queue } from '../../base/queue.ts'

/** The refusal of an answer that cannot become durable. */
export type GateFailure = 'storage_failed' | 'no_leader' | 'shutting_down'

/** Called once, with null when the position is durable, otherwise with the reason for refusal. */
type Leave = (failure: GateFailure | null) => void

interface Waiting {
  position: number
  leave: Leave
}

/** How long a node may answer from its state, as times of performance.now(). */
export interface Standing {
  /** Until this time no other node decides, so what is not in the state does not exist. */
  readonly decidesUntilMs: number
  /** Until this time pages may be shown. */
  readonly showsUntilMs: number
}

/** For a single node, and for a process that follows another one of its own machine. */
const always = Number.POSITIVE_INFINITY

export class Gate {
  standing: Standing = { decidesUntilMs: always, showsUntilMs: always }
  #failure: GateFailure | null = null
  /** Called when more has become durable, after the answers that waited for it have left. */
  onOpen: () => void = () => {}
  readonly #waiting = new Queue<Waiting>()

  get length(): number {
    return this.#waiting.length
  }

  /** Whether no other node decides at this moment (G4). */
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

  /** Releases the answers that have become durable. */
  open(durable: number): void {
    const waiting = this.#waiting
    while (waiting.length > 0 && waiting.first.position <= durable) waiting.shift().leave(null)
    this.onOpen()
  }

  /** Refuses all waiting answers as `no_leader`: nobody knows whether they will become durable. */
  giveUp(): void {
    for (let count = this.#waiting.length; count > 0; count--) {
      this.#waiting.shift().leave('no_leader')
    }
  }

  /** Refuses all waiting answers and all later ones, because what they show may be lost. */
  fail(failure: GateFailure = 'storage_failed'): void {
    this.#failure = failure
    while (this.#waiting.length > 0) this.#waiting.shift().leave(failure)
  }
}
