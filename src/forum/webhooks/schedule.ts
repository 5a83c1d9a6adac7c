// Schedules the attempts to deliver wakeups: when each one begins, and how many run at once.
//
//   due ──▶ lane of its host ──▶ begin (a record) ──▶ durable? ──▶ send ──▶ finish (a record)
//
// C1. An attempt leaves when the record of its start is durable.
// C2. At most `attemptsMax` attempts run at once, `perHostMax` of them to one host and one for each
//     webhook. A receiver that never answers holds a few sockets, and the wakeups of others go past
//     it.
// C3. Work in one event-loop iteration is bounded: many due webhooks do not delay answers. Where
//     some of it is left, the next iteration does it, whoever pokes meanwhile.
// C4. Stopping begins no further attempt and waits for the requests in flight. All other wakeups
//     are sent after the next start.
//
// The schedule knows nothing of the forum: engine/role/wakeups.ts passes in the functions that it
// may call.

import { setTimeout as sleep } from 'node:timers/promises'
import { Queue } from '../../base/queue.ts'
import type { Post, Send, Sent } from './send.ts'

const attemptsMax = 64
const perHostMax = 8
const takenAtOnce = 256
/** To begin an attempt takes up to 0.4 ms: a search of the feed of a caller with many threads. */
const begunAtOnce = 16
/** The pause while the log takes no records. */
const pauseMs = 1_000
const timerMsMax = 60_000
/** The time of a timer for the next event-loop iteration. */
const atOnce = 0

/** An attempt, which may leave when `position` is durable. */
export interface ScheduledAttempt extends Post {
  position: number
}

/** The functions of the forum that a schedule calls. Webhooks are identified by number. */
export interface Ledger<A extends ScheduledAttempt> {
  /** Milliseconds since the epoch, as the forum counts time. */
  now(): number
  /** The time at which the next webhook is due, on the clock of `now`; Infinity if none is. */
  nextDueAt(): number
  /** Removes and returns a webhook that is due, or undefined. */
  takeDue(): { webhook: number; endpoint: string } | undefined
  /**
   * Records the start of an attempt. Null: nothing is left to send. `later`: the log takes no
   * records now.
   */
  begin(webhook: number): A | null | 'later'
  /** Records the outcome. False: the log takes no records now. */
  finish(attempt: A, sent: Sent): boolean
}

interface Lane {
  host: string
  /** Attempts that have begun and not finished. */
  busy: number
  isReady: boolean
  waiting: Queue<number>
}

export class Schedule<A extends ScheduledAttempt> {
  readonly #ledger: Ledger<A>
  readonly #send: Send
  readonly #lanes = new Map<string, Lane>()
  /** Lanes in which a webhook waits and another attempt may begin. */
  readonly #ready = new Queue<Lane>()
  /** Webhooks with an attempt in progress; true: the webhook is due again after it. */
  readonly #active = new Map<number, boolean>()
  /** Attempts that have begun but whose start is not durable yet, in order of position. */
  readonly #unsent = new Queue<{ attempt: A; webhook: number; lane: Lane }>()
  readonly #running = new Set<Promise<void>>()
  #busy = 0
  #timer: NodeJS.Timeout | null = null
  #timerAt = Number.POSITIVE_INFINITY
  #isPaused = false
  #isStopping = false

  constructor(ledger: Ledger<A>, send: Send) {
    this.#ledger = ledger
    this.#send = send
  }

  /** Attempts that have begun and not finished. */
  get busy(): number {
    return this.#busy
  }

  /** Sends the attempts whose start has become durable: their position is at most `durable`. */
  onDurable(durable: number): void {
    if (this.#isStopping) return
    while (this.#unsent.length > 0 && this.#unsent.first.attempt.position <= durable) {
      const { attempt, webhook, lane } = this.#unsent.shift()
      const running = this.#run(attempt, webhook, lane)
      this.#running.add(running)
      running.then(() => this.#running.delete(running))
    }
    this.poke()
  }

  /** Begins the attempts that are due. */
  poke(): void {
    if (this.#isStopping || this.#isPaused || this.#timerAt === atOnce) return
    if (this.#ready.length === 0 && this.#ledger.nextDueAt() === Number.POSITIVE_INFINITY) return
    for (let n = 0; n < takenAtOnce; n++) {
      const due = this.#ledger.takeDue()
      if (due === undefined) break
      this.#enqueue(due.webhook, new URL(due.endpoint).host)
    }
    for (let n = 0; n < begunAtOnce && this.#mayBegin(); n++) this.#begin(this.#ready.shift())
    if (!this.#isPaused) this.#wakeAt(this.#mayBegin() ? atOnce : this.#ledger.nextDueAt())
  }

  /** Begins nothing more; resolves when every attempt that was sent has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await Promise.all(this.#running)
  }

  #mayBegin(): boolean {
    return !this.#isPaused && this.#busy < attemptsMax && this.#ready.length > 0
  }

  #enqueue(webhook: number, host: string): void {
    let lane = this.#lanes.get(host)
    if (lane === undefined) {
      lane = { host, busy: 0, isReady: false, waiting: new Queue() }
      this.#lanes.set(host, lane)
    }
    lane.waiting.push(webhook)
    this.#offer(lane)
  }

  #offer(lane: Lane): void {
    if (lane.isReady || lane.busy === perHostMax || lane.waiting.length === 0) return
    lane.isReady = true
    this.#ready.push(lane)
  }

  #begin(lane: Lane): void {
    lane.isReady = false
    const webhook = lane.waiting.shift()
    if (this.#active.has(webhook)) {
      this.#active.set(webhook, true)
      this.#offer(lane)
      return
    }
    this.#active.set(webhook, false)
    lane.busy += 1
    this.#busy += 1
    const attempt = this.#ledger.begin(webhook)
    if (attempt !== null && attempt !== 'later') {
      this.#unsent.push({ attempt, webhook, lane })
      this.#offer(lane)
      return
    }
    if (attempt === 'later') {
      this.#active.set(webhook, true)
      this.#pause()
    }
    this.#free(webhook, lane)
  }

  async #run(attempt: A, webhook: number, lane: Lane): Promise<void> {
    const sent = await this.#send(attempt)
    while (!this.#ledger.finish(attempt, sent)) {
      if (this.#isStopping) return
      await sleep(pauseMs)
    }
    this.#free(webhook, lane)
    this.poke()
  }

  #free(webhook: number, lane: Lane): void {
    this.#busy -= 1
    lane.busy -= 1
    if (this.#active.get(webhook)) lane.waiting.push(webhook)
    this.#active.delete(webhook)
    this.#offer(lane)
    if (lane.busy === 0 && lane.waiting.length === 0) this.#lanes.delete(lane.host)
  }

  #pause(): void {
    this.#isPaused = true
    this.#wakeAt(this.#ledger.now() + pauseMs)
  }

  #wakeAt(at: number): void {
    if (at === this.#timerAt || this.#isStopping) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#timerAt = at
    if (at === Number.POSITIVE_INFINITY) return
    const delay = Math.min(Math.max(at - this.#ledger.now(), 0), timerMsMax)
    this.#timer = setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY
      this.#isPaused = false
      this.poke()
    }, delay)
  }
}
