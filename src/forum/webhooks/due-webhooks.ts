// The queue of webhooks that may have to be woken, by the time at which each is due. It is not
// state: the node that decides derives it from the webhooks, and from the news of each message.
//
//   news of a topic ──▶ topics ──a few followers at a time──▶ webhooks that are due ──▶ take
//   a node begins to decide, a delivery ends or is retried ───────────▲
//
// D1. A webhook is queued when its feed may have something that has not been announced, unless an
//     attempt is in progress, and when its delivery waits for its next attempt. Its feed is
//     searched only when it is taken (deliveries.ts), so a queued webhook may need no wakeup.
// D2. When a node begins to decide, all active webhooks are queued. Those whose attempts another
//     process was making stay queued until these are begun again. A node that does not decide
//     queues nothing.
// D3. Publishing adds the topic of the message, and costs the same whatever follows it. The
//     followers are looked at afterwards, at most `followersPerStep` in each step.

import { Heap, type HeapEntry } from '../../base/heap.ts'
import { feedOf } from '../../kernel/topics.ts'
import type { Webhooks } from './table.ts'
import { isSending, type Webhook } from './webhook.ts'

/** The key of a webhook that is due at once; an interrupted attempt keeps it (D2). */
const atOnce = 0
const followersPerStep = 256

/** A queued webhook. Its key is when it is due, in milliseconds since the epoch. */
interface Due extends HeapEntry {
  webhook: Webhook
}

export class DueWebhooks {
  readonly #webhooks: Webhooks
  readonly #due = new Map<Webhook, Due>()
  readonly #heap = new Heap<Due>()
  /** Topics with news whose followers have not been looked at. */
  readonly #topics = new Set<number>()
  /** The followers of the topic that is being looked at. */
  #followers: Iterator<number> | null = null
  #isDeciding = false

  constructor(webhooks: Webhooks) {
    this.#webhooks = webhooks
    webhooks.onDelivery = (webhook) => this.plan(webhook)
  }

  /** Queues webhooks from now on, and what is due already (D2). */
  resume(): void {
    this.#isDeciding = true
    for (const webhook of this.#webhooks.all()) {
      if (isSending(webhook)) this.#set(webhook, atOnce)
      else this.plan(webhook)
    }
  }

  get size(): number {
    return this.#heap.size
  }

  /** When there is something to take or to look at; Infinity if there is nothing. */
  get nextAt(): number {
    if (this.#followers !== null || this.#topics.size > 0) return atOnce
    return this.#heap.size === 0 ? Number.POSITIVE_INFINITY : this.#heap.first.key
  }

  /** Notes news of a topic (kernel/topics.ts). */
  note(topic: number): void {
    if (!this.#isDeciding) return
    const identity = feedOf(topic)
    const isWaking =
      identity === -1
        ? this.#webhooks.followersOf(topic).size > 0
        : this.#webhooks.of(identity) !== undefined
    if (isWaking) this.#topics.add(topic)
  }

  /**
   * Removes and returns the first webhook if it is due at this time; otherwise undefined. Does at
   * most one step through the followers of topics (D3).
   */
  take(at: number): Webhook | undefined {
    if (this.#heap.size === 0 || this.#heap.first.key > at) this.#lookAtFollowers()
    if (this.#heap.size === 0 || this.#heap.first.key > at) return undefined
    const { webhook } = this.#heap.first
    this.#delete(webhook)
    return webhook
  }

  /** Queues the webhook if D1 applies, and removes it otherwise. */
  plan(webhook: Webhook): void {
    if (!this.#isDeciding) return
    const isThere = this.#webhooks.get(webhook.number) === webhook
    if (isThere && isSending(webhook)) {
      const isInterrupted = this.#due.get(webhook)?.key === atOnce
      if (!isInterrupted) this.#delete(webhook)
    } else if (isThere && this.#webhooks.isActive(webhook)) {
      this.#set(webhook, webhook.delivery?.context.nextAttemptAt ?? atOnce)
    } else this.#delete(webhook)
  }

  #lookAtFollowers(): void {
    for (let n = 0; n < followersPerStep; n++) {
      if (this.#followers === null) {
        const [topic] = this.#topics
        if (topic === undefined) return
        this.#topics.delete(topic)
        const identity = feedOf(topic)
        const followers = identity === -1 ? this.#webhooks.followersOf(topic) : [identity]
        this.#followers = followers[Symbol.iterator]()
      }
      const next = this.#followers.next()
      if (next.done === true) this.#followers = null
      else this.#noteNews(this.#webhooks.of(next.value))
    }
  }

  /** A delivery that waits, or is being sent, is followed by a look at the feed anyway. */
  #noteNews(webhook: Webhook | undefined): void {
    if (webhook !== undefined && webhook.delivery === null) this.plan(webhook)
  }

  #set(webhook: Webhook, at: number): void {
    const due = this.#due.get(webhook)
    if (due === undefined) {
      const added = { key: at, heapIndex: 0, webhook }
      this.#due.set(webhook, added)
      this.#heap.add(added)
    } else if (due.key !== at) {
      due.key = at
      this.#heap.moved(due)
    }
  }

  #delete(webhook: Webhook): void {
    const due = this.#due.get(webhook)
    if (due === undefined) return
    this.#due.delete(webhook)
    this.#heap.delete(due)
  }
}
