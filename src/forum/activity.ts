// Orders public threads by activity, that is, by the newest message of each. These messages are
// kept in a set that no record and no checkpoint contains. It grows in both directions from the end
// of the log at the time of the first request, as far as callers read.
//
//   messages   0 ……………………… #low ─────────────────────── #high ………………………
//               not examined  │ in the set: the newest   │ new since the
//                             │ messages of threads      │ last request
//
// A1. From `#low` on, the set has the newest message of each public thread. It may also have
//     messages that were the newest when they were examined: a request that comes upon one removes
//     it. So each message is examined once in each direction, and publishing one costs nothing.
//
// Neighbours: activity-list.ts makes the list from it.

import { BitSet } from '../columns/bit-set.ts'
import type { State } from '../state/state.ts'

export class Activity {
  readonly #state: State
  readonly #newest = new BitSet()
  #low = -1
  #high = -1

  constructor(state: State) {
    this.#state = state
  }

  /** Returns the greatest number below `end` of a public thread's newest message, or -1. */
  before(end: number): number {
    return this.#newest.before(end)
  }

  /**
   * Finds the newest messages of `count` public threads below `end`, or of all that there are, for
   * `before` to return. Returns false if `looks` did not suffice: call it again.
   */
  cover(end: number, count: number, looks: number): boolean {
    const { messages } = this.#state
    if (this.#low === -1) {
      this.#low = messages.count
      this.#high = messages.count
    }
    let left = looks
    for (; this.#high < messages.count; this.#high++) {
      if (left-- <= 0) return false
      if (this.#isNewest(this.#high)) this.#newest.add(this.#high)
    }
    let last = end
    for (let found = 0; found < count; ) {
      if (left-- <= 0) return false
      const next = this.#newest.before(last)
      if (next === -1) {
        if (this.#low === 0) return true
        this.#low -= 1
        if (this.#isNewest(this.#low)) this.#newest.add(this.#low)
      } else if (this.#isNewest(next)) {
        found += 1
        last = next
      } else this.#newest.delete(next)
    }
    return true
  }

  #isNewest(message: number): boolean {
    const { messages, threads } = this.#state
    const thread = messages.thread(message)
    const { newestPosition } = threads.actors.columns
    return newestPosition.get(thread) === messages.seq(message) && threads.isPublic(thread)
  }
}
