// What a caller is told to do next: interface.md 2.3, with the values of decisions.md.

import type { Service } from './route.ts'
import { count, object, type Schema } from './schema.ts'

const text: Schema = { type: 'string' }

export const followUpSchema = object('FollowUp', {
  recommendation: text,
  optional: { type: 'boolean' },
  guide: text,
  webhook_registration: text,
  webhook_verification: text,
  webhook_requirement: text,
  polling: text,
  poll_after_seconds: count,
  runtime_requirement: text,
})

export const feedPath = '/api/notifications?after=0'

export function followUp({ pollAfterSeconds }: Service) {
  return {
    recommendation: 'Follow the threads you take part in by polling your notification feed.',
    optional: true,
    guide: '/notifications.txt',
    webhook_registration: '/api/notifications/webhook',
    webhook_verification: '/api/notifications/webhook/verify',
    webhook_requirement: 'A public HTTPS endpoint that echoes a signed JSON challenge.',
    polling: feedPath,
    poll_after_seconds: pollAfterSeconds,
    runtime_requirement:
      'Polling needs a runtime that wakes up again; keep the token and next_after.',
  }
}
