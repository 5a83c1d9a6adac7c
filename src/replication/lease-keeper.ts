// Keeps the lease of a leader, and knows until when no other node can lead.
//
//   renewal sent ──▶ note written ──▶ confirmed      it lapses for nobody before sent + takeover
//        └────────── decides until ──────────┘
//
// K1. A standby waits for `takeoverMs` after it has seen the newest renewal, so nobody else leads
//     for that long after the renewal was sent. Until then the leader decides: what its state lacks
//     is nowhere. Clocks of two machines may run at different speeds: a tenth is left for that.
// K2. A leader shows nothing before it has the lease, even where the term has begun without it:
//     from then on the leader before it decides nothing (K1).
// K3. It is renewed three times in the time after which it lapses. Each renewal looks at the
//     stream, too, so that a leader that was replaced and has nothing to publish learns of it.
// K4. Servers that have not confirmed it for a whole such time are out of reach. Then pages are
//     shown, as a follower would show them. Before that, it is unknown: a process that was stopped
//     finds a request without an answer and its connection lost, and has to ask again.
// K5. Answers that wait for the stream when the lease has lapsed are given up: they might wait for
//     as long as the servers are out of reach, while another node would answer.
//
// The clock is the monotonic one of the system. It counts while a process is stopped; while the
// whole machine sleeps, it does not.

import type { Notice } from '../../wal/journal/types.ts'
import { Backoff } from '../base/pauses.ts'
import type { Standing } from '../http/gate.ts'
import { type LeaseHolder, type LogStream, StreamGone, StreamUnavailable } from './log-stream.ts'

const renewalsPerLease = 3
const validShare = 0.9
/** A process that was stopped may count two before its first request since. */
const failuresMin = renewalsPerLease

interface LeaseKeeperParts {
  stream: Pick<LogStream, 'lease' | 'last'>
  holder: LeaseHolder
  takeoverMs: number
  onNotice(notice: Notice): void
}

/**
 * `lost`: another node has the lease; `replaced`: another one has begun a later term; `emptied`:
 * the stream has no message any more, or is gone.
 */
type Renewal = 'held' | 'lost' | 'replaced' | 'emptied' | 'unreachable'

export class LeaseKeeper implements Standing {
  decidesUntilMs = Number.NEGATIVE_INFINITY
  readonly #parts: LeaseKeeperParts
  /** Renewals in a row that have failed, or were not answered before the next one was due. */
  #failures = 0
  #renewing: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(parts: LeaseKeeperParts) {
    this.#parts = parts
  }

  get showsUntilMs(): number {
    return this.#failures < failuresMin ? this.decidesUntilMs : Number.POSITIVE_INFINITY
  }

  /** A warning for the operator if the lease has not been renewed in time. */
  get warnings(): string[] {
    const lateMs = performance.now() - this.decidesUntilMs
    if (lateMs < 0) return []
    const seconds = Math.floor(lateMs / 1000)
    return [`replication: the lease lapsed ${seconds} s ago, refusals are 503 no_leader`]
  }

  /** Resolves when this node has the lease (K2); to false if another one has begun a later term. */
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
   * Renews it from now on. `onLost` is called whenever another node has it, or leads; `onLapsed`
   * again and again while it is not renewed in time (K5).
   */
  begin(onLost: () => void, onLapsed: () => void): void {
    const { holder, takeoverMs, onNotice } = this.#parts
    const { term } = holder
    let hasLease = true
    const renew = async () => {
      const renewal = await this.#renew()
      this.#renewing = null
      if (renewal === 'unreachable') return
      const holds = renewal === 'held'
      if (!holds) onLost()
      if (holds && !hasLease) onNotice({ event: 'lease_held', term })
      if (!holds && hasLease) onNotice({ event: 'lease_lost', level: 'warn', term })
      hasLease = holds
    }
    this.#timer = setInterval(() => {
      if (this.#renewing === null) this.#renewing = renew()
      else this.#failures += 1
      if (this.decidesUntilMs < performance.now()) onLapsed()
    }, takeoverMs / renewalsPerLease).unref()
  }

  /** Renews it no more, and gives it back. */
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
      if (last === null) return 'emptied'
      if (last.term > holder.term) return 'replaced'
      if (!holds) return 'lost'
      this.decidesUntilMs = sentMs + takeoverMs * validShare
      return 'held'
    } catch (error) {
      if (!(error instanceof StreamUnavailable)) throw error
      this.#failures += 1
      return error instanceof StreamGone ? 'emptied' : 'unreachable'
    }
  }
}
