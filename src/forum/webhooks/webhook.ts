// A webhook: the endpoint of one identity, its actor (forum/webhooks/machine.ts), and the delivery
// that is not finished.

import type { ContextIn, EventIn, StateIn } from '../../kernel/actor.ts'
import { ActorObjects } from '../../kernel/actor-objects.ts'
import type { Actor } from '../../kernel/compile.ts'
import { delivery as deliveryKind } from './delivery.ts'
import { webhook as webhookKind } from './machine.ts'

export const webhookActors = new ActorObjects(webhookKind)
export const deliveryActors = new ActorObjects(deliveryKind)

export type WebhookEvent = EventIn<typeof webhookKind>
export type Delivery = Actor<ContextIn<typeof deliveryKind>>
export type DeliveryEvent = EventIn<typeof deliveryKind>
/** The states of deliveries, all of which have begun. */
export type DeliveryState = Exclude<StateIn<typeof deliveryKind>, 'none'>

export interface NewWebhook {
  owner: number
  /** 32 hex characters. */
  id: string
  /** The URL exactly as the caller sent it. */
  endpoint: string
  /** The signing secret, encrypted (forum/webhooks/commands.ts). */
  sealed: Uint8Array
}

export interface Webhook extends NewWebhook {
  /** The index of its registration among all registrations of the log. */
  number: number
  /** Position of the record that registered it. */
  position: number
  actor: Actor<ContextIn<typeof webhookKind>>
  /** The owner is not woken for messages up to this position: they are older, or were announced. */
  announced: number
  /** The delivery that is pending or being sent, if there is one. */
  delivery: Delivery | null
  /** The newest receipt (delivery-receipts.ts), or `noReceipt`. */
  receipt: number
  /** Position of the last record that changed what its owner sees, or 0 if it is durable. */
  changed: number
}

export function deliveryState(delivery: Delivery): DeliveryState {
  return deliveryActors.state(delivery) as DeliveryState
}

export function isOpen(delivery: Delivery): boolean {
  return ['pending', 'sending'].includes(deliveryState(delivery))
}

/** Returns whether an attempt to wake this webhook is in progress. */
export function isSending({ delivery }: Webhook): boolean {
  return delivery !== null && deliveryState(delivery) === 'sending'
}

/**
 * A webhook as a row of a checkpoint. It ends with the rows of its actors
 * (kernel/actor-objects.ts).
 */
export type WebhookRow = [
  number: number,
  owner: number,
  id: string,
  endpoint: string,
  sealed: Uint8Array,
  position: number,
  announced: number,
  receipt: number,
  delivery: unknown[] | null,
  ...actor: unknown[],
]

export function webhookRow({ actor, delivery, ...webhook }: Webhook): WebhookRow {
  const { number, owner, id, endpoint, sealed, position, announced, receipt } = webhook
  const open = delivery && deliveryActors.rowOf(delivery)
  const about = [number, owner, id, endpoint, sealed, position, announced, receipt] as const
  return [...about, open, ...webhookActors.rowOf(actor)]
}

/** Restores webhooks, by number, from rows in any order. */
export function webhooksFrom(rows: unknown[]): Webhook[] {
  return (rows as WebhookRow[])
    .sort(([a], [b]) => a - b)
    .map(([number, owner, id, endpoint, sealed, position, announced, receipt, open, ...actor]) => ({
      ...{ number, owner, id, endpoint, sealed, position, announced, receipt },
      actor: webhookActors.ofRow(actor),
      delivery: open && deliveryActors.ofRow(open),
      changed: 0,
    }))
}
