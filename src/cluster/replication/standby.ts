// A standby: a follower that takes over when the leader's lease has lapsed.
//
//   watching ──lapsed──▶ holding the lease ──▶ caught up ──▶ term begun ──▶ leading
//      ▲                        │                  │             │
//      └────────────────────────┴── another one ───┴─────────────┘
//
// B1. The lease only tells a standby when to try. The decision is the first message of the term,
//     appended by compare-and-set after the newest message that this node has (lead.ts, L4).
// B2. A standby tries only when everything that the stream has is durable in its own log, so a
//     leader has every record that was ever acknowledged.
// B3. Nothing is received while a term is begun: the tail is stopped first, and starts again if
//     another node was faster.

import {
  type LeaseHolder,
  type LogStream,
  type StreamMessage,
  StreamUnavailable,
} from './log-stream.ts'

interface StandbyOptions {
  stream: LogStream
  node: string
  takeoverMs: number
  /** Returns the system time, in milliseconds since the epoch, for people who read the lease. */
  wall: () => number
  /** This node's progress: the term of its last record, and its durable position. */
  term: () => number
  durable: () => number
  /**
   * Begins a term after this message and leads in it; resolves to false if another node was first.
   * Must receive nothing from the stream meanwhile (B3).
   */
  lead: (last: StreamMessage) => Promise<boolean>
  /** Called with each new reason, apart from a lack of the engine, why it could not try to lead. */
  onFailed: (error: Error) => void
  now?: () => number
}

/** How often the lease is read within the time after which it lapses. */
const looksPerLapse = 10

export class Standby {
  readonly #options: StandbyOptions
  readonly #now: () => number
  #timer: NodeJS.Timeout | null = null
  #isStopped = false
  /** The message of the last failure that was reported. */
  #reported: string | null = null
  #trying: Promise<void> = Promise.resolve()

  constructor(options: StandbyOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /** Stops trying; resolves when an attempt in progress has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#trying
  }

  start(): void {
    if (this.#isStopped) return
    const pauseMs = this.#options.takeoverMs / looksPerLapse
    this.#timer = setTimeout(() => {
      this.#trying = this.#try().then((leads) => {
        if (!leads) this.start()
      })
    }, pauseMs).unref()
  }

  async #try(): Promise<boolean> {
    const { stream, node, wall } = this.#options
    try {
      const current = await stream.lease.read()
      if (current !== null && current.node !== node) return false
      const last = await stream.last()
      if (last === null || this.#isStopped) return false
      const term = last.term + 1
      const holder: LeaseHolder = { version: 1, node, term, since: wall() }
      if (!(await stream.lease.hold(holder))) return false
      const newest = await this.#caughtUp()
      const leads = newest !== null && !this.#isStopped && (await this.#options.lead(newest))
      if (!leads) await stream.lease.release(node)
      return leads
    } catch (error) {
      // Without the engine no node can lead; the reading of the stream reports it (stream-tail.ts).
      if (!(error instanceof StreamUnavailable)) this.#report(error as Error)
      return false
    }
  }

  #report(error: Error): void {
    if (error.message === this.#reported) return
    this.#reported = error.message
    this.#options.onFailed(error)
  }

  /** Returns the newest message once this node has it (B2); null: not within `takeoverMs`. */
  async #caughtUp(): Promise<StreamMessage | null> {
    const { stream, takeoverMs, term, durable } = this.#options
    const giveUpMs = this.#now() + takeoverMs
    for (;;) {
      const last = await stream.last()
      if (last !== null && durable() >= last.last && term() === last.term) return last
      if (this.#isStopped || this.#now() > giveUpMs) return null
      await new Promise((resolve) => setTimeout(resolve, takeoverMs / looksPerLapse))
    }
  }
}
