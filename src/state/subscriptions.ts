// Subscriptions: one actor for each pair of identity and thread that ever were together
// (actors/subscription.ts), and for each identity the list of threads it follows now.
//
// S1. A thread is in an identity's list exactly while the pair's actor is `subscribed`.

import type { PagedStore } from '../../wal/paged-store.ts'
import { ActorTable } from '../actors/actor-table.ts'
import { compile } from '../actors/compile.ts'
import type { SubscriptionContext, SubscriptionEvent } from '../actors/subscription.ts'
import { subscriptionLayout, subscriptionMachine } from '../actors/subscription.ts'
import { Uint32Column } from './column.ts'
import { HashIndex } from './hash-index.ts'
import { Lists } from './lists.ts'
import type { Saved } from './saved.ts'

const machine = compile<SubscriptionContext, SubscriptionEvent>(subscriptionMachine)
const subscribed = machine.stateNumber('subscribed')

export class Subscriptions {
  readonly #actors = new ActorTable(machine, subscriptionLayout)
  readonly #identities = new Uint32Column()
  readonly #threads = new Uint32Column()
  /** Where the thread stands in its identity's list, while subscribed. */
  readonly #places = new Uint32Column()
  readonly #index = new HashIndex()
  readonly #following = new Lists()

  get count(): number {
    return this.#actors.count
  }

  get stores(): Record<string, PagedStore> {
    return { identities: this.#identities, threads: this.#threads, places: this.#places }
  }

  get parts(): Record<string, Saved> {
    return { actors: this.#actors, following: this.#following }
  }

  restore(): void {
    this.#index.fill(this.count, (pair) =>
      hashPair(this.#identities.get(pair), this.#threads.get(pair)),
    )
  }

  /** Makes room for the next identity. */
  addIdentity(): void {
    this.#following.add()
  }

  isSubscribed(identity: number, thread: number): boolean {
    const pair = this.#find(identity, thread)
    return pair !== -1 && this.#actors.state(pair) === subscribed
  }

  /** Position of the record that last changed the pair; 0 when there was none. */
  changedAt(identity: number, thread: number): number {
    const pair = this.#find(identity, thread)
    return pair === -1 ? 0 : this.#actors.columns.since.get(pair)
  }

  /** Number of threads the identity follows. */
  followed(identity: number): number {
    return this.#following.length(identity)
  }

  /** Puts the threads that the identity follows at the start of `into`, in no particular order. */
  copyThreads(identity: number, into: Uint32Array): void {
    this.#following.copy(identity, 0, this.followed(identity), into)
  }

  /** The threads the identity follows. */
  *threadsOf(identity: number): Iterable<number> {
    const count = this.followed(identity)
    for (let i = 0; i < count; i++) yield this.#following.get(identity, i)
  }

  /** Returns whether this changed anything. */
  subscribe(identity: number, thread: number, position: number): boolean {
    let pair = this.#find(identity, thread)
    if (pair === -1) pair = this.#add(identity, thread)
    if (!this.#actors.step(pair, { type: 'subscribed', position })) return false
    this.#places.set(pair, this.#following.length(identity))
    this.#following.push(identity, thread)
    return true
  }

  /** Returns whether this changed anything. */
  unsubscribe(identity: number, thread: number, position: number): boolean {
    const pair = this.#find(identity, thread)
    if (pair === -1 || !this.#actors.step(pair, { type: 'unsubscribed', position })) return false
    const place = this.#places.get(pair)
    const moved = this.#following.removeAt(identity, place)
    if (moved !== -1) this.#places.set(this.#find(identity, moved), place)
    return true
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

/** Mixes two dense numbers: the index takes its shard from the top bits, its slot from the low. */
function hashPair(identity: number, thread: number): number {
  let hash = Math.imul(identity, 0x9e3779b1) ^ Math.imul(thread + 1, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35)
  return (hash ^ (hash >>> 13)) >>> 0
}
