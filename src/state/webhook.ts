// A webhook: the endpoint of one identity, its actor (actors/webhook.ts) and its deliveries.

import type { ContextIn, EventIn } from '../actors/actor.ts'
import type { Actor } from '../actors/compile.ts'
import { webhook as webhookKind } from '../actors/webhook.ts'
import { ActorObjects } from './actor-objects.ts'
import type { Delivery } from './deliveries-by-age.ts'

export const webhookActors = new ActorObjects(webhookKind)

export type WebhookEvent = EventIn<typeof webhookKind>

export interface NewWebhook {
  owner: number
  /** 32 hex characters. */
  id: string
  /** The URL exactly as the caller sent it. */
  endpoint: string
  /** The signing secret, encrypted (forum/webhooks.ts). */
  sealed: Uint8Array
}

export interface Webhook extends NewWebhook {
  /** The index of its registration among all registrations of the log. */
  number: number
  /** Position of the record that registered it. */
  position: number
  actor: Actor<ContextIn<typeof webhookKind>>
  /** Ordered by the position of their first message. */
  deliveries: Delivery[]
  open: Delivery[]
}
