// Which webhooks have a delivery to attempt, and when. This is not state: it is derived from the
// deliveries, and rebuilt at each start.
//
// D1. A webhook is queued while one of its deliveries is pending and none is being sent, until the
//     scheduler takes it for an attempt.
// D2. An attempt that a crash interrupted is due at once.

import type { Webhook } from '../state/webhook.ts'
import type { Webhooks } from '../state/webhooks.ts'
import { DueQueue } from './due-queue.ts'

export class DueWebhooks {
  readonly #webhooks: Webhooks
  readonly #queue = new DueQueue<Webhook>()

  /** Tracks these webhooks from now on. */
  constructor(webhooks: Webhooks) {
    this.#webhooks = webhooks
    webhooks.onDeliveries = (webhook) => this.plan(webhook)
    for (const webhook of webhooks.all()) {
      if (this.#isSending(webhook)) this.#queue.set(webhook, 0)
      else this.plan(webhook)
    }
  }

  get size(): number {
    return this.#queue.size
  }

  /** When the first webhook is due; Infinity when none is. */
  get nextAt(): number {
    return this.#queue.nextAt
  }

  /** Removes and returns the first webhook if it is due at this time; otherwise undefined. */
  take(at: number): Webhook | undefined {
    return this.#queue.take(at)
  }

  /** Queues the webhook by its next delivery, or removes it where D1 does not hold. */
  plan(webhook: Webhook): void {
    const isThere = this.#webhooks.get(webhook.number) === webhook
    const next = isThere ? this.#webhooks.next(webhook) : undefined
    if (next === undefined || this.#isSending(webhook)) this.#queue.delete(webhook)
    else this.#queue.set(webhook, next.context.nextAttemptAt)
  }

  #isSending(webhook: Webhook): boolean {
    return webhook.open.some((delivery) => this.#webhooks.state(delivery) === 'sending')
  }
}
