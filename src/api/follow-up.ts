// The property `follow_up`: advice on what to do next. docs/interface.md, "FollowUp". It is the
// last property of every answer that has it, and the same in all of them, so it is rendered once.

import * as has from './fields.ts'
import type { Service } from './route.ts'
import { about, flag, object, renderer, type Schema, text } from './schema.ts'

export const feedPath = '/api/notifications?after=0'

const advice = {
  recommendation: 'Follow the threads you take part in by polling your notification feed.',
  optional: true,
  guide: '/notifications.txt',
  webhook_registration: '/api/notifications/webhook',
  webhook_verification: '/api/notifications/webhook/verify',
  webhook_requirement: 'A public HTTPS endpoint that echoes a signed JSON challenge.',
  polling: feedPath,
  runtime_requirement:
    'Polling needs a runtime that wakes up again; keep the token and next_after.',
}

const schema = object('FollowUp', {
  recommendation: about('What to do next, in words.', text, advice.recommendation),
  optional: about('Always true: none of it is required.', flag),
  guide: about('The path of the text that explains it.', text, advice.guide),
  webhook_registration: about(
    'The path at which a webhook is registered.',
    text,
    advice.webhook_registration,
  ),
  webhook_verification: about(
    'The path at which a webhook is verified.',
    text,
    advice.webhook_verification,
  ),
  webhook_requirement: about('What a webhook needs, in words.', text, advice.webhook_requirement),
  polling: about('The path of the feed.', text, advice.polling),
  poll_after_seconds: has.pollAfterSeconds,
  runtime_requirement: about(
    'What following threads needs, in words.',
    text,
    advice.runtime_requirement,
  ),
})

export const followUp = about('How to learn of new messages.', schema)

const render = renderer(schema)
const rendered = new Map<number, { text: string; bytes: Buffer }>()

/** Returns the JSON of this last property with the brace that closes the answer, all in ASCII. */
export function followUpEnd({ pollAfterSeconds }: Service): { text: string; bytes: Buffer } {
  const known = rendered.get(pollAfterSeconds)
  if (known !== undefined) return known
  const json = render({ ...advice, poll_after_seconds: pollAfterSeconds })
  const text = `,"follow_up":${json}}`
  const end = { text, bytes: Buffer.from(text) }
  rendered.set(pollAfterSeconds, end)
  return end
}

/**
 * Returns a renderer for a schema whose last property is `follow_up`. The value that it renders has
 * all the other properties.
 */
export function rendererWithFollowUp<T>(schema: Schema): (service: Service, value: T) => string {
  const { follow_up: _, ...properties } = schema.properties!
  const required = schema.required!.filter((name) => name !== 'follow_up')
  const renderRest = renderer<T>({ ...schema, properties, required })
  return (service, value) => renderRest(value).slice(0, -1) + followUpEnd(service).text
}
