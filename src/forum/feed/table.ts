// Feeds: for each identity an actor (forum/feed/machine.ts), the list of the threads that it
// follows now, and the list of the messages that mention it.
//
// F1. The length of an identity's list of threads equals its actor's `following`.
// F2. An identity's list of mentions contains each message once, oldest first, and none that the
//     identity wrote.

import { ActorTable } from '../../kernel/actor-table.ts'
import { Lists } from '../../kernel/columns/lists.ts'
import type { Saved } from '../../kernel/saved.ts'
import { feed } from './machine.ts'

export class Feeds {
  readonly actors = new ActorTable(feed)
  readonly #threads = new Lists()
  /** The numbers of the messages that mention each identity. */
  readonly #mentions = new Lists()
  #mentionCount = 0

  get parts(): Record<string, Saved> {
    return { actors: this.actors, threads: this.#threads, mentions: this.#mentions }
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
    this.#mentions.add()
  }

  /** Adds a thread to those that the identity follows; returns its index among them. */
  follow(identity: number, thread: number, position: number): number {
    this.actors.tell(identity, { type: 'followed', position })
    this.#threads.push(identity, thread)
    return this.followed(identity) - 1
  }

  /** Removes the thread at index `place`. Returns the thread that moved there, or -1. */
  unfollow(identity: number, place: number, position: number): number {
    this.actors.tell(identity, { type: 'unfollowed', position })
    return this.#threads.removeAt(identity, place)
  }

  /** Returns the number of threads that the identity follows. */
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

  /** Returns the number of messages that mention the identity. */
  mentions(identity: number): number {
    return this.#mentions.length(identity)
  }

  /** Returns the message at `index` among those that mention the identity, oldest first. */
  mentionAt(identity: number, index: number): number {
    return this.#mentions.get(identity, index)
  }

  /** Yields the threads that the identity follows. */
  *threadsOf(identity: number): Iterable<number> {
    const count = this.followed(identity)
    for (let i = 0; i < count; i++) yield this.#threads.get(identity, i)
  }
}
