// All deliveries, oldest first, with whose they are, and which are old enough to be forgotten.
//
// Deliveries that one message queued are equally old, and are forgotten together: what a checkpoint
// gives back knows no order among them.

import type { ContextIn, EventIn, StateIn } from '../actors/actor.ts'
import type { Actor } from '../actors/compile.ts'
import { delivery } from '../actors/delivery.ts'
import { ActorObjects } from './actor-objects.ts'

export const retentionMs = 7 * 24 * 3_600_000

export const deliveryActors = new ActorObjects(delivery)

export type Delivery = Actor<ContextIn<typeof delivery>>
export type DeliveryEvent = EventIn<typeof delivery>
/** A delivery that is kept has been queued. */
export type DeliveryState = Exclude<StateIn<typeof delivery>, 'none'>

const { pending, sending } = delivery.codes

/** Whether it is not finished. */
export function isOpen({ state }: Delivery): boolean {
  return state === pending || state === sending
}

/** Whether an attempt is being made now. */
export function isSending({ state }: Delivery): boolean {
  return state === sending
}

export class DeliveriesByAge<Webhook> {
  readonly #webhooks = new Map<Delivery, Webhook>()

  /** Adds one that is not older than those there are. */
  add(delivery: Delivery, webhook: Webhook): void {
    this.#webhooks.set(delivery, webhook)
  }

  /** Oldest first. */
  all(): Iterator<Delivery> {
    return this.#webhooks.keys()
  }

  /** Whose it is, while it is kept. */
  webhookOf(delivery: Delivery): Webhook {
    return this.#webhooks.get(delivery)!
  }

  delete(delivery: Delivery): void {
    this.#webhooks.delete(delivery)
  }

  /** The finished ones that have been kept for long enough at this time. */
  *expired(at: number): Iterable<[Delivery, Webhook]> {
    for (const entry of this.#webhooks) {
      if (entry[0].context.createdAt + retentionMs > at) return
      if (!isOpen(entry[0])) yield entry
    }
  }

  /** The first message of the `most`-th of those, or of the last one; 0: there is none. */
  expiredThrough(at: number, most: number): number {
    let [count, through] = [0, 0]
    for (const [{ context }] of this.expired(at)) {
      through = context.first
      count += 1
      if (count === most) break
    }
    return through
  }
}
