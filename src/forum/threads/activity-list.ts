// The list of threads by activity: the thread with the newest message comes first.
//
// L1. Of private threads only the caller's own are examined, all of them; of public threads, as
//     many as are shown (activity.ts). A slice examines `sliceLooks` threads and messages; a
//     request that needs more takes several slices (kernel/sliced-work.ts).
// L2. A page is exact as of the instant of its last slice. Only a caller with many private threads
//     may get a shorter one, when some of these have moved between two slices.
// L3. `position` is at least that of the newest message of all, which may have moved a thread off
//     the page that is shown (queries.ts, Q1).

import { holderOf, nobody } from '../../kernel/network.ts'
import type { Rejection } from '../../kernel/rejection.ts'
import { listClaimed } from '../claims/queries.ts'
import type { Forum } from '../forum.ts'
import { mayStillAct, rejectToken } from '../identities/commands.ts'
import type { State } from '../state.ts'
import type { Activity } from './activity.ts'
import { firstBefore, type ListRead, type ThreadList } from './queries.ts'

/** The number of messages and threads examined in one slice, in about half a millisecond. */
export const sliceLooks = 8192

/**
 * Returns the page of threads whose newest message is older than `before`, or a promise of it if
 * finding it is too much work for one event-loop iteration. The promise resolves to a rejection if
 * there are too many such reads (`client` is the address by which a caller without a token has a
 * share of them), or if the caller may no longer act. The work ends when the connection does.
 */
export function listByActivity(
  forum: Forum,
  read: ListRead & { client: string },
  connection: { readonly isGone: boolean },
): ThreadList | Promise<ThreadList | Rejection> {
  const { caller, client, claimed } = read
  const { state } = forum
  if (claimed === true) return listClaimed(state, read, state.threads.actors.columns.newestPosition)
  const search = new ActivitySearch(state, forum.activity, read)
  if (search.step()) return search.list()
  return forum.slicedWork.add<ThreadList | Rejection>(holderOf(caller, client), () => {
    if (connection.isGone) return { rejected: 'overloaded' } // which nobody receives
    if (!search.step()) return null
    const mayRead = caller === nobody || mayStillAct(forum, caller)
    return mayRead ? search.list() : rejectToken(forum, caller)
  })
}

/** One request for the list. */
export class ActivitySearch {
  readonly #state: State
  readonly #activity: Activity
  readonly #read: ListRead
  /** Only threads whose newest message has a lower number than this are listed. */
  readonly #end: number
  /** The number of messages when the search began. */
  readonly #begun: number
  /** The index of the next one of the caller's private threads. */
  #place = 0
  /**
   * The newest messages of the private threads examined: the highest, at least one more than fit.
   */
  #found: number[] = []
  /** The lowest of them if older ones were dropped; otherwise -1. */
  #floor = -1

  constructor(state: State, activity: Activity, read: ListRead) {
    const { before } = read
    const isFirst = before > state.position // or the cursor is from before a restore
    this.#state = state
    this.#activity = activity
    this.#read = read
    this.#end = isFirst ? Number.POSITIVE_INFINITY : firstBefore(state, before)
    this.#begun = state.messages.count
  }

  /** Does one slice of the search. Returns whether it is finished. */
  step(looks = sliceLooks): boolean {
    const { privateThreads } = this.#state
    const { caller, limit } = this.#read
    const count = caller === nobody ? 0 : privateThreads.length(caller)
    for (; this.#place < count; this.#place++) {
      if (looks <= 0) return false
      looks -= 1
      const newest = this.#newestOf(privateThreads.get(caller, this.#place))
      if (newest >= this.#end || this.#isLeftOut(newest)) continue
      this.#found.push(newest)
      if (this.#found.length === 2 * (limit + 1)) this.#cut()
    }
    const leftOut = this.#read.claimed === false ? this.#state.claims.count : 0
    return this.#activity.cover(this.#end, limit + 1 + leftOut, looks)
  }

  /** Returns the page. Must be called right after the last step. */
  list(): ThreadList {
    const { messages, threads } = this.#state
    const { limit } = this.#read
    const privates = this.#presentOnes()
    const found: number[] = []
    for (let end = this.#end; found.length <= limit; ) {
      while (privates.length > 0 && privates.at(-1)! >= end) privates.pop()
      const next = Math.max(this.#activity.before(end), privates.at(-1) ?? -1)
      if (next === -1 || next < this.#floor) break
      end = next
      if (!this.#isLeftOut(next)) found.push(next)
    }
    const hasMore = found.length > limit
    if (hasMore) found.length = limit
    const last = hasMore ? found.at(-1)! : this.#floor
    const shown = found.map((message) => messages.thread(message))
    const { changedPosition } = threads.actors.columns
    const newest = messages.count === 0 ? 0 : messages.seq(messages.count - 1)
    const shownThrough = this.#read.claimed === undefined ? newest : this.#state.position
    return {
      position: Math.max(shownThrough, ...shown.map((thread) => changedPosition.get(thread))),
      threads: shown,
      nextBefore: last === -1 ? null : messages.seq(last),
    }
  }

  /** Returns the newest messages of the private threads as of now, in ascending order (L2). */
  #presentOnes(): number[] {
    const { messages, threads } = this.#state
    const { caller } = this.#read
    const found = new Set(this.#found.map((message) => this.#newestOf(messages.thread(message))))
    for (let message = this.#begun; message < messages.count; message++) {
      const thread = messages.thread(message)
      if (threads.isPublic(thread) || !this.#state.maySee(caller, thread)) continue
      found.add(this.#newestOf(thread))
    }
    return Array.from(found).sort((a, b) => a - b)
  }

  /** Returns whether the thread with this newest message is not listed because it is claimed. */
  #isLeftOut(newest: number): boolean {
    const { messages, claims } = this.#state
    return this.#read.claimed === false && claims.of(messages.thread(newest)) !== null
  }

  #newestOf(thread: number): number {
    const { threads } = this.#state
    return threads.newestMessage(thread)
  }

  /** Keeps the newest of the messages found, one more than fits on a page. */
  #cut(): void {
    this.#found.sort((a, b) => b - a)
    this.#found.length = this.#read.limit + 1
    this.#floor = this.#found.at(-1)!
  }
}
