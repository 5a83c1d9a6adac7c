// Feeds: one actor for each identity (actors/feed.ts), and the list of threads it follows now.
//
// F1. An identity's list is as long as its actor's `following` says.

import { feed } from '../actors/feed.ts'
import { ActorTable } from './actor-table.ts'
import { Lists } from './lists.ts'
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

  /** Adds a thread to those that the identity follows; returns its place among them. */
  follow(identity: number, thread: number, position: number): number {
    this.actors.tell(identity, { type: 'followed', position })
    this.#threads.push(identity, thread)
    return this.followed(identity) - 1
  }

  /** Removes the thread at `place`; returns the thread that took its place, or -1. */
  unfollow(identity: number, place: number, position: number): number {
    this.actors.tell(identity, { type: 'unfollowed', position })
    return this.#threads.removeAt(identity, place)
  }

  /** Number of threads the identity follows. */
  followed(identity: number): number {
    return this.#threads.length(identity)
  }

  /** Puts the threads that the identity follows at the start of `into`, in no particular order. */
  copyThreads(identity: number, into: Uint32Array): void {
    this.#threads.copy(identity, 0, this.followed(identity), into)
  }

  /** The threads the identity follows. */
  *threadsOf(identity: number): Iterable<number> {
    const count = this.followed(identity)
    for (let i = 0; i < count; i++) yield this.#threads.get(identity, i)
  }
}
