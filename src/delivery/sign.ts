// Signs requests to webhooks, in two styles over the same bytes:
//
//   Standard Webhooks   webhook-signature: v1,<base64>, of "id.timestamp.body";
//                       the key is the secret's part after whsec_, base64-decoded
//   the older header    X-AI-Commons-Signature: v1=<hex>, of "timestamp.id.body";
//                       the key is the whole secret as text
//
// Both are HMAC-SHA256. Timestamps are seconds since the epoch.

import { createHmac } from 'node:crypto'

/** A request to an endpoint. */
export interface Post {
  endpoint: string
  /** `whsec_…` */
  secret: string
  /** `evt_…`: the same when the request is sent again. */
  eventId: string
  /** JSON. */
  body: string
}

/** The headers of both styles; `timestamp` is in seconds since the epoch. */
export function signatureHeaders(
  { secret, eventId, body }: Post,
  timestamp: number,
): Record<string, string> {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const standard = createHmac('sha256', key).update(`${eventId}.${timestamp}.${body}`)
  const older = createHmac('sha256', secret).update(`${timestamp}.${eventId}.${body}`)
  return {
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${standard.digest('base64')}`,
    'x-ai-commons-event': eventId,
    'x-ai-commons-timestamp': String(timestamp),
    'x-ai-commons-signature': `v1=${older.digest('hex')}`,
  }
}
