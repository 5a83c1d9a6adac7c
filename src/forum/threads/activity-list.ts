// The list of threads by activity: the thread with the newest message comes first.
//
// L1. Of private threads only the caller's own are examined, all of them; of public threads, as
//     many as are shown (activity.ts). A slice examines `sliceSteps` threads and messages; a
//     request that needs more takes several slices (kernel/sliced-work.ts).
//     Where tags are wanted, the public threads with one of them are examined in the same way as
//     private ones.
//     Where claimed threads are left out, a page passes over at most `passedMax` of them, so that
//     it may be shorter than its limit, or empty, although there is a next one.
// L2. A page is exact as of the instant of its last slice. Only if very many threads are examined,
//     it may be shorter, when some of them have moved or changed their tags between two slices. A
//     slice continues after the thread that was examined last, since threads before it may have
//     left the list.
// L3. `position` is at least that of the newest message of all, which may have moved a thread off
//     the page that is shown (queries.ts, Q1).

import { partition } from '../../base/partition.ts'
import { holderOf, nobody } from '../../kernel/network.ts'
import type { Rejection } from '../../kernel/rejection.ts'
import { listClaimed } from '../claims/queries.ts'
import type { Forum } from '../forum.ts'
import { mayStillAct, rejectToken } from '../identities/commands.ts'
import type { State } from '../state.ts'
import type { Ordered, TagFilter } from '../tags/table.ts'
import type { Activity } from './activity.ts'
import { firstBefore, type ListRead, type ThreadList, taggedOf } from './queries.ts'

/** The number of messages and threads examined in one slice, in about half a millisecond. */
export const sliceSteps = 8192
/** The most claimed threads that a page passes over; a slice can examine three times as many. */
export const passedMax = 2048

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
  if (claimed === true) {
    const { has } = taggedOf(state, read)
    return listClaimed(state, { ...read, has }, state.threads.actors.columns.newestPosition)
  }
  const search = new ActivitySearch(state, forum.activity, read)
  if (search.step()) return search.list()
  return forum.slicedWork.add<ThreadList | Rejection>(holderOf(caller, client), () => {
    if (connection.isGone) return { rejected: 'overloaded' } // which nobody receives
    if (!search.step()) return null
    const mayRead = caller === nobody || mayStillAct(forum, caller)
    return mayRead ? search.list() : rejectToken(forum, caller)
  })
}

export class ActivitySearch {
  readonly #state: State
  readonly #activity: Activity
  readonly #read: ListRead
  /** Only threads whose newest message has a lower number than this are listed. */
  readonly #end: number
  /** The number of messages when the search began. */
  readonly #begun: number
  readonly #filter: TagFilter
  /** The lists of threads that are yet to be examined one by one, each oldest first. */
  readonly #lists: Ordered[] = []
  /** The thread in the first of them that was examined last, or -1. */
  #last = -1
  /**
   * The newest messages of the threads examined: the highest, at least one more than fit.
   */
  #found: number[] = []
  /** The lowest of them if older ones were dropped; otherwise -1. */
  #floor = -1

  constructor(state: State, activity: Activity, read: ListRead) {
    const { before, caller, tags } = read
    const isFirst = before > state.position // or the cursor is from before a restore
    this.#state = state
    this.#activity = activity
    this.#read = read
    this.#end = isFirst ? Number.POSITIVE_INFINITY : firstBefore(state, before)
    this.#begun = state.messages.count
    this.#filter = taggedOf(state, read)
    if (tags !== undefined) this.#lists.push(this.#filter.publics)
    if (caller !== nobody) this.#lists.push(privateThreadsOf(state, caller))
  }

  /** Does one slice of the search. Returns whether it is finished. */
  step(steps = sliceSteps): boolean {
    const { limit, tags } = this.#read
    for (const lists = this.#lists; lists.length > 0; lists.shift(), this.#last = -1) {
      const [threads] = lists
      let index = partition(threads.length, (i) => threads.get(i) <= this.#last)
      for (const { length } = threads; index < length; index++) {
        if (steps <= 0) return false
        steps -= 1
        this.#last = threads.get(index)
        this.#examine(this.#last)
      }
    }
    if (tags !== undefined) return true
    const isLeavingOut = this.#read.claimed === false
    const leftOut = isLeavingOut ? Math.min(this.#state.claims.count, passedMax + 1) : 0
    return this.#activity.cover(this.#end, limit + 1 + leftOut, steps)
  }

  #examine(thread: number): void {
    const newest = this.#newestOf(thread)
    const isWanted = this.#filter.has(thread) && !this.#isLeftOut(newest)
    if (newest >= this.#end || !isWanted) return
    this.#found.push(newest)
    if (this.#found.length === 2 * (this.#read.limit + 1)) this.#cut()
  }

  /** Returns the page. Must be called right after the last step. */
  list(): ThreadList {
    const { messages, threads, tags } = this.#state
    const { limit, tags: wanted } = this.#read
    const examined = this.#presentOnes()
    const found: number[] = []
    let [end, passed] = [this.#end, 0]
    while (found.length <= limit && passed <= passedMax) {
      while (examined.length > 0 && examined.at(-1)! >= end) examined.pop()
      const other = wanted === undefined ? this.#activity.before(end) : -1
      const next = Math.max(other, examined.at(-1) ?? -1)
      if (next === -1 || next < this.#floor) break
      end = next
      if (this.#isLeftOut(next)) passed += 1
      else found.push(next)
    }
    const hasMore = found.length > limit
    if (hasMore) found.length = limit
    const isCut = !hasMore && passed > passedMax
    const last = isCut ? end : hasMore ? found.at(-1)! : this.#floor
    const shown = found.map((message) => messages.thread(message))
    const { changedPosition } = threads.actors.columns
    const newest = messages.count === 0 ? 0 : messages.seq(messages.count - 1)
    const tagged = wanted === undefined ? 0 : tags.changedPosition
    const shownThrough = this.#read.claimed === undefined ? newest : this.#state.position
    const changes = shown.map((thread) => changedPosition.get(thread))
    return {
      position: Math.max(shownThrough, tagged, this.#state.expiredPosition, ...changes),
      threads: shown,
      nextBefore: last === -1 ? null : messages.seq(last),
    }
  }

  /** Returns the newest messages of the threads examined, as of now, in ascending order (L2). */
  #presentOnes(): number[] {
    const { messages, threads } = this.#state
    const { caller, tags } = this.#read
    const found = new Set(this.#found.map((message) => this.#newestOf(messages.thread(message))))
    found.delete(-1) // a thread that has expired meanwhile
    for (let message = this.#begun; message < messages.count; message++) {
      const thread = messages.thread(message)
      const isOther = tags === undefined && threads.isPublic(thread)
      if (isOther || !this.#state.maySee(caller, thread)) continue
      found.add(this.#newestOf(thread))
    }
    const isTagged = (message: number) => this.#filter.has(messages.thread(message))
    return Array.from(found)
      .filter(isTagged)
      .sort((a, b) => a - b)
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

function privateThreadsOf({ privateThreads }: State, caller: number): Ordered {
  return {
    get length() {
      return privateThreads.length(caller)
    },
    get: (index) => privateThreads.get(caller, index),
  }
}
