// Records of webhooks: registration, verification and removal; and of deliveries, each of which
// begins with the record of its first attempt.

import { field, kind, number, text } from '../../kernel/record.ts'
import type { State } from '../state.ts'
import type { DeliveryEvent } from './webhook.ts'

export const webhookRecords = {
  'webhook.registered': kind({
    code: 20,
    version: 1,
    fields: {
      by: number,
      id: text,
      /** The URL exactly as the caller sent it. */
      endpoint: text,
      /** The signing secret, encrypted (forum/webhooks/commands.ts). */
      sealed: field<Uint8Array>(),
      key: text,
    },
    apply(state, position, { by, id, endpoint, sealed, key, at }) {
      const webhook = { owner: by, id, endpoint, sealed }
      state.webhooks.register(webhook, position, at, state.feeds.topicsOf(by))
      state.receipts.add(by, key, 'webhook', state.webhooks.registrations - 1, at)
      state.quotas.count('webhooks', { by, client: '', at })
    },
  }),

  'webhook.verified': kind({
    code: 21,
    version: 1,
    fields: { webhook: number },
    apply(state, position, { webhook: number, at }) {
      const webhook = state.webhooks.get(number)!
      const followed = state.feeds.topicsOf(webhook.owner)
      state.webhooks.verify(webhook, position, at, followed)
      state.quotas.count('verifications', { by: webhook.owner, client: '', at })
    },
  }),

  'webhook.verify_failed': kind({
    code: 22,
    version: 1,
    fields: { webhook: number, error: text },
    apply(state, position, { webhook: number, error, at }) {
      const webhook = state.webhooks.get(number)!
      state.webhooks.noteFailedVerification(webhook, position, error)
      state.quotas.count('verifications', { by: webhook.owner, client: '', at })
    },
  }),

  'webhook.removed': kind({
    code: 23,
    version: 1,
    fields: { webhook: number },
    apply: (state, position, { webhook }) =>
      removeWebhookOf(state, state.webhooks.get(webhook)!.owner, position),
  }),

  /**
   * The oldest webhooks whose time for verification has ended by this record's time are removed.
   */
  'webhooks.lapsed': kind({
    code: 24,
    version: 1,
    fields: {
      /** The limit of webhooks that this record removes. */
      most: number,
    },
    apply: (state, position, { at, most }) => state.webhooks.lapse(position, at, most),
  }),
}

/** Removes an identity's webhook, if it has one. */
export function removeWebhookOf(state: State, identity: number, position: number): void {
  const webhook = state.webhooks.of(identity)
  if (webhook === undefined) return
  state.webhooks.remove(webhook, position, state.feeds.topicsOf(identity))
}

export const deliveryRecords = {
  /** An attempt is sent only once this record is durable, so no attempt is ever forgotten. */
  'delivery.started': kind({
    code: 25,
    version: 1,
    fields: {
      webhook: number,
      /** Position of the first message merged into it. */
      first: number,
      /** Position of the last message that the attempt announces. */
      through: number,
    },
    apply({ webhooks }, position, { webhook, first, through, at }) {
      webhooks.tell(
        webhooks.get(webhook)!,
        first,
        { type: 'started', first, through, at },
        position,
      )
    },
  }),

  'delivery.finished': kind({
    code: 26,
    version: 1,
    fields: {
      webhook: number,
      /** Position of the first message merged into it. */
      first: number,
      outcome: field<'delivered' | 'retried' | 'failed' | 'cancelled'>(),
      /** The HTTP status of the receiver's response, or 0 if there was none. */
      status: number,
      /** The error code, or '' if there was none. */
      error: text,
      /** When to try again, in milliseconds since the epoch, jitter included; 0: never. */
      nextAttemptAt: number,
    },
    apply({ webhooks }, position, record) {
      webhooks.tell(webhooks.get(record.webhook)!, record.first, eventOf(record), position)
    },
  }),
}

type Finished = Parameters<(typeof deliveryRecords)['delivery.finished']['apply']>[2]

function eventOf({ outcome, at, status, error, nextAttemptAt }: Finished): DeliveryEvent {
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
