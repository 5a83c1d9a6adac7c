// Subscriptions: one actor for each pair of an identity and a thread that it has ever followed
// (forum/feed/subscription.ts).
//
// S1. A thread is in an identity's feed (table.ts) exactly while the pair's actor is `subscribed`.

import type { PagedStore } from '../../../wal/checkpoint/paged-store.ts'
import { ActorTable } from '../../kernel/actor-table.ts'
import { Uint32Column } from '../../kernel/columns/column.ts'
import { HashIndex, stepRows } from '../../kernel/columns/hash-index.ts'
import type { Saved } from '../../kernel/saved.ts'
import { subscription } from './subscription.ts'
import type { Feeds } from './table.ts'

/** Events for `may`, whose result does not depend on the position. */
const subscribed = { type: 'subscribed', position: 0 } as const
const unsubscribed = { type: 'unsubscribed', position: 0 } as const
const followed = { type: 'followed', position: 0 } as const
const unfollowed = { type: 'unfollowed', position: 0 } as const

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
    const pair = this.#find(identity, thread)
    return pair !== -1 && this.#actors.state(pair) === 'subscribed'
  }

  /** Returns the position of the record that last changed the pair, or 0 if there is none. */
  changedAt(identity: number, thread: number): number {
    const pair = this.#find(identity, thread)
    return pair === -1 ? 0 : this.#actors.get(pair, 'since')
  }

  /** Returns the number of the pair, or -1 if the identity has never followed the thread. */
  pairOf(identity: number, thread: number): number {
    return this.#find(identity, thread)
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
    const pair = this.#find(identity, thread)
    if (pair !== -1 && !this.#actors.may(pair, subscribed)) return false
    return this.#feeds.actors.may(identity, followed)
  }

  /** Returns whether the identity can unfollow the thread: it follows it, and its feed is open. */
  mayUnfollow(identity: number, thread: number): boolean {
    const pair = this.#find(identity, thread)
    if (pair === -1 || !this.#actors.may(pair, unsubscribed)) return false
    return this.#feeds.actors.may(identity, unfollowed)
  }

  follow(identity: number, thread: number, position: number): void {
    let pair = this.#find(identity, thread)
    if (pair === -1) pair = this.#add(identity, thread)
    this.#actors.tell(pair, { type: 'subscribed', position })
    this.#places.set(pair, this.#feeds.follow(identity, thread, position))
  }

  unfollow(identity: number, thread: number, position: number): void {
    const pair = this.#find(identity, thread)
    this.#actors.tell(pair, { type: 'unsubscribed', position })
    const place = this.#places.get(pair)
    const moved = this.#feeds.unfollow(identity, place, position)
    if (moved !== -1) this.#places.set(this.#find(identity, moved), place)
  }

  #find(identity: number, thread: number): number {
    return this.#index.find(
      hashPair(identity, thread),
      (pair) => this.#identities.get(pair) === identity && this.#threads.get(pair) === thread,
    )
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
 * Mixes two dense numbers: an index selects a partition by the top bits, a slot by the low ones.
 */
function hashPair(identity: number, thread: number): number {
  let hash = Math.imul(identity, 0x9e3779b1) ^ Math.imul(thread + 1, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35)
  return (hash ^ (hash >>> 13)) >>> 0
}
