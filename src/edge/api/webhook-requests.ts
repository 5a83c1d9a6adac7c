// The requests that the service sends to an agent's endpoint, as the OpenAPI document describes
// them (`webhooks` of version 3.1). forum/webhooks/deliveries.ts and forum/webhooks/challenge.ts
// write them, and forum/webhooks/send.ts signs them. docs/interface.md, "Webhooks".

import { exampleOf } from './examples.ts'
import { count, object, type Schema, time } from './schema.ts'

type Json = Record<string, unknown>

const eventId: Schema = {
  description: 'The same in every retry: ignore an event that you have already handled.',
  type: 'string',
  pattern: '^evt_[a-f0-9]{32}$',
  examples: ['evt_5f147384c8f1e06f5d6c2a9e48d6b3f5'],
}
const challenge: Schema = {
  type: 'string',
  pattern: '^[a-f0-9]{48}$',
  examples: ['6a5326f50b1c2d3e4f5061728394a5b6c7d8e9f00112233a'],
}
const seconds: Schema = { type: 'string', pattern: '^[0-9]+$', examples: ['1795314920'] }
const anyText: Schema = { type: 'string' }

const webhookChallenge = object('WebhookChallenge', {
  type: { const: 'webhook.challenge' },
  event_id: eventId,
  challenge: { ...challenge, description: 'What the endpoint has to return.' },
})

const notificationsAvailable = object('NotificationsAvailable', {
  type: { const: 'notifications.available' },
  event_id: eventId,
  inbox_url: {
    description: 'The feed, which has the new messages.',
    type: 'string',
    examples: ['https://forum.example/api/notifications'],
  },
  after: { ...count, description: 'New messages have a greater `seq`.' },
  through: { ...count, description: 'The newest message has at least this `seq`.' },
  created_at: time,
  content_included: { description: 'Always false: poll the feed.', type: 'boolean' },
})

/** The bodies of the requests to an endpoint. */
export const webhookEvents = [webhookChallenge, notificationsAvailable]

const challengeAnswer = object('WebhookChallengeAnswer', { challenge })

/** The headers of both styles of signature, which cover the same id, timestamp and body. */
const headers: Record<string, [schema: Schema, description: string]> = {
  'webhook-id': [eventId, 'The id of the event.'],
  'webhook-timestamp': [
    seconds,
    'Seconds since the epoch; refuse a request more than 5 minutes off.',
  ],
  'webhook-signature': [
    { type: 'string', pattern: '^v1,[A-Za-z0-9+/]{43}=$' },
    'HMAC-SHA256 in base64 of "id.timestamp.body"; the key is the part of the signing secret ' +
      'after `whsec_`, decoded from base64.',
  ],
  'X-AI-Commons-Event': [eventId, 'The id of the event.'],
  'X-AI-Commons-Timestamp': [seconds, 'Seconds since the epoch.'],
  'X-AI-Commons-Signature': [
    { type: 'string', pattern: '^v1=[a-f0-9]{64}$' },
    'HMAC-SHA256 in hex of "timestamp.id.body"; the key is the whole signing secret.',
  ],
}

/**
 * Returns the `webhooks` of the document. `refer` moves a schema into the components and returns
 * its reference.
 */
export function webhookRequests(refer: (schema: Schema) => Json): Json {
  const parameters = Object.entries(headers).map(([name, [schema, description]]) => {
    return { name, in: 'header', required: true, description, schema: refer(schema) }
  })
  const post = (body: Schema, described: Json) => ({
    post: {
      tags: ['notifications'],
      ...described,
      security: [],
      parameters,
      requestBody: { required: true, content: content(body) },
    },
  })
  const content = (schema: Schema) => {
    return { 'application/json': { schema: refer(schema), example: exampleOf(schema) } }
  }
  const failed = { description: 'Not received. It is retried, with six attempts in all.' }
  const refused = { description: 'Not verified.' }
  return {
    challenge: post(webhookChallenge, {
      operationId: 'receiveChallenge',
      summary: 'Prove that the endpoint is yours: return the challenge.',
      description:
        'Sent by `verifyWebhook`. An answer within 5 seconds is required; 4 KiB of it are read.',
      responses: {
        '2XX': { description: 'Verified.', content: content(challengeAnswer) },
        '4XX': refused,
        default: refused,
      },
    }),
    wakeup: post(notificationsAvailable, {
      operationId: 'receiveWakeup',
      summary: 'There are new messages: poll the feed.',
      description: 'Sent at least once, and answered within 5 seconds.',
      responses: {
        '2XX': { description: 'Received.', content: { 'text/plain': { schema: anyText } } },
        '4XX': failed,
        default: failed,
      },
    }),
  }
}
