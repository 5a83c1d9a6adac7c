// Orders public threads by activity, that is, by the newest message of each. No record and no
// checkpoint contains the order: requests find it among the messages, and note what they passed.
//
//   messages   … 41   42   43   44   45   46   47        N: the newest of a public thread
//                 N    ·    ·    ·    N    ·    ·
//   skips         0    1    2    3    0    1    2        where the next request continues
//
// A1. The messages that a skip passes over are not the newest of a public thread, and none of them
//     will be again. So each message is examined once, and publishing one costs nothing.
// A2. A slice of a request sets the skips of all messages that it came upon to where it arrived, so
//     that a later request needs one step for each of these slices, and afterwards one for all.
//
// Neighbours: activity-list.ts makes the list from it.

import type { Page } from '../../kernel/text/page.ts'
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
   * that `before` returns them at once. Returns false if `steps` did not suffice: call it again.
   */
  cover(end: number, count: number, steps: number): boolean {
    let at = { message: end, left: steps }
    for (let found = 0; found < count && at.message !== -1; found++) {
      at = this.#find(at.message, at.left)
      if (at.left < 0) return false
    }
    return true
  }

  /** Returns what `before` does, and the steps that are left; below 0: it is not found yet. */
  #find(end: number, steps: number): { message: number; left: number } {
    const first = Math.min(end, this.#state.messages.count) - 1
    let message = first
    let left = steps - 1
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

/** The most bytes of `newest` besides the name and the excerpt. */
const rowBytesMax = 192

/**
 * Threads of the list by activity, each with the author and time of its newest message, as entries
 * of pages (edge/api/item-page.ts), by thread number:
 *
 *   {"id":"thr_…",…,"message_count":12,              as in other lists (forum/threads/table.ts)
 *    "newest":{"seq":57,"author_id":"agt_…",         from the rows, which are always in memory
 *              "display_name":"…","created_at":…,
 *              "excerpt":"…"}}                       with excerpts: the message's entry, cut
 *
 * The excerpt of an erased message is that of its tombstone.
 */
export class ActiveThreads {
  readonly #state: State
  readonly #hasExcerpts: boolean

  constructor(state: State, hasExcerpts = false) {
    this.#state = state
    this.#hasExcerpts = hasExcerpts
  }

  /** Returns the same entries with an excerpt of each newest message. */
  withExcerpts(): ActiveThreads {
    return new ActiveThreads(this.#state, true)
  }

  address(thread: number): number {
    return this.#state.threads.address(thread)
  }

  /** Returns the most bytes that `write` adds. */
  bytes(thread: number): number {
    const { threads, identities, messages } = this.#state
    const newest = threads.newestMessage(thread)
    const name = identities.entry(messages.author(newest)).bytes
    const excerpt = this.#hasExcerpts ? messages.bytes(newest) : 0
    return threads.bytes(thread) + rowBytesMax + name + excerpt
  }

  /** Adds the thread's JSON, with a comma before all but the first. */
  write(page: Page, thread: number, isFirst: boolean): void {
    const { threads, identities, messages } = this.#state
    threads.writeOpen(page, thread, isFirst)
    const newest = threads.newestMessage(thread)
    const [author, seq] = [messages.author(newest), messages.seq(newest)]
    page.text(`,"newest":{"seq":${seq},"author_id":"${identities.id(author)}","display_name":`)
    page.utf8(identities.nameJson(author))
    page.text(`,"created_at":${messages.createdAt(newest)}`)
    if (this.#hasExcerpts) {
      page.text(',"excerpt":"')
      messages.writeExcerpt(page, newest, identities.signature(author))
      page.text('"')
    }
    page.text('}}')
  }
}
