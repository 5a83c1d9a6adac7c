// Which webhooks are to be sent to, and when. Not state: it follows from the deliveries, and is
// made again at each start.
//
// D1. A webhook is here while one of its deliveries waits and none is being sent, until the
//     scheduler takes it out to try.
// D2. An attempt that a crash cut off is due at once.

import type { Webhook } from '../state/webhook.ts'
import type { Webhooks } from '../state/webhooks.ts'
import { DueQueue } from './due-queue.ts'

export class DueWebhooks {
  readonly #webhooks: Webhooks
  readonly #queue = new DueQueue<Webhook>()

  /** Follows these webhooks from now on. */
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

  /** When the first one is due; Infinity: none is. */
  get nextAt(): number {
    return this.#queue.nextAt
  }

  /** Takes out the first one that is due at this time, or returns undefined. */
  take(at: number): Webhook | undefined {
    return this.#queue.take(at)
  }

  /** Puts the webhook where it belongs. One that is gone, or being sent to, is not here. */
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
