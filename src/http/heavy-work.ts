// Work that takes much longer than a poll: requests that are run again, because their text had to
// be read from disk, and pages for people that are made.
//
//   add ──▶ waits ──a tick, and no rest, or nobody else to rest for──▶ done ──▶ rest
//
// H1. It is done in the order in which it was added, at most one piece in a tick.
// H2. While other requests come, a rest follows each piece, which is so many times as long as it,
//     so that they keep most of their rate. While none come there are no rests.
// H3. Nothing spins during a rest: ticks that come one after the other, each with few requests,
//     would cost those more than the pieces do.

import { Queue } from '../base/queue.ts'

/** When ticks end, and time for the rests between heavy work. */
export interface Ticks {
  /** Calls a function when the event-loop iteration ends. */
  atEnd(end: () => void): void
  /** Milliseconds that only grow. */
  now(): number
  /** Calls a function so many milliseconds later. */
  after(ms: number, wake: () => void): void
}

export const realTicks: Ticks = {
  atEnd: (end) => void setImmediate(end), // the one of now: simulations replace it
  now: () => performance.now(),
  after: (ms, wake) => void setTimeout(wake, ms).unref(),
}

/** A piece that took long, as when the process was suspended, does not delay the next for long. */
const restMsMax = 10
/** Other requests are coming if the last one came within this time. */
const othersMs = 2

export class HeavyWork {
  readonly #ticks: Ticks
  readonly #restPerPiece: number
  /** Has the next event-loop iteration be a tick. */
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

  /** Whether the next iteration is to be a tick; during a rest a timer sees to that. */
  get needsTick(): boolean {
    return this.#work.length > 0 && !this.#isWaking
  }

  /** Does the next piece if it may be done in this tick, in which other requests came or not. */
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
