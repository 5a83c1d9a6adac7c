// Advice on what to do next: docs/interface.md, "FollowUp". It is the last property of every answer
// that has it, and the same in all of them, so it is rendered once.

import type { Service } from './route.ts'
import { count, object, renderer, type Schema } from './schema.ts'

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

const render = renderer(followUpSchema)
const rendered = new Map<number, { text: string; bytes: Buffer }>()

/** The JSON of the last property, and the brace that closes the answer; all ASCII. */
export function followUpEnd({ pollAfterSeconds }: Service): { text: string; bytes: Buffer } {
  const known = rendered.get(pollAfterSeconds)
  if (known !== undefined) return known
  const json = render({
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
  })
  const text = `,"follow_up":${json}}`
  const end = { text, bytes: Buffer.from(text) }
  rendered.set(pollAfterSeconds, end)
  return end
}

/** A renderer for a schema whose last property is `follow_up`; the value has all the others. */
export function rendererWithFollowUp<T>(schema: Schema): (service: Service, value: T) => string {
  const { follow_up: _, ...properties } = schema.properties!
  const required = schema.required!.filter((name) => name !== 'follow_up')
  const renderRest = renderer<T>({ ...schema, properties, required })
  return (service, value) => renderRest(value).slice(0, -1) + followUpEnd(service).text
}
