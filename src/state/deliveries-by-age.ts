// All deliveries, oldest first, each with its webhook. Finds the ones whose retention has ended.
//
// Deliveries that were queued by the same message are equally old and are removed together, because
// a checkpoint does not preserve the order among them.

import type { ContextIn, EventIn, StateIn } from '../actors/actor.ts'
import type { Actor } from '../actors/compile.ts'
import { delivery } from '../actors/delivery.ts'
import { ActorObjects } from './actor-objects.ts'

export const retentionMs = 7 * 24 * 3_600_000

export const deliveryActors = new ActorObjects(delivery)

export type Delivery = Actor<ContextIn<typeof delivery>>
export type DeliveryEvent = EventIn<typeof delivery>
/** The states of kept deliveries, all of which have been queued. */
export type DeliveryState = Exclude<StateIn<typeof delivery>, 'none'>

const { pending, sending } = delivery.codes

/** Returns whether the delivery is unfinished. */
export function isOpen({ state }: Delivery): boolean {
  return state === pending || state === sending
}

/** Returns whether an attempt is in progress. */
export function isSending({ state }: Delivery): boolean {
  return state === sending
}

export class DeliveriesByAge<Webhook> {
  readonly #webhooks = new Map<Delivery, Webhook>()

  /** Adds a delivery that is at least as new as all others. */
  add(delivery: Delivery, webhook: Webhook): void {
    this.#webhooks.set(delivery, webhook)
  }

  /** Returns an iterator over all deliveries, oldest first. */
  all(): Iterator<Delivery> {
    return this.#webhooks.keys()
  }

  /** Returns the webhook of a delivery that is kept. */
  webhookOf(delivery: Delivery): Webhook {
    return this.#webhooks.get(delivery)!
  }

  delete(delivery: Delivery): void {
    this.#webhooks.delete(delivery)
  }

  /** Yields the finished deliveries whose retention has ended by `at`, each with its webhook. */
  *expired(at: number): Iterable<[Delivery, Webhook]> {
    for (const entry of this.#webhooks) {
      if (entry[0].context.createdAt + retentionMs > at) return
      if (!isOpen(entry[0])) yield entry
    }
  }

  /**
   * Returns the position of the first message of the `most`-th expired delivery, or of the last one
   * if there are fewer, or 0 if there are none.
   */
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
