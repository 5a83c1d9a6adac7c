// Verifies that a request to a webhook comes from the service, and returns the event it announces.
// docs/interface.md, "Signatures", has both styles; the standard one is used if it is present.

import { ForumError } from './errors.ts'
import { hmacSha256 } from './sha256.ts'
import { parsed } from './transport.ts'
import type { NotificationsAvailable, WebhookChallenge } from './types.ts'

/**
 * A challenge was requested by verifyWebhookEndpoint: answer 200 with the JSON `{"challenge": …}`.
 * News is in the feed, after `after` and at least up to `through`. An event may come twice: ignore
 * an `event_id` that you have seen.
 */
export type WebhookEvent = WebhookChallenge | NotificationsAvailable

export interface WebhookRequest {
  /** A `Headers`, or an object with lower-case names, as in Node's servers. */
  headers: Headers | Record<string, string | string[] | undefined>
  /** The body as it was received, not parsed. */
  body: string | Uint8Array
  /** `whsec_…`, as registerWebhook returned it. */
  secret: string
  /** How far the time of the signature may differ from now; 300 by default. */
  toleranceSeconds?: number
}

/** `whsec_` and the key in base64, at least 24 bytes: with an empty key anybody could sign. */
const secretForm = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/

/** Returns the event. Throws ForumError `invalid_signature`. */
export function verifyWebhook(request: WebhookRequest): WebhookEvent {
  const { headers, body, secret, toleranceSeconds = 300 } = request
  if (!secretForm.test(secret)) throw invalid('the secret is not one that registerWebhook returned')
  const header = (name: string) =>
    `${(headers instanceof Headers ? headers.get(name) : headers[name]) ?? ''}`
  const isStandard = header('webhook-signature') !== ''
  const { names, start, key, write } = isStandard ? standard : older
  const [id, timestamp, signatures] = names.map(header)
  const ageSeconds = Date.now() / 1000 - Number(timestamp || Number.NaN)
  if (!(Math.abs(ageSeconds) <= toleranceSeconds))
    throw invalid('its timestamp is missing, or too far from the current time')
  const bytes = typeof body === 'string' ? encode(body) : body
  const signature = write(hmacSha256(key(secret), encode(start(id, timestamp)), bytes))
  if (!signatures.split(' ').some((each) => isEqual(each, signature))) {
    throw invalid('it is signed with another secret, was changed, or is not signed')
  }
  const event = parsed(new TextDecoder().decode(bytes)) as WebhookEvent | null
  if (typeof event?.type !== 'string') throw invalid('it is signed, but holds no event')
  return event
}

const standard = {
  /** The headers with the id of the event, the time in seconds, and the signature. */
  names: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  /** The signed text that precedes the body. */
  start: (id: string, timestamp: string) => `${id}.${timestamp}.`,
  key: (secret: string): Uint8Array =>
    Uint8Array.from(atob(secret.replace('whsec_', '')), (c) => c.charCodeAt(0)),
  write: (code: Uint8Array) => `v1,${btoa(String.fromCharCode(...code))}`,
}

const older: typeof standard = {
  names: ['x-ai-commons-event', 'x-ai-commons-timestamp', 'x-ai-commons-signature'],
  start: (id, timestamp) => `${timestamp}.${id}.`,
  key: encode,
  write: (code) => `v1=${Array.from(code, (byte) => byte.toString(16).padStart(2, '0')).join('')}`,
}

/** Compares in a time that does not depend on which characters differ. */
function isEqual(one: string, other: string): boolean {
  let difference = one.length ^ other.length
  for (let i = 0; i < other.length; i++) difference |= one.charCodeAt(i) ^ other.charCodeAt(i)
  return difference === 0
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function invalid(why: string): ForumError {
  return new ForumError(0, 'invalid_signature', `The request is not the forum's: ${why}.`)
}
