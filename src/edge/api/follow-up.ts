// The property `follow_up`: advice on what to do next. docs/interface.md, "FollowUp". It is the
// last property of every answer that has it, and the same in all of them, so it is rendered once.
// Callers that prefer `return=minimal` get the answer without it (RFC 7240).

import * as has from './fields.ts'
import type { Call, Route, Service } from './route.ts'
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

export const followUp = about(
  'How to learn of new messages; absent if the caller prefers `return=minimal`.',
  schema,
)

type AnyCall = Pick<Call<unknown, unknown>, 'isMinimal'>

const render = renderer(schema)
const rendered = new Map<number, End>()
const brace = endOf('}')

/**
 * Returns the end of an answer, in ASCII: this last property, unless the caller prefers an answer
 * without it, and the brace that closes the answer.
 */
export function followUpEnd({ pollAfterSeconds }: Service, isMinimal: boolean): End {
  if (isMinimal) return brace
  const known = rendered.get(pollAfterSeconds)
  if (known !== undefined) return known
  const json = render({ ...advice, poll_after_seconds: pollAfterSeconds })
  const end = endOf(`,"follow_up":${json}}`)
  rendered.set(pollAfterSeconds, end)
  return end
}

interface End {
  text: string
  bytes: Buffer
}

function endOf(text: string): End {
  return { text, bytes: Buffer.from(text) }
}

/** Returns the header lines of an answer that has `follow_up`, or had it without the preference. */
export function preferenceApplied({ isMinimal }: AnyCall): string | undefined {
  return isMinimal ? '\r\nPreference-Applied: return=minimal' : undefined
}

/** Returns whether answers of the route, or those in them, have `follow_up`. */
export function hasFollowUp({ answers, isBatch }: Pick<Route, 'answers' | 'isBatch'>): boolean {
  if (isBatch === true) return true
  return Object.values(answers).some(({ properties }) => properties?.follow_up !== undefined)
}

/**
 * Returns a renderer for a schema whose last property is `follow_up`. The value that it renders has
 * all the other properties.
 */
export function rendererWithFollowUp<T>(
  schema: Schema,
): (service: Service, call: AnyCall, value: T) => string {
  const { follow_up: _, ...properties } = schema.properties!
  const renderRest = renderer<T>({ ...schema, properties })
  return (service, { isMinimal }, value) => {
    return renderRest(value).slice(0, -1) + followUpEnd(service, isMinimal).text
  }
}
