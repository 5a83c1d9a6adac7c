// Decides when messages are due until the run is over: at a constant rate, in a burst each second,
// or each as soon as the one before is answered.
//
// At a constant rate and in bursts, a message is due at a certain time, whether or not earlier ones
// have been answered. If it is late because all lanes are busy, its latency counts from when it was
// due. A latency that began when it was sent would hide exactly the delays that a slow server
// causes (coordinated omission).

import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Latencies } from './latencies.ts'

/** The maximum of messages per second. */
export const rateMax = 1_000_000

/** Measures time and lets it pass. Both in milliseconds. */
interface Clock {
  now(): number
  sleep(ms: number, end: AbortSignal): Promise<unknown>
}

const realClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
}

/** Timers fire this late now and then, which is not a delay of a request. */
const timerSlackMs = 2

export class Pace {
  /** How late each lane that waited for its message was woken, in microseconds; 1: in time. */
  readonly late = new Latencies()
  /** How long messages took from when they were due to their answer, in microseconds. */
  readonly latency = new Latencies()
  readonly #perSecond: number | null
  readonly #count: number
  readonly #isBurst: boolean
  readonly #clock: Clock
  readonly #over = new AbortController()
  #begunAt: number | null = null
  #taken = 0

  /** `perSecond` null: messages are sent as fast as they are answered. At most `count` are due. */
  constructor(
    perSecond: number | null,
    {
      count = Number.POSITIVE_INFINITY,
      isBurst = false,
      clock = realClock,
    }: { count?: number; isBurst?: boolean; clock?: Clock } = {},
  ) {
    this.#perSecond = perSecond
    this.#count = count
    this.#isBurst = isBurst
    this.#clock = clock
    setMaxListeners(0, this.#over.signal)
  }

  get isOver(): boolean {
    return this.#taken === this.#count || this.#over.signal.aborted
  }

  /** Ends the run: no further message is due. */
  stop(): void {
    this.#over.abort()
  }

  answered(dueAt: number): void {
    this.latency.record(Math.max(1, Math.round((this.#clock.now() - dueAt) * 1000)))
  }

  /**
   * Resolves when the next message is due, to the time from which its latency counts, or to null if
   * the run is over.
   */
  async next(): Promise<number | null> {
    const now = this.#clock.now()
    if (this.#perSecond === null || this.isOver) return this.isOver ? null : now
    this.#begunAt ??= now
    const seconds = this.#taken++ / this.#perSecond
    const dueAt = this.#begunAt + 1000 * (this.#isBurst ? Math.floor(seconds) : seconds)
    if (dueAt <= now) {
      this.late.record(1)
      return dueAt
    }
    await this.#clock.sleep(dueAt - now, this.#over.signal).catch(() => {})
    const wokenAt = this.#clock.now()
    if (this.#over.signal.aborted) return null
    const isLate = wokenAt - dueAt >= timerSlackMs
    this.late.record(isLate ? Math.round((wokenAt - dueAt) * 1000) : 1)
    return isLate ? dueAt : wokenAt
  }
}
