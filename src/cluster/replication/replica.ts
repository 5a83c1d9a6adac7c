// A node's role in a replicated log: it follows the stream, and leads when its turn comes.
//
//            ┌── caught up, the lease is free ──┐
//   follow ──┤                                  ├─▶ lead ──another one leads──▶ the node ends (78),
//            └── standby: the lease has lapsed ─┘                              or starts again
//
// R1. A node that leads has everything that the stream has, durable in its own log.
// R2. A follower decides nothing: without the stream, reads continue and writes are refused.
// R3. When a leader stops, the stream gets the rest of its log before the last checkpoint is taken,
//     and the lease is released once the log is closed.

import { setTimeout as sleep } from 'node:timers/promises'
import type { ReplicationConfig } from '../../config/replication-flags.ts'
import type { Edge } from '../../edge/http/handle.ts'
import type { CheckpointSchedule } from '../../engine/storage/checkpoints.ts'
import { logNotices } from '../../operators/ops/log.ts'
import { answerCalls } from './call-link.ts'
import { Following, type FollowingParts } from './following.ts'
import type { Continuation } from './history-place.ts'
import { type Leading, type LeadParts, lead } from './lead.ts'
import { StreamUnavailable } from './log-stream.ts'
import { ledByAnother } from './replicated-journal.ts'
import { Standby } from './standby.ts'
import { type Lives, StartAgain, StoppedEarly } from './start-again.ts'
import { StreamBroken } from './stream-tail.ts'

const lookMs = 100

/** The journal must be a part of the history, and completely applied. */
export interface ReplicaParts extends Omit<FollowingParts, 'next' | 'onFailed'> {
  config: ReplicationConfig
  edge: Edge
  history: LeadParts['history']
  checkpoints: CheckpointSchedule
  lives: Lives
}

export class Replica {
  readonly #parts: ReplicaParts
  #following: Following | null = null
  #standby: Standby | null = null
  #leading: Leading | null = null
  #answering: { stop(): void } | null = null

  constructor(parts: ReplicaParts) {
    this.#parts = parts
  }

  /** The lag of the follower behind the stream, or of the stream behind the leader. */
  get lag(): { positions: number; seconds: number } {
    if (this.#leading === null) return this.#following?.lag ?? { positions: 0, seconds: 0 }
    const { position, publisher } = this.#leading.journal
    const { acknowledged, stalledMs } = publisher
    return { positions: position - acknowledged, seconds: stalledMs / 1000 }
  }

  /** Requests that were forwarded to the leader. */
  get forwarded(): number {
    return this.#following?.forwarder.sent ?? 0
  }

  get warnings(): string[] {
    return this.#leading?.warnings ?? this.#following?.warnings ?? []
  }

  /**
   * Follows or leads; resolves when requests may be answered. With `continuation` null, the node
   * begins the stream.
   */
  async begin(continuation: Continuation | null): Promise<void> {
    const { config, forum, log } = this.#parts
    if (continuation === null) {
      if (await this.#lead(true)) return
      throw new StartAgain('another node has begun the stream')
    }
    this.#follow(continuation.sequence)
    if (config.isStandby) this.#standBy()
    await this.#caughtUp(continuation.end)
    if (config.leads && !config.isStandby) {
      if ((await this.#leaseIsFree()) && (await this.#takeOver())) return
      throw ledByAnother()
    }
    if (this.#leading !== null) return
    const { term, position } = forum.state
    log.info({ term: term.number, position }, 'following')
  }

  /** Stops appending, and publishes the rest of the log. Call it before the last checkpoint. */
  async quiesce(): Promise<void> {
    // At once, because a takeover may wait for room in the log (following.ts, O2).
    await Promise.all([this.#standby?.stop(), this.#following?.stop()])
    this.#answering?.stop()
    await this.#leading?.drain()
  }

  /** Releases the lease, so that a standby need not wait for it. Call it when the log is closed. */
  async close(): Promise<void> {
    await this.#leading?.stop()
  }

  #follow(next: number): void {
    const { role } = this.#parts
    // The storage is sound: the next life answers what this one refuses.
    const onFailed = (error: Error) =>
      error instanceof StreamBroken
        ? role.fail(new StartAgain(error.message), 'no_leader')
        : role.fail(error)
    this.#following = new Following({ ...this.#parts, next, onFailed })
    this.#following.start()
  }

  /** Resolves when the node has shown up to `end`, or leads. Rejects if it fails or is stopped. */
  async #caughtUp(end: number): Promise<void> {
    const { role } = this.#parts
    while (this.#leading === null && role.durable < end) await this.#wait()
    if (role.failure !== null) throw role.failure
  }

  async #wait(): Promise<void> {
    const { role, lives } = this.#parts
    await sleep(lookMs)
    if (role.failure !== null) throw role.failure
    if (lives.isStopped) throw new StoppedEarly('stopped')
  }

  /**
   * Waits until no other node holds the lease; resolves to false if its holder keeps renewing it.
   */
  async #leaseIsFree(): Promise<boolean> {
    const { config, stream, node } = this.#parts
    const untilMs = performance.now() + 2 * config.takeoverMs
    for (;;) {
      try {
        const holder = await stream.lease.read()
        if (holder === null || holder.node === node) return true
        if (performance.now() > untilMs) return false
      } catch (error) {
        if (!(error instanceof StreamUnavailable)) throw error
      }
      await this.#wait()
    }
  }

  #standBy(): void {
    const { config, stream, node, forum, lives, role, log } = this.#parts
    this.#standby = new Standby({
      stream,
      node,
      takeoverMs: config.takeoverMs,
      wall: () => forum.stamps.clock.wall(),
      term: () => forum.state.term.number,
      durable: () => role.durable,
      onFailed: (err) => log.error({ err }, 'takeover_failed'),
      lead: async () => {
        try {
          if (!(await this.#takeOver())) return false
          lives.takeovers += 1
          return true
        } catch (error) {
          role.fail(error as Error)
          return true
        }
      },
    })
    this.#standby.start()
  }

  /** Tries to lead; if another node was first, this one continues to follow. */
  async #takeOver(): Promise<boolean> {
    const following = this.#following!
    const { journal, log, role } = this.#parts
    await following.pause()
    await journal.sync()
    if (role.mayLead && (await this.#lead(false))) {
      await following.stop()
      log.info({ term: this.#leading!.term, position: journal.position }, 'took_over')
      return true
    }
    if (role.mayLead) following.resume()
    return false
  }

  async #lead(isFirst: boolean): Promise<boolean> {
    const { config, stream, edge, log, lives, role } = this.#parts
    const { takeoverMs } = config
    const leading = await lead({
      ...this.#parts,
      isFirst,
      takeoverMs,
      onNotice: logNotices(log),
      isStopped: () => lives.isStopped,
    })
    if (leading === null) return false
    this.#leading = leading
    const handle = edge.handle.bind(edge)
    this.#answering = answerCalls(stream.calls, leading.term, handle, () => role.durable)
    return true
  }
}
