// Feeds: for each identity an actor (forum/feed/machine.ts), the list of the threads that it
// follows now, the list of the tags that it follows now, and the list of the messages that mention
// it.
//
// F1. The length of an identity's list of threads equals its actor's `following`.
// F2. An identity's list of mentions contains each message once, oldest first, and none that the
//     identity wrote.
// F3. The list of an identity's tags has pairs: the number of a tag, and that of the first thread
//     that counts. The identity began to follow the tag before this thread was created.

import { ActorTable } from '../../kernel/actor-table.ts'
import { Lists } from '../../kernel/columns/lists.ts'
import type { Saved } from '../../kernel/saved.ts'
import { tagTopic, threadTopic } from '../../kernel/topics.ts'
import { feed } from './machine.ts'

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

  /** Removes the thread at index `place`. Returns the thread that moved there, or -1. */
  unfollow(identity: number, place: number, position: number): number {
    this.actors.tell(identity, { type: 'unfollowed', position })
    return this.#threads.removeAt(identity, place)
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

  *threadsOf(identity: number): Iterable<number> {
    const count = this.followed(identity)
    for (let i = 0; i < count; i++) yield this.#threads.get(identity, i)
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
