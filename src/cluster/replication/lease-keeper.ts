// Keeps a leader's lease, and tracks the time until which no other node can lead.
//
//   renewal sent ──▶ note written ──▶ confirmed      it lapses for nobody before sent + takeover
//        └────────── decides until ──────────┘
//
// K1. A standby waits `takeoverMs` after it has seen the newest renewal, so no other node leads for
//     that long after the renewal was sent. Until then the leader decides: what its state lacks
//     exists nowhere. Since clocks of two machines may run at different speeds, a tenth is
//     subtracted.
// K2. A leader shows nothing before it holds the lease, even if its term began without it. Once it
//     holds the lease, the previous leader no longer decides (K1).
// K3. The lease is renewed three times in the time after which it lapses. Each renewal also checks
//     the stream, so that a leader that was replaced and has nothing to publish notices it.
// K4. When the servers have confirmed no renewal for that whole time, they count as unreachable,
//     and pages are shown as a follower would show them. Before that the situation is unknown: a
//     process that was suspended finds a request unanswered and its connection lost, and must
//     retry.
// K5. When the lease has lapsed, answers that wait for the stream are refused: they might wait for
//     as long as the servers are unreachable, although another node would answer.
//
// The clock is the system's monotonic clock. It advances while a process is suspended, but not
// while the whole machine sleeps.

import type { Notice } from '../../../wal/journal/types.ts'
import { Backoff } from '../../base/pauses.ts'
import type { Standing } from '../../edge/http/gate.ts'
import { type LeaseHolder, type LogStream, StreamGone, StreamUnavailable } from './log-stream.ts'

const renewalsPerLease = 3
const validShare = 0.9
/** A suspended process may count two failures before it sends its first renewal afterwards. */
const failuresMin = renewalsPerLease

interface LeaseKeeperParts {
  stream: Pick<LogStream, 'lease' | 'last'>
  holder: LeaseHolder
  takeoverMs: number
  onNotice(notice: Notice): void
}

/**
 * `lost`: another node holds the lease; `replaced`: another node has begun a later term; `emptied`:
 * the stream no longer has any message, or is gone.
 */
type Renewal = 'held' | 'lost' | 'replaced' | 'emptied' | 'unreachable'

export class LeaseKeeper implements Standing {
  decidesUntilMs = Number.NEGATIVE_INFINITY
  readonly #parts: LeaseKeeperParts
  /** Consecutive renewals that failed, or were unanswered when the next one was due. */
  #failures = 0
  /** Why the last answer of the servers could not be read; null: it could be. */
  #unread: string | null = null
  #renewing: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(parts: LeaseKeeperParts) {
    this.#parts = parts
  }

  get showsUntilMs(): number {
    return this.#failures < failuresMin ? this.decidesUntilMs : Number.POSITIVE_INFINITY
  }

  /** A warning for the operator, if the lease was not renewed in time. */
  get warnings(): string[] {
    const lateMs = performance.now() - this.decidesUntilMs
    if (lateMs < 0) return []
    const seconds = Math.floor(lateMs / 1000)
    const why = this.#unread === null ? '' : `: ${this.#unread}`
    return [`replication: the lease lapsed ${seconds} s ago, refusals are 503 no_leader${why}`]
  }

  /**
   * Resolves to true when this node holds the lease (K2); to false if it is stopped, if another
   * node has begun a later term, or if the stream has no message. Rejects if an answer of the
   * servers cannot be read.
   */
  async take(isStopped: () => boolean): Promise<boolean> {
    const backoff = new Backoff()
    while (!isStopped()) {
      const renewal = await this.#renew()
      if (renewal === 'held') return true
      if (renewal === 'replaced' || renewal === 'emptied') return false
      await backoff.pause()
    }
    return false
  }

  /**
   * Starts to renew the lease periodically. Calls `onLost` whenever a renewal finds that another
   * node holds the lease or leads, or that the stream is empty, and `onLapsed` repeatedly while the
   * lease is not renewed in time (K5).
   */
  begin(onLost: () => void, onLapsed: () => void): void {
    const { holder, takeoverMs, onNotice } = this.#parts
    const { term } = holder
    let hasLease = true
    const notice = (holds: boolean) => {
      if (holds && !hasLease) onNotice({ event: 'lease_held', term })
      if (!holds && hasLease) onNotice({ event: 'lease_lost', level: 'warn', term })
      hasLease = holds
    }
    const renew = async () => {
      // An answer that cannot be read is as good as none. It must not end the node (lead.ts, L2).
      const renewal = await this.#renew().catch((error: Error): Renewal => {
        this.#unread = error.message
        return 'unreachable'
      })
      this.#renewing = null
      if (renewal === 'unreachable') return
      const holds = renewal === 'held'
      if (!holds) onLost()
      notice(holds)
    }
    this.#timer = setInterval(() => {
      if (this.#renewing === null) this.#renewing = renew()
      else this.#failures += 1
      if (this.decidesUntilMs >= performance.now()) return
      onLapsed()
      notice(false)
    }, takeoverMs / renewalsPerLease).unref()
  }

  /** Stops the renewals, and releases the lease. */
  async stop(): Promise<void> {
    const { stream, holder } = this.#parts
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#renewing
    await stream.lease.release(holder.node).catch((error) => {
      if (!(error instanceof StreamUnavailable)) throw error
    })
  }

  async #renew(): Promise<Renewal> {
    const { stream, holder, takeoverMs } = this.#parts
    const sentMs = performance.now()
    try {
      const holds = await stream.lease.hold(holder)
      const last = await stream.last()
      this.#failures = 0
      this.#unread = null
      if (last === null) return 'emptied'
      if (last.term > holder.term) return 'replaced'
      if (!holds) return 'lost'
      this.decidesUntilMs = sentMs + takeoverMs * validShare
      return 'held'
    } catch (error) {
      this.#failures += 1
      if (!(error instanceof StreamUnavailable)) throw error
      return error instanceof StreamGone ? 'emptied' : 'unreachable'
    }
  }
}
