// Records of webhooks: registration, verification and removal; and of deliveries, each of which
// begins with the record of its first attempt.

import { kind, type Timed } from '../../kernel/record.ts'
import type { State } from '../state.ts'
import type { DeliveryEvent } from './webhook.ts'

interface WebhookRegistered extends Timed {
  type: 'webhook.registered'
  by: number
  id: string
  /** The URL exactly as the caller sent it. */
  endpoint: string
  /** The signing secret, encrypted (forum/webhooks/commands.ts). */
  sealed: Uint8Array
  key: string
}

/** A record about one webhook: that of the n-th registration, counted from 0. */
interface OfWebhook extends Timed {
  webhook: number
}

interface WebhookVerified extends OfWebhook {
  type: 'webhook.verified'
}

interface WebhookVerifyFailed extends OfWebhook {
  type: 'webhook.verify_failed'
  error: string
}

interface WebhookRemoved extends OfWebhook {
  type: 'webhook.removed'
}

/** The oldest webhooks whose time for verification has ended by this record's time are removed. */
interface WebhooksLapsed extends Timed {
  type: 'webhooks.lapsed'
  /** The limit of webhooks that this record removes. */
  most: number
}

export const webhookRecords = {
  'webhook.registered': kind<WebhookRegistered>({
    code: 20,
    version: 1,
    fields: { by: true, id: true, endpoint: true, sealed: true, key: true },
    apply(state, position, { by, id, endpoint, sealed, key, at }) {
      const webhook = { owner: by, id, endpoint, sealed }
      state.webhooks.register(webhook, position, at, state.feeds.topicsOf(by))
      state.receipts.add(by, key, 'webhook', state.webhooks.registrations - 1, at)
      state.quotas.count('webhooks', { by, client: '', at })
    },
  }),

  'webhook.verified': kind<WebhookVerified>({
    code: 21,
    version: 1,
    fields: { webhook: true },
    apply(state, position, { webhook: number, at }) {
      const webhook = state.webhooks.get(number)!
      const followed = state.feeds.topicsOf(webhook.owner)
      state.webhooks.verify(webhook, position, at, followed)
      state.quotas.count('verifications', { by: webhook.owner, client: '', at })
    },
  }),

  'webhook.verify_failed': kind<WebhookVerifyFailed>({
    code: 22,
    version: 1,
    fields: { webhook: true, error: true },
    apply(state, position, { webhook: number, error, at }) {
      const webhook = state.webhooks.get(number)!
      state.webhooks.noteFailedVerification(webhook, position, error)
      state.quotas.count('verifications', { by: webhook.owner, client: '', at })
    },
  }),

  'webhook.removed': kind<WebhookRemoved>({
    code: 23,
    version: 1,
    fields: { webhook: true },
    apply: (state, position, { webhook }) =>
      removeWebhookOf(state, state.webhooks.get(webhook)!.owner, position),
  }),

  'webhooks.lapsed': kind<WebhooksLapsed>({
    code: 24,
    version: 1,
    fields: { most: true },
    apply: (state, position, { at, most }) => state.webhooks.lapse(position, at, most),
  }),
}

/** Removes an identity's webhook, if it has one. */
export function removeWebhookOf(state: State, identity: number, position: number): void {
  const webhook = state.webhooks.of(identity)
  if (webhook === undefined) return
  state.webhooks.remove(webhook, position, state.feeds.topicsOf(identity))
}

interface OfDelivery extends Timed {
  webhook: number
  /** Position of the first message merged into it. */
  first: number
}

/** An attempt is sent only once this record is durable, so no attempt is ever forgotten. */
interface DeliveryStarted extends OfDelivery {
  type: 'delivery.started'
  /** Position of the last message that the attempt announces. */
  through: number
}

interface DeliveryFinished extends OfDelivery {
  type: 'delivery.finished'
  outcome: 'delivered' | 'retried' | 'failed' | 'cancelled'
  /** The HTTP status of the receiver's response, or 0 if there was none. */
  status: number
  /** The error code, or '' if there was none. */
  error: string
  /** When to try again, in milliseconds since the epoch, jitter included; 0: never. */
  nextAttemptAt: number
}

export const deliveryRecords = {
  'delivery.started': kind<DeliveryStarted>({
    code: 25,
    version: 1,
    fields: { webhook: true, first: true, through: true },
    apply({ webhooks }, position, { webhook, first, through, at }) {
      webhooks.tell(
        webhooks.get(webhook)!,
        first,
        { type: 'started', first, through, at },
        position,
      )
    },
  }),

  'delivery.finished': kind<DeliveryFinished>({
    code: 26,
    version: 1,
    fields: {
      webhook: true,
      first: true,
      outcome: true,
      status: true,
      error: true,
      nextAttemptAt: true,
    },
    apply({ webhooks }, position, record) {
      webhooks.tell(webhooks.get(record.webhook)!, record.first, eventOf(record), position)
    },
  }),
}

function eventOf({ outcome, at, status, error, nextAttemptAt }: DeliveryFinished): DeliveryEvent {
  switch (outcome) {
    case 'delivered':
      return { type: 'delivered', at, status }
    case 'retried':
      return { type: 'retried', status, error, nextAttemptAt }
    case 'failed':
      return { type: 'failed', status, error }
    case 'cancelled':
      return { type: 'cancelled' }
  }
}
