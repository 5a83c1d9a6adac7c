// Decides when messages are due until the run is over: at a constant rate, or each as soon as the
// one before is answered.
//
// At a constant rate, a message is due at a certain time, whether or not earlier ones have been
// answered. If it is late because all lanes are busy, its latency counts from when it was due. A
// latency that began when it was sent would hide exactly the delays that a slow server causes
// (coordinated omission).

import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

/** Timers fire this late now and then, which is not a delay of a request. */
const timerSlackMs = 2

export class Pace {
  readonly #everyMs: number | null
  readonly #over = new AbortController()
  #nextAt: number | null = null

  /** `perSecond` null: messages are sent as fast as they are answered. */
  constructor(perSecond: number | null) {
    this.#everyMs = perSecond === null ? null : 1000 / perSecond
    setMaxListeners(0, this.#over.signal)
  }

  get isOver(): boolean {
    return this.#over.signal.aborted
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
    const dueAt = this.#nextAt ?? now
    this.#nextAt = dueAt + this.#everyMs
    if (dueAt <= now) return dueAt
    await sleep(dueAt - now, undefined, { signal: this.#over.signal }).catch(() => {})
    const wokenAt = performance.now()
    if (this.isOver) return null
    return wokenAt - dueAt < timerSlackMs ? wokenAt : dueAt
  }
}
