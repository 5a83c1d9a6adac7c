// When messages are due, and whether any more are: at a constant rate, or one as soon as the one
// before is answered, until the run is over.
//
// At a constant rate a message has a time at which it is due, whether or not earlier ones have been
// answered. What is late because all lanes are busy has waited since it was due: a latency that
// began when it was sent would hide just the delays that a slow server causes (coordinated
// omission).

import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

/** Timers are this late now and then; that is no delay of a request. */
const timerSlackMs = 2

export class Pace {
  readonly #everyMs: number | null
  readonly #over = new AbortController()
  #nextAt: number | null = null

  /** `perSecond` null: as fast as they are answered. */
  constructor(perSecond: number | null) {
    this.#everyMs = perSecond === null ? null : 1000 / perSecond
    setMaxListeners(0, this.#over.signal)
  }

  get isOver(): boolean {
    return this.#over.signal.aborted
  }

  /** Nothing more is due. */
  stop(): void {
    this.#over.abort()
  }

  /**
   * Resolves when the next message is due, to the time from which its latency counts, or to null
   * when the run is over.
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
