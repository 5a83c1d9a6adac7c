// A forum made directly from records, for tests of queries that need many threads and messages
// quickly.

import { apply } from '../../src/forum/apply.ts'
import type { Forum } from '../../src/forum/forum.ts'
import type { Visibility } from '../../src/forum/threads/machine.ts'
import { newWorld } from './doubles.ts'

/** No limit in these tests needs an address. */
const client = ''

/** Returns an id that begins like a random one, because hash tables use the beginning. */
function hexOf(n: number): string {
  const start = Math.imul(n, 0x9e3779b1) >>> 0
  return start.toString(16).padStart(8, '0') + n.toString(16).padStart(24, '0')
}

export interface Posted {
  seq: number
  thread: number
  author: number
  mentions: number[]
  type: string
  isErased: boolean
}

/** A forum made from records: threads by identity 0, and replies by any identity. */
export class Scene {
  readonly forum: Forum = newWorld().forum
  readonly posted: Posted[] = []
  readonly visibilities: Visibility[] = []
  /** For each identity with a tag that it follows, the number of threads when it began to. */
  readonly followedTags = new Map<string, number>()
  #at = 1000

  constructor(identities: number) {
    for (let i = 0; i < identities; i++) {
      const own = {
        id: hexOf(i),
        displayName: `A${i}`,
        tokenDigest: hexOf(i),
        expiresAt: 0,
        client,
        listed: false,
      }
      this.#apply({ type: 'identity.created', at: this.#at, kind: 'persistent', ...own })
    }
  }

  thread(visibility: Visibility, participants: number[], type = '', tags: string[] = []): void {
    const thread = this.visibilities.push(visibility) - 1
    const ids = { id: hexOf(thread), messageId: hexOf(this.posted.length) }
    const said = {
      title: 'T',
      escapedContent: '"C"',
      visibility,
      participants,
      key: `thread-${thread}`,
      client,
      mentions: [],
      messageType: type,
      tags,
    }
    const seq = this.#apply({ type: 'thread.posted', at: this.#at, by: 0, ...ids, ...said })
    this.posted.push({ seq, thread, author: 0, mentions: [], type, isErased: false })
  }

  reply(by: number, thread: number, mentions: number[] = [], type = ''): void {
    const messageId = hexOf(this.posted.length)
    const said = {
      messageId,
      escapedContent: '"C"',
      key: `reply-${this.posted.length}`,
      client,
      mentions,
      messageType: type,
    }
    const seq = this.#apply({ type: 'reply.posted', at: this.#at++, by, thread, ...said })
    this.posted.push({ seq, thread, author: by, mentions, type, isErased: false })
  }

  tag(thread: number, tags: string[]): void {
    this.#apply({ type: 'thread.tagged', at: this.#at, by: 0, thread, tags })
  }

  followTag(by: number, tag: string): void {
    const { feeds, tags, threads } = this.forum.state
    if (feeds.followsTag(by, tags.find(tag))) return
    this.#apply({ type: 'tag.subscribed', at: this.#at, by, tag })
    this.followedTags.set(`${by} ${tag}`, threads.count)
  }

  /** Returns the tag because of which a message is in the feed of an identity, if it is. */
  followedTag(by: number, message: Posted): string | undefined {
    const { threads, tags } = this.forum.state
    const { thread } = message
    const isFirst = this.posted.find((each) => each.thread === thread) === message
    if (!isFirst || !threads.isPublic(thread)) return undefined
    const from = (tag: string) => this.followedTags.get(`${by} ${tag}`) ?? threads.count
    return tags.of(thread).find((tag) => thread >= from(tag))
  }

  unfollowTag(by: number, tag: string): void {
    if (!this.followedTags.delete(`${by} ${tag}`)) return
    this.#apply({ type: 'tag.unsubscribed', at: this.#at, by, tag })
  }

  /** Removes the message with this number. */
  erase(message: number): void {
    if (this.posted[message].isErased) return
    this.#apply({ type: 'message.erased', at: this.#at, message, reason: '' })
    this.posted[message].isErased = true
  }

  subscribe(by: number, thread: number): void {
    this.#apply({ type: 'thread.subscribed', at: this.#at, by, thread })
  }

  unsubscribe(by: number, thread: number): void {
    if (!this.forum.state.subscriptions.mayUnfollow(by, thread)) return
    this.#apply({ type: 'thread.unsubscribed', at: this.#at, by, thread })
  }

  /** Ends a thread, and erases its messages. */
  expire(thread: number): void {
    const { threads } = this.forum.state
    if (threads.isExpired(thread)) return
    this.#apply({ type: 'thread.expired', at: this.#at, thread })
    const messages = threads.messageCount(thread)
    this.#apply({ type: 'thread.erased', at: this.#at, thread, messages })
  }

  #apply(record: Parameters<typeof apply>[2]): number {
    const position = this.forum.state.position + 1
    apply(this.forum.state, position, record)
    return position
  }
}
