// Records of deliveries. Queueing one needs no record: that of its message does it (posts.ts).

import type { DeliveryEvent } from '../../state/deliveries-by-age.ts'
import { kind, type Timed } from './kind.ts'

interface OfDelivery extends Timed {
  /** The number of the webhook. */
  webhook: number
  /** Position of the first message merged into it. */
  first: number
}

/** An attempt is sent only once this record is durable, so no attempt is ever forgotten. */
export interface DeliveryStarted extends OfDelivery {
  type: 'delivery.started'
}

export interface DeliveryFinished extends OfDelivery {
  type: 'delivery.finished'
  outcome: 'delivered' | 'retried' | 'failed' | 'cancelled'
  /** The HTTP status of the receiver's response, or 0 if there was none. */
  status: number
  /** The error code, or '' if there was none. */
  error: string
  /** When to try again, in milliseconds since the epoch, jitter included; 0: never. */
  nextAttemptAt: number
}

/** Finished deliveries whose retention has ended by this record's time are removed. */
export interface DeliveriesExpired extends Timed {
  type: 'deliveries.expired'
  /** The limit: only deliveries whose first message has at most this position are removed. */
  through: number
}

export const deliveryRecords = {
  'delivery.started': kind<DeliveryStarted>({
    code: 25,
    version: 1,
    fields: ['webhook', 'first'],
    apply({ webhooks }, position, { webhook, first }) {
      webhooks.tell(webhooks.get(webhook)!, first, { type: 'started' }, position)
    },
  }),

  'delivery.finished': kind<DeliveryFinished>({
    code: 26,
    version: 1,
    fields: ['webhook', 'first', 'outcome', 'status', 'error', 'nextAttemptAt'],
    apply({ webhooks }, position, record) {
      webhooks.tell(webhooks.get(record.webhook)!, record.first, eventOf(record), position)
    },
  }),

  'deliveries.expired': kind<DeliveriesExpired>({
    code: 27,
    version: 1,
    fields: ['through'],
    apply: ({ webhooks }, position, { at, through }) =>
      webhooks.expireDeliveries(position, at, through),
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
