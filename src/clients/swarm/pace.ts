// Decides when messages are due until the run is over: at a constant rate, or each as soon as the
// one before is answered.
//
// At a constant rate, a message is due at a certain time, whether or not earlier ones have been
// answered. If it is late because all lanes are busy, its latency counts from when it was due. A
// latency that began when it was sent would hide exactly the delays that a slow server causes
// (coordinated omission).

import { setMaxListeners } from 'node:events'
import { createHistogram, performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

/** The maximum of messages per second. */
export const rateMax = 1_000_000

/** Timers fire this late now and then, which is not a delay of a request. */
const timerSlackMs = 2

export class Pace {
  /** How late each lane that waited for its message was woken, in microseconds; 1: in time. */
  readonly late = createHistogram()
  readonly #everyMs: number | null
  readonly #over = new AbortController()
  #nextAt: number | null = null
  #left: number

  /** `perSecond` null: messages are sent as fast as they are answered. At most `count` are due. */
  constructor(perSecond: number | null, count = Number.POSITIVE_INFINITY) {
    this.#everyMs = perSecond === null ? null : 1000 / perSecond
    this.#left = count
    setMaxListeners(0, this.#over.signal)
  }

  get isOver(): boolean {
    return this.#left === 0 || this.#over.signal.aborted
  }

  /** Ends the run: no further message is due. */
  stop(): void {
    this.#over.abort()
  }

  /**
   * Resolves when the next message is due, to the time from which its latency counts, or to null if
   * the run is over.
   */
  async next(): Promise<number | null> {
    const now = performance.now()
    if (this.#everyMs === null || this.isOver) return this.isOver ? null : now
    this.#left -= 1
    const dueAt = this.#nextAt ?? now
    this.#nextAt = dueAt + this.#everyMs
    if (dueAt <= now) {
      this.late.record(1)
      return dueAt
    }
    await sleep(dueAt - now, undefined, { signal: this.#over.signal }).catch(() => {})
    const wokenAt = performance.now()
    if (this.#over.signal.aborted) return null
    const isLate = wokenAt - dueAt >= timerSlackMs
    this.late.record(isLate ? Math.round((wokenAt - dueAt) * 1000) : 1)
    return isLate ? dueAt : wokenAt
  }
}
