// Feeds: for each identity an actor (forum/feed/machine.ts), the list of the threads that it
// follows now, the list of the tags that it follows now, and the list of the messages that mention
// it.
//
// F1. The length of an identity's list of threads equals its actor's `following`.
// F2. An identity's list of mentions contains each message once, oldest first, and none that the
//     identity wrote.
// F3. The list of an identity's tags has pairs: the number of a tag, and that of the first thread
//     that counts. The identity began to follow the tag before this thread was created.

import type { PagedStore } from '../../../wal/checkpoint/paged-store.ts'
import { ActorTable } from '../../kernel/actor-table.ts'
import { Uint32Column } from '../../kernel/columns/column.ts'
import { HashIndex, stepRows } from '../../kernel/columns/hash-index.ts'
import { Lists } from '../../kernel/columns/lists.ts'
import type { Saved } from '../../kernel/saved.ts'
import { tagTopic, threadTopic } from '../../kernel/topics.ts'
import { feed } from './machine.ts'
import { subscription } from './subscription.ts'

export interface FollowedTag {
  tag: number
  /** The first thread that counts; older threads with the tag are not in the feed. */
  from: number
}

const noTags: readonly FollowedTag[] = []

export class Feeds {
  readonly actors = new ActorTable(feed)
  readonly #threads = new Lists()
  /** The tags that each identity follows (F3). */
  readonly #tags = new Lists()
  /** The numbers of the messages that mention each identity. */
  readonly #mentions = new Lists()
  #mentionCount = 0

