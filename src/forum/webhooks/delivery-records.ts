// Records of deliveries. A delivery begins with the record of its first attempt.

import { kind, type Timed } from '../../kernel/record.ts'
import type { DeliveryEvent } from './webhook.ts'

interface OfDelivery extends Timed {
  webhook: number
  /** Position of the first message merged into it. */
  first: number
}

/** An attempt is sent only once this record is durable, so no attempt is ever forgotten. */
export interface DeliveryStarted extends OfDelivery {
  type: 'delivery.started'
  /** Position of the last message that the attempt announces. */
  through: number
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
