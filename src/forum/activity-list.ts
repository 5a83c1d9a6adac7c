// The list of threads by activity: the one with the newest message first.
//
// L1. Of private threads only the caller's own are looked at, all of them; of public ones as many
//     as are shown (activity.ts). A slice looks at `sliceLooks` threads and messages; a request
//     that needs more takes several (sliced-work.ts).
// L2. A page is right as of the instant of its last slice. Only a caller with many private threads
//     may get a shorter one: when some of them have moved between the slices.
// L3. `position` is that of the newest message of all, which may have moved a thread out of the
//     page that is shown (reads.ts, Q1).

import { nobody, type State } from '../state/state.ts'
import type { Activity } from './activity.ts'
import type { Forum, Rejection } from './forum.ts'
import { mayStillAct, rejectToken } from './identities.ts'
import { firstBefore, type ListRead, type ThreadList } from './reads.ts'

/** The messages and threads that are looked at in one slice, in about half a millisecond. */
const sliceLooks = 8192

/**
 * The page of threads whose newest message is older than `before`, or a promise of it where that is
 * too much work for one iteration of the event loop. The promise gives a rejection when there are
 * too many such reads, or the caller may no longer act. The work ends when the connection does.
 */
export function listByActivity(
  forum: Forum,
  read: ListRead,
  connection: { readonly isGone: boolean },
): ThreadList | Promise<ThreadList | Rejection> {
  const { caller } = read
  const search = new ActivitySearch(forum.state, forum.activity, read)
  if (search.step()) return search.list()
  return forum.slicedWork.add<ThreadList | Rejection>(caller, () => {
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
  /** The threads are those whose newest message has a lesser number. */
  readonly #end: number
  /** How many messages there were when it began. */
  readonly #begun: number
  /** The next one of the caller's private threads. */
  #place = 0
  /** The newest messages of those that were looked at: the greatest, at least one more than fit. */
  #found: number[] = []
  /** The least of them, if older ones were left out; otherwise -1. */
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

  /** Does one slice of the search; true: it is finished. */
  step(looks = sliceLooks): boolean {
    const { privateThreads } = this.#state
    const { caller, limit } = this.#read
    const count = caller === nobody ? 0 : privateThreads.length(caller)
    for (; this.#place < count; this.#place++) {
      if (looks <= 0) return false
      looks -= 1
      const newest = this.#newestOf(privateThreads.get(caller, this.#place))
      if (newest >= this.#end) continue
      this.#found.push(newest)
      if (this.#found.length === 2 * (limit + 1)) this.#cut()
    }
    return this.#activity.cover(this.#end, limit + 1, looks)
  }

  /** The page, right after the last step. */
  list(): ThreadList {
    const { messages, threads } = this.#state
    const { limit } = this.#read
    const privates = this.#presentOnes()
    const found: number[] = []
    for (let end = this.#end; found.length <= limit; end = found.at(-1)!) {
      while (privates.length > 0 && privates.at(-1)! >= end) privates.pop()
      const next = Math.max(this.#activity.before(end), privates.at(-1) ?? -1)
      if (next === -1 || next < this.#floor) break
      found.push(next)
    }
    const hasMore = found.length > limit
    if (hasMore) found.length = limit
    const last = hasMore ? found.at(-1)! : this.#floor
    const shown = found.map((message) => messages.thread(message))
    const { changedPosition } = threads.actors.columns
    const newest = messages.count === 0 ? 0 : messages.seq(messages.count - 1)
    return {
      position: Math.max(newest, ...shown.map((thread) => changedPosition.get(thread))),
      threads: shown,
      nextBefore: last === -1 ? null : messages.seq(last),
    }
  }

  /** The newest messages of the private threads by now, the greatest last (L2). */
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

  #newestOf(thread: number): number {
    const { threads } = this.#state
    return threads.message(thread, threads.messageCount(thread) - 1)
  }

  /** Keeps the newest of what was found, one more than a page has. */
  #cut(): void {
    this.#found.sort((a, b) => b - a)
    this.#found.length = this.#read.limit + 1
    this.#floor = this.#found.at(-1)!
  }
}
