// The tags in use, with the number of threads that have each, of those that the caller may see.
//
// L1. Of private threads only the caller's own are examined, all of them, `sliceThreads` in one
//     event-loop iteration (kernel/sliced-work.ts); of public threads none.
// L2. `position` covers the creation and the expiry of all threads, and all changes of tags
//     (threads/queries.ts, Q1).

import { partition } from '../../base/partition.ts'
import { nobody } from '../../kernel/network.ts'
import type { Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { mayStillAct, rejectToken } from '../identities/commands.ts'
import type { State } from '../state.ts'

const sliceThreads = 4096

export interface TagsRead {
  caller: number
  prefix: string
  /** Returns tags that follow this one in the order of their bytes. */
  after: string
  limit: number
}

export interface TagPage extends Positioned {
  tags: { tag: string; threads: number }[]
  hasMore: boolean
}

/** Returns the page, or a promise of it if the caller has very many private threads. */
export function listTags(
  forum: Forum,
  read: TagsRead,
  connection: { readonly isGone: boolean },
): TagPage | Promise<TagPage | Rejection> {
  const { state } = forum
  const { caller } = read
  const counting = new PrivateCounts(state, caller)
  if (counting.step()) return pageOf(state, read, counting.counts)
  return forum.slicedWork.add<TagPage | Rejection>(caller, () => {
    if (connection.isGone) return { rejected: 'overloaded' } // which nobody receives
    if (!counting.step()) return null
    const mayRead = mayStillAct(forum, caller)
    return mayRead ? pageOf(state, read, counting.counts) : rejectToken(forum, caller)
  })
}

/** Counts the tags of the private threads that the caller may see. */
class PrivateCounts {
  readonly counts = new Map<string, number>()
  readonly #state: State
  readonly #caller: number
  /** The thread that was examined last, or -1. */
  #last = -1

  constructor(state: State, caller: number) {
    this.#state = state
    this.#caller = caller
  }

  /** Does one slice. Returns whether it was the last. */
  step(): boolean {
    if (this.#caller === nobody) return true
    const { privateThreads, tags } = this.#state
    const count = privateThreads.length(this.#caller)
    const threadAt = (index: number) => privateThreads.get(this.#caller, index)
    // A thread that has expired since the last slice is no longer in the list.
    const begin = partition(count, (i) => threadAt(i) <= this.#last)
    const end = Math.min(count, begin + sliceThreads)
    for (let index = begin; index < end; index++) {
      this.#last = threadAt(index)
      for (const tag of tags.of(this.#last)) {
        this.counts.set(tag, (this.counts.get(tag) ?? 0) + 1)
      }
    }
    return end === count
  }
}

function pageOf(
  { threads, tags, expiredPosition }: State,
  { prefix, after, limit }: TagsRead,
  counts: ReadonlyMap<string, number>,
): TagPage {
  const own = [...counts.keys()].filter((name) => name.startsWith(prefix) && name > after)
  const found = new Set([...tags.publicNames(prefix, after, limit + 1), ...own])
  const names = [...found].sort()
  const { firstPosition } = threads.actors.columns
  const newest = threads.count === 0 ? 0 : firstPosition.get(threads.count - 1)
  return {
    position: Math.max(newest, tags.changedPosition, expiredPosition),
    tags: names.slice(0, limit).map((tag) => {
      return { tag, threads: tags.publicCount(tag) + (counts.get(tag) ?? 0) }
    }),
    hasMore: names.length > limit,
  }
}
