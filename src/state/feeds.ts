// Feeds: one actor per identity (actors/feed.ts), and the list of threads it follows now.
//
// F1. The length of an identity's list equals `following` of its actor.

import { feed } from '../actors/feed.ts'
import { Lists } from '../columns/lists.ts'
import { ActorTable } from './actor-table.ts'
import type { Saved } from './saved.ts'

export class Feeds {
  readonly actors = new ActorTable(feed)
  readonly #threads = new Lists()

  get parts(): Record<string, Saved> {
    return { actors: this.actors, threads: this.#threads }
  }

  /** Adds the feed of the next identity, which does not follow anything yet. */
  add(): void {
    this.actors.add()
    this.#threads.add()
  }

  /** Adds a thread to those that the identity follows; returns its index among them. */
  follow(identity: number, thread: number, position: number): number {
    this.actors.tell(identity, { type: 'followed', position })
    this.#threads.push(identity, thread)
    return this.followed(identity) - 1
  }

  /** Removes the thread at index `place`; returns the thread that moved there, or -1. */
  unfollow(identity: number, place: number, position: number): number {
    this.actors.tell(identity, { type: 'unfollowed', position })
    return this.#threads.removeAt(identity, place)
  }

  /** Number of threads the identity follows. */
  followed(identity: number): number {
    return this.#threads.length(identity)
  }

  /**
   * Copies the threads that the identity follows, from place `from` up to `to`, to the start of
   * `into`, in no defined order.
   */
  copyThreads(identity: number, from: number, to: number, into: Uint32Array): void {
    this.#threads.copy(identity, from, to, into)
  }

  /** The threads the identity follows. */
  *threadsOf(identity: number): Iterable<number> {
    const count = this.followed(identity)
    for (let i = 0; i < count; i++) yield this.#threads.get(identity, i)
  }
}
