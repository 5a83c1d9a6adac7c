// Work that takes much longer than a poll: requests that run again because their text had to be
// read from disk, and the making of pages for people.
//
//   add ──▶ waits ──a tick, and no rest, or nobody else to rest for──▶ done ──▶ rest
//
// H1. Pieces are done in the order in which they were added, at most one in a tick.
// H2. While other requests come, each piece is followed by a rest that is `restPerPiece` times as
//     long, so that those requests keep most of their rate. While none come, there are no rests.
// H3. The loop does not spin during a rest: a series of ticks with few requests each would cost
//     those requests more than the pieces do.

import { Queue } from '../../base/queue.ts'

/** The ends of ticks, and the clock and timer for the rests between pieces of heavy work. */
export interface Ticks {
  /** Calls a function when the event-loop iteration ends. */
  atEnd(end: () => void): void
  /** Returns monotonic time in milliseconds. */
  now(): number
  /** Calls a function after this many milliseconds. */
  after(ms: number, wake: () => void): void
}

export const realTicks: Ticks = {
  atEnd: (end) => void setImmediate(end), // looked up at each call: simulations replace it
  now: () => performance.now(),
  after: (ms, wake) => void setTimeout(wake, ms).unref(),
}

/**
 * A piece is two fifths of what its request costs the event loop, which runs, parks and loads the
 * request first. All of that takes a fifteenth of the time at most. Polls keep 0.91 of the loop's
 * processor time (docs/performance.md); pieces probably evict their data from the caches, too.
 */
export const restPerColdRead = 36
/** Slices take a third of the time, and less than half with the other costs of their requests. */
export const restPerSlice = 2

/** Limits the rest after a piece that took long, for example because the process was suspended. */
const restMsMax = 10
/** Other requests count as coming if the last one came within this time. */
const othersMs = 2

export class HeavyWork {
  readonly #ticks: Ticks
  readonly #restPerPiece: number
  /** Makes the next event-loop iteration a tick. */
  readonly #plan: () => void
  readonly #work = new Queue<() => void>()
  #restEndMs = 0
  /** When the last other request came. */
  #otherMs = Number.NEGATIVE_INFINITY
  #isWaking = false

  constructor(ticks: Ticks, restPerPiece: number, plan: () => void) {
    this.#ticks = ticks
    this.#restPerPiece = restPerPiece
    this.#plan = plan
  }

  add(task: () => void): void {
    this.#work.push(task)
    if (this.needsTick) this.#plan()
  }

  /** Whether the next iteration must be a tick. During a rest, a timer plans one. */
  get needsTick(): boolean {
    return this.#work.length > 0 && !this.#isWaking
  }

  /** Does the next piece if it may be done in this tick; `hasOthers`: other requests came in it. */
  doOne(hasOthers: boolean): void {
    if (!hasOthers && this.#work.length === 0) return
    const now = this.#ticks.now()
    if (hasOthers) this.#otherMs = now
    if (this.#work.length === 0) return
    if (now < this.#restEndMs && now - this.#otherMs < othersMs) return this.#rest(now)
    this.#work.shift()()
    const end = this.#ticks.now()
    this.#restEndMs = end + Math.min((end - now) * this.#restPerPiece, restMsMax)
  }

  #rest(now: number): void {
    if (this.#isWaking) return
    this.#isWaking = true
    this.#ticks.after(Math.min(this.#restEndMs - now, othersMs), () => {
      this.#isWaking = false
      this.#plan()
    })
  }
}
