// The order of public threads by activity: that of the messages that are the newest ones of their
// threads. They are kept in a set, which no record and no checkpoint knows: it grows in both
// directions from the end of the log at the time of the first request, as far as somebody reads.
//
//   messages   0 ……………………… #low ─────────────────────── #high ………………………
//               not looked at │ in the set: the newest   │ new since the
//                             │ messages of threads      │ last request
//
// A1. The set has every newest message of a public thread from `#low` on, and those that were one
//     when they were looked at: these are taken out when a request comes upon them. So a message
//     is looked at once in each direction, and publishing one costs nothing.
//
// Neighbours: activity-list.ts makes the list of it.

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

  /** The greatest number below `end` of a message that is the newest of a public thread, or -1. */
  before(end: number): number {
    return this.#newest.before(end)
  }

  /**
   * Looks for the newest messages of `count` public threads below `end`, or of all that there are,
   * which `before` then gives; false: `looks` were too few for that, and it is to be called again.
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
