// The queue of webhooks with a delivery to attempt, by the time at which it is due. It is not
// state: it is derived from the deliveries, and made at each start.
//
// D1. A webhook is queued while one of its deliveries is pending and none is being sent, until the
//     scheduler takes it for an attempt.
// D2. When a node begins to decide, attempts that another process was making are due at once, and
//     stay queued until they are begun again, whatever else is queued in the meantime. While it
//     follows, the attempts that it reads of are those of the leader.

import { Heap, type HeapEntry } from '../base/heap.ts'
import type { Webhook } from '../state/webhook.ts'
import type { Webhooks } from '../state/webhooks.ts'

/** The key of a webhook whose attempt was interrupted (D2). */
const atOnce = 0

/** A queued webhook. Its key is when it is due, in milliseconds since the epoch. */
interface Due extends HeapEntry {
  webhook: Webhook
}

export class DueWebhooks {
  readonly #webhooks: Webhooks
  readonly #due = new Map<Webhook, Due>()
  readonly #heap = new Heap<Due>()

  /** Tracks these webhooks from now on. */
  constructor(webhooks: Webhooks) {
    this.#webhooks = webhooks
    webhooks.onDeliveries = (webhook) => this.plan(webhook)
    for (const webhook of webhooks.all()) this.plan(webhook)
  }

  /** Queues the webhooks whose attempts were interrupted (D2). Call it before any is begun here. */
  resume(): void {
    for (const webhook of this.#webhooks.all()) {
      if (this.#isSending(webhook)) this.#set(webhook, atOnce)
    }
  }

  get size(): number {
    return this.#heap.size
  }

  /** When the first webhook is due; Infinity if none is. */
  get nextAt(): number {
    return this.#heap.size === 0 ? Number.POSITIVE_INFINITY : this.#heap.first.key
  }

  /** Removes and returns the first webhook if it is due at this time; otherwise undefined. */
  take(at: number): Webhook | undefined {
    if (this.nextAt > at) return undefined
    const { webhook } = this.#heap.first
    this.#delete(webhook)
    return webhook
  }

  /** Queues the webhook by its next delivery, or removes it if neither D1 nor D2 applies. */
  plan(webhook: Webhook): void {
    const isThere = this.#webhooks.get(webhook.number) === webhook
    const next = isThere ? this.#webhooks.next(webhook) : undefined
    if (next !== undefined && !this.#isSending(webhook)) {
      this.#set(webhook, next.context.nextAttemptAt)
      return
    }
    const isInterrupted = next !== undefined && this.#due.get(webhook)?.key === atOnce
    if (!isInterrupted) this.#delete(webhook)
  }

  #set(webhook: Webhook, at: number): void {
    const due = this.#due.get(webhook)
    if (due === undefined) {
      const added = { key: at, place: 0, webhook }
      this.#due.set(webhook, added)
      this.#heap.add(added)
    } else {
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

  #isSending(webhook: Webhook): boolean {
    return webhook.open.some((delivery) => this.#webhooks.state(delivery) === 'sending')
  }
}
