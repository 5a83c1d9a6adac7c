// Orders public threads by activity, that is, by the newest message of each. No record and no
// checkpoint contains the order: requests find it among the messages, and note what they passed.
//
//   messages   … 41   42   43   44   45   46   47        N: the newest of a public thread
//                 N    ·    ·    ·    N    ·    ·
//   skips         0    1    2    3    0    1    2        where a request that looks next continues
//
// A1. The messages that a skip passes over are not the newest of a public thread, and none of them
//     will be again. So each message is examined once, and publishing one costs nothing.
// A2. A slice of a request sets the skips of all messages that it came upon to where it arrived, so
//     that a later request needs one look for each of these slices, and afterwards one for all.
//
// Neighbours: activity-list.ts makes the list from it.

import type { State } from '../state.ts'

const chunkBits = 16
const chunkMask = 2 ** chunkBits - 1

export class Activity {
  readonly #state: State
  /** By message, in chunks that are made when a request comes upon one of their messages. */
  readonly #skips: Uint32Array[] = []

  constructor(state: State) {
    this.#state = state
  }

  /** Returns the greatest number below `end` of a public thread's newest message, or -1. */
  before(end: number): number {
    return this.#find(end, Number.POSITIVE_INFINITY).message
  }

  /**
   * Finds the newest messages of `count` public threads below `end`, or of all that there are, so
   * that `before` returns them at once. Returns false if `looks` did not suffice: call it again.
   */
  cover(end: number, count: number, looks: number): boolean {
    let at = { message: end, left: looks }
    for (let found = 0; found < count && at.message !== -1; found++) {
      at = this.#find(at.message, at.left)
      if (at.left < 0) return false
    }
    return true
  }

  /** Returns what `before` does, and the looks that are left; below 0: it is not found yet. */
  #find(end: number, looks: number): { message: number; left: number } {
    const first = Math.min(end, this.#state.messages.count) - 1
    let message = first
    let left = looks - 1
    while (left >= 0 && message !== -1 && !this.#isNewest(message)) {
      message -= this.#skipOf(message)
      left -= 1
    }
    for (let passed = first; passed > message; ) {
      const skip = this.#skipOf(passed)
      this.#skips[passed >>> chunkBits][passed & chunkMask] = passed - message
      passed -= skip
    }
    return { message, left }
  }

  #skipOf(message: number): number {
    this.#skips[message >>> chunkBits] ??= new Uint32Array(chunkMask + 1)
    return this.#skips[message >>> chunkBits][message & chunkMask] || 1
  }

  #isNewest(message: number): boolean {
    const { messages, threads } = this.#state
    const thread = messages.thread(message)
    const { newestPosition } = threads.actors.columns
    return newestPosition.get(thread) === messages.seq(message) && threads.isPublic(thread)
  }
}