  get parts(): Record<string, Saved> {
    const [threads, tags, mentions] = [this.#threads, this.#tags, this.#mentions]
    return { actors: this.actors, threads, tags, mentions }
  }

  /** The number of mentions in all feeds. */
  get mentionCount(): number {
    return this.#mentionCount
  }

  restore(): void {
    this.#mentionCount = 0
    for (let identity = 0; identity < this.actors.count; identity++) {
      this.#mentionCount += this.mentions(identity)
    }
  }

  /** Adds the feed of the next identity, which follows nothing yet. */
  add(): void {
    this.actors.add()
    this.#threads.add()
    this.#tags.add()
    this.#mentions.add()
  }

  /** Adds a thread to those that the identity follows; returns its index among them. */
  follow(identity: number, thread: number, position: number): number {
    this.actors.tell(identity, { type: 'followed', position })
    this.#threads.push(identity, thread)
    return this.followed(identity) - 1
  }

  /** Removes the thread at this index. Returns the thread that moved there, or -1. */
  unfollow(identity: number, index: number, position: number): number {
    this.actors.tell(identity, { type: 'unfollowed', position })
    return this.#threads.removeAt(identity, index)
  }

  followed(identity: number): number {
    return this.#threads.length(identity)
  }

  /**
   * Copies the threads that the identity follows, from index `from` up to `to`, to the start of
   * `into`, in no defined order.
   */
  copyThreads(identity: number, from: number, to: number, into: Uint32Array): void {
    this.#threads.copy(identity, from, to, into)
  }

  /** Adds a message, newer than all others in the list, to those that mention the identity. */
  mention(identity: number, message: number): void {
    this.#mentions.push(identity, message)
    this.#mentionCount += 1
  }

  mentions(identity: number): number {
    return this.#mentions.length(identity)
  }

  /** Returns the message at `index` among those that mention the identity, oldest first. */
  mentionAt(identity: number, index: number): number {
    return this.#mentions.get(identity, index)
  }

  /** Returns the thread at `index` among those that the identity follows. */
  threadAt(identity: number, index: number): number {
    return this.#threads.get(identity, index)
  }

  *threadsOf(identity: number): Iterable<number> {
    const count = this.followed(identity)
    for (let i = 0; i < count; i++) yield this.threadAt(identity, i)
  }

  /** Adds a tag to those that the identity follows, for threads from number `from` on. */
  followTag(identity: number, { tag, from }: FollowedTag, position: number): void {
    this.actors.tell(identity, { type: 'tagFollowed', position })
    this.#tags.push(identity, tag)
    this.#tags.push(identity, from)
  }

  unfollowTag(identity: number, tag: number, position: number): void {
    this.actors.tell(identity, { type: 'tagUnfollowed', position })
    const index = 2 * this.tagsOf(identity).findIndex((each) => each.tag === tag)
    this.#tags.deleteAt(identity, index)
    this.#tags.deleteAt(identity, index)
  }

  /** Returns the tags that the identity follows, in the order in which it began to. */
  tagsOf(identity: number): readonly FollowedTag[] {
    const length = this.#tags.length(identity) / 2
    if (length === 0) return noTags
    return Array.from({ length }, (_, i) => {
      return { tag: this.#tags.get(identity, 2 * i), from: this.#tags.get(identity, 2 * i + 1) }
    })
  }

  followsTag(identity: number, tag: number): boolean {
    return this.tagsOf(identity).some((each) => each.tag === tag)
  }

  *topicsOf(identity: number): Iterable<number> {
    for (const thread of this.threadsOf(identity)) yield threadTopic(thread)
    for (const { tag } of this.tagsOf(identity)) yield tagTopic(tag)
  }
}

/** Events for `may`, whose result does not depend on the position. */
const subscribed = { type: 'subscribed', position: 0 } as const
const unsubscribed = { type: 'unsubscribed', position: 0 } as const
const followed = { type: 'followed', position: 0 } as const
const unfollowed = { type: 'unfollowed', position: 0 } as const

/**
 * Subscriptions: one actor for each pair of an identity and a thread that it has ever followed
 * (forum/feed/subscription.ts). A thread is in an identity's feed exactly while the pair's actor is
 * `subscribed`.
 */
export class Subscriptions {
  readonly #feeds: Feeds
  readonly #actors = new ActorTable(subscription)
  readonly #identities = new Uint32Column()
  readonly #threads = new Uint32Column()
  /** The thread's index in the list of its identity's feed, while subscribed. */
  readonly #places = new Uint32Column()
  readonly #index = new HashIndex()

  constructor(feeds: Feeds) {
    this.#feeds = feeds
  }

  get count(): number {
    return this.#actors.count
  }

  get stores(): Record<string, PagedStore> {
    return { identities: this.#identities, threads: this.#threads, places: this.#places }
  }

  get parts(): Record<string, Saved> {
    return { actors: this.#actors }
  }

  fillIndexes(): Iterable<void> {
    const hashes = new Uint32Array(stepRows)
    return this.#index.fill(this.count, (from, to) => {
      const [identities, threads] = [this.#identities.rowsFrom(from), this.#threads.rowsFrom(from)]
      for (let i = 0; i < to - from; i++) hashes[i] = hashPair(identities[i], threads[i])
      return hashes.subarray(0, to - from)
    })
  }

  isSubscribed(identity: number, thread: number): boolean {
    const pair = this.pairOf(identity, thread)
    return pair !== -1 && this.#actors.state(pair) === 'subscribed'
  }

  /** Returns the position of the record that last changed the pair, or 0 if there is none. */
  changedAt(identity: number, thread: number): number {
    const pair = this.pairOf(identity, thread)
    return pair === -1 ? 0 : this.#actors.get(pair, 'since')
  }

  /** Returns the number of the pair, or -1 if the identity has never followed the thread. */
  pairOf(identity: number, thread: number): number {
    return this.#index.find(
      hashPair(identity, thread),
      (pair) => this.#identities.get(pair) === identity && this.#threads.get(pair) === thread,
    )
  }

  /** Returns the identity of the pair with this number if it follows the thread, or -1. */
  followerAt(pair: number, thread: number): number {
    const isFollower =
      this.#threads.get(pair) === thread && this.#actors.state(pair) === 'subscribed'
    return isFollower ? this.#identities.get(pair) : -1
  }

  /** Yields who follows which thread, in the order in which they first did so. */
  *followed(): Iterable<[identity: number, thread: number]> {
    for (let pair = 0; pair < this.count; pair++) {
      if (this.#actors.state(pair) !== 'subscribed') continue
      yield [this.#identities.get(pair), this.#threads.get(pair)]
    }
  }

  /** Returns whether the identity can follow the thread: it does not yet, and its feed is open. */
  mayFollow(identity: number, thread: number): boolean {
    const pair = this.pairOf(identity, thread)
    if (pair !== -1 && !this.#actors.may(pair, subscribed)) return false
    return this.#feeds.actors.may(identity, followed)
  }

  /** Returns whether the identity can unfollow the thread: it follows it, and its feed is open. */
  mayUnfollow(identity: number, thread: number): boolean {
    const pair = this.pairOf(identity, thread)
    if (pair === -1 || !this.#actors.may(pair, unsubscribed)) return false
    return this.#feeds.actors.may(identity, unfollowed)
  }

  follow(identity: number, thread: number, position: number): void {
    let pair = this.pairOf(identity, thread)
    if (pair === -1) pair = this.#add(identity, thread)
    this.#actors.tell(pair, { type: 'subscribed', position })
    this.#places.set(pair, this.#feeds.follow(identity, thread, position))
  }

  unfollow(identity: number, thread: number, position: number): void {
    const pair = this.pairOf(identity, thread)
    this.#actors.tell(pair, { type: 'unsubscribed', position })
    const place = this.#places.get(pair)
    const moved = this.#feeds.unfollow(identity, place, position)
    if (moved !== -1) this.#places.set(this.pairOf(identity, moved), place)
  }

  #add(identity: number, thread: number): number {
    const pair = this.#actors.add()
    this.#identities.push(identity)
    this.#threads.push(thread)
    this.#places.push(0)
    this.#index.add(hashPair(identity, thread), pair)
    return pair
  }
}

/**
 * Mixes two dense numbers: an index selects a partition by the top bits, a cell by the low ones.
 */
function hashPair(identity: number, thread: number): number {
  let hash = Math.imul(identity, 0x9e3779b1) ^ Math.imul(thread + 1, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35)
  return (hash ^ (hash >>> 13)) >>> 0
}
