// What the tags that an identity follows put into its feed: the first messages of public threads
// that have one of them now, and were created after the identity began to follow it.
//
// Neighbours: queries.ts searches the feed; table.ts says which tags an identity follows.

import { partition } from '../../base/partition.ts'
import type { State } from '../state.ts'
import type { FollowedTag } from './table.ts'

const none: ReadonlyMap<number, string> = new Map()
const noMessages: IterableIterator<number> = [].values() // it is at its end
const nowhere: ReadonlyMap<number, number> = new Map()

export class FollowedTags {
  readonly #state: State
  readonly #tags: readonly FollowedTag[]
  /** By tag, the first thread that counts. */
  readonly #from: ReadonlyMap<number, number>

  constructor(state: State, identity: number) {
    this.#state = state
    this.#tags = state.feeds.tagsOf(identity)
    this.#from = this.areNone ? nowhere : new Map(this.#tags.map(({ tag, from }) => [tag, from]))
  }

  get areNone(): boolean {
    return this.#tags.length === 0
  }

  /**
   * Returns the first of the tags of the message's thread that is followed, if the message begins
   * the thread and the thread counts; otherwise -1.
   */
  of(message: number): number {
    if (this.areNone) return -1
    const { messages, threads, tags } = this.#state
    const thread = messages.thread(message)
    const { firstPosition } = threads.actors.columns
    if (firstPosition.get(thread) !== messages.seq(message) || !threads.isPublic(thread)) return -1
    const isFollowed = (tag: number) => thread >= (this.#from.get(tag) ?? Number.POSITIVE_INFINITY)
    return tags.numbersOf(thread).find(isFollowed) ?? -1
  }

  /** Returns the names of the tags of those messages that have one (`of`). */
  among(shown: readonly number[]): ReadonlyMap<number, string> {
    if (this.areNone) return none
    const tagged = new Map<number, string>()
    for (const message of shown) {
      const tag = this.of(message)
      if (tag !== -1) tagged.set(message, this.#state.tags.name(tag))
    }
    return tagged
  }

  /** Returns the messages that `#after` yields. Most identities follow no tag. */
  after(position: number, end: () => number): IterableIterator<number> {
    return this.areNone ? noMessages : this.#after(position, end)
  }

  /**
   * Yields the messages after this position and with a number below `end`, for each tag oldest
   * first; -1 for each thread that is examined in vain. A message is yielded once, for the first of
   * its tags. Threads may expire in the meantime; apart from that, tags must not change.
   */
  *#after(position: number, end: () => number): Generator<number> {
    const { threads, tags } = this.#state
    const { firstPosition } = threads.actors.columns
    for (const { tag, from } of this.#tags) {
      let next = from
      const isBefore = (thread: number) => thread < next || firstPosition.get(thread) <= position
      for (;;) {
        const tagged = tags.publicThreads(tag)
        const index = partition(tagged.length, (i) => isBefore(tagged.get(i)))
        if (index === tagged.length) break
        const thread = tagged.get(index)
        const message = threads.message(thread, 0)
        if (message >= end()) break
        next = thread + 1
        yield this.of(message) === tag ? message : -1
      }
    }
  }
}
