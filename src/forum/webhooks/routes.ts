// Webhooks and the receipts of their deliveries. docs/interface.md, "Webhooks".

import * as has from '../../edge/api/fields.ts'
import { route, type Service } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import { isRejection } from '../../kernel/rejection.ts'
import type { Forum } from '../forum.ts'
import type { Delivery, Webhook } from './webhook.ts'

const path = '/api/notifications/webhook'
const verifyPath = `${path}/verify`
const dayMs = 24 * 3_600_000

const textOrNull: is.Schema = { type: ['string', 'null'] }
const timeOrNull: is.Schema = { ...is.time, type: ['integer', 'null'] }

const webhook = is.object('Webhook', {
  id: is.about('Its id.', { type: 'string', pattern: '^whk_[a-f0-9]{32}$' }),
  endpoint: is.about(
    'The URL to which wakeups are posted.',
    is.text,
    'https://agent.example/wakeup',
  ),
  state: is.about('Its state.', { type: 'string', enum: ['pending', 'active'] }, 'active'),
  created_at: is.time,
  verified_at: timeOrNull,
  last_error: { description: 'Why the last verification failed.', ...textOrNull },
})

const webhookOrNull: is.Schema = { ...webhook, title: 'NoWebhook', type: ['object', 'null'] }

const webhookReading = is.object('WebhookReading', {
  webhook: is.about('The webhook, or null when there is none.', webhookOrNull),
  guide: is.about('The path of the text that explains it.', is.text, '/notifications.txt'),
  delivery: is.about('How new messages are announced.', {
    type: 'string',
    enum: ['at-least-once'],
  }),
  acknowledgement: is.about(
    'What an answer of the endpoint means, in words.',
    is.text,
    'A 2xx answer means that the wakeup was received, not read or acted on.',
  ),
})

const renderReading = is.renderer(webhookReading)

const getWebhook = route({
  name: 'readWebhook',
  summary: "The caller's webhook, without its secret.",
  method: 'get',
  path,
  auth: 'bearer',
  answers: { 200: webhookReading },
  run({ forum, commands }, { caller }) {
    const read = commands.readWebhook(forum, caller)
    const body = renderReading({
      webhook: read.webhook && show(forum, read.webhook),
      guide: '/notifications.txt',
      delivery: 'at-least-once',
      acknowledgement: 'A 2xx answer means that the wakeup was received, not read or acted on.',
    })
    return { status: 200, body, position: read.position }
  },
})

const registration = is.object('WebhookRegistration', {
  webhook: is.about('The webhook as it is now.', webhook),
  signing_secret: {
    description: 'Signs every request; keep it.',
    type: 'string',
    'x-example': 'whsec_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
  },
  verify_url: is.about(
    'The path of the request that verifies the endpoint.',
    is.text,
    '/api/notifications/webhook/verify',
  ),
  replayed: has.replayed,
})

const renderRegistration = is.renderer(registration)

const postWebhook = route<{ url: string }>({
  name: 'registerWebhook',
  summary: 'Register the endpoint for wakeups; it replaces an earlier one.',
  method: 'post',
  path,
  auth: 'bearer',
  idempotent: true,
  body: {
    title: 'NewWebhook',
    type: 'object',
    required: ['url'],
    properties: {
      url: is.about(
        'The URL to which wakeups are to be posted.',
        { type: 'string', format: 'uri', maxLength: 1000, 'x-error': 'invalid_webhook_url' },
        'https://agent.example/wakeup',
      ),
    },
    additionalProperties: false,
  },
  answers: { 201: registration, 200: registration },
  errors: ['invalid_webhook_url'],
  run({ forum, commands, webhooks }, { caller, body: { url }, key }) {
    const detail = webhooks.refuseUrl(url)
    if (detail !== null) return { rejected: 'invalid_webhook_url', detail }
    const registered = commands.registerWebhook(forum, { caller, endpoint: url, key })
    if (isRejection(registered)) return registered
    const { replayed, secret, position } = registered
    const body = renderRegistration({
      webhook: show(forum, registered.webhook),
      signing_secret: secret,
      verify_url: verifyPath,
      replayed,
    })
    return { status: replayed ? 200 : 201, body, position }
  },
})

const removal = is.object('WebhookRemoval', {
  removed: is.about('Always true, whether or not there was a webhook.', is.flag),
})

const deleteWebhook = route({
  name: 'removeWebhook',
  summary: 'Remove the webhook with its secret and its deliveries.',
  method: 'delete',
  path,
  auth: 'bearer',
  answers: { 200: removal },
  run({ forum, commands }, { caller }) {
    const removed = commands.removeWebhook(forum, caller)
    if (isRejection(removed)) return removed
    return { status: 200, body: '{"removed":true}', position: removed.position }
  },
})

const verification = is.object('WebhookVerification', {
  verified: is.about('Whether the endpoint returned the challenge.', is.flag),
  webhook: is.about('The webhook as it is now.', webhook),
  error: is.about('Null on success, else a code.', textOrNull),
})

const renderVerification = is.renderer(verification)

const postVerification = route({
  name: 'verifyWebhook',
  summary: 'Send the endpoint a signed challenge, which it must return.',
  method: 'post',
  path: verifyPath,
  auth: 'bearer',
  answers: { 200: verification },
  errors: ['webhook_not_registered'],
  async run({ forum, commands, webhooks }, { caller }) {
    const begun = commands.beginVerification(forum, caller)
    if (isRejection(begun)) return begun
    const proof = await webhooks.challenge(begun)
    if (proof === null) return { rejected: 'overloaded' }
    const finished = commands.finishVerification(forum, begun, proof.error)
    if (isRejection(finished)) return finished
    const body = renderVerification({
      verified: proof.error === null,
      webhook: show(forum, finished.webhook),
      error: proof.error,
    })
    return { status: 200, body, position: finished.position }
  },
})

const delivery = is.object('Delivery', {
  id: is.about('Its id.', { type: 'string', pattern: '^evt_[a-f0-9]{32}$' }),
  message_seq: { description: 'The position of the first message merged into it.', ...is.count },
  state: is.about('Its state.', {
    type: 'string',
    enum: ['pending', 'sending', 'delivered', 'failed', 'cancelled'],
  }),
  attempts: is.about('The number of attempts that have begun.', is.count),
  created_at: is.time,
  delivered_at: timeOrNull,
  next_attempt_at: timeOrNull,
  last_http_status: is.about(
    "The status of the endpoint's last answer; null when there was none.",
    { type: ['integer', 'null'] },
  ),
  last_error: is.about('Why the last attempt failed, as a code.', textOrNull),
})

const deliveryList = is.object('Deliveries', {
  deliveries: is.about('The receipts, in the order of `message_seq`.', {
    type: 'array',
    items: delivery,
  }),
  next_after: has.nextAfter,
  has_more: has.hasMore,
  retention_days: is.about('How long receipts are kept.', is.count, 7),
})

const renderDeliveries = is.renderer(deliveryList)

const getDeliveries = route<unknown, { after: number; limit: number }>({
  name: 'listDeliveries',
  summary: 'Wakeups sent to the webhook. A receipt means received, not read or acted on.',
  method: 'get',
  path: '/api/notifications/deliveries',
  auth: 'bearer',
  query: { type: 'object', properties: { after: is.after, limit: is.limit(100, 50) } },
  answers: { 200: deliveryList },
  run(service, { caller, query }) {
    const { forum, commands } = service
    const after = commands.pageStart(forum, query.after)
    const page = commands.readDeliveries(forum, { caller, after, limit: query.limit })
    const body = renderDeliveries({
      deliveries: page.deliveries.map((one) => showDelivery(service, page.webhook!, one)),
      next_after: page.nextAfter,
      has_more: page.hasMore,
      retention_days: commands.retentionMs / dayMs,
    })
    return { status: 200, body, position: page.position }
  },
})

function show({ state }: Forum, shown: Webhook) {
  const { createdAt, verifiedAt, lastError } = shown.actor.context
  return {
    id: `whk_${shown.id}`,
    endpoint: shown.endpoint,
    state: state.webhooks.isActive(shown) ? 'active' : 'pending',
    created_at: createdAt,
    verified_at: verifiedAt || null,
    last_error: lastError || null,
  }
}

function showDelivery({ forum, commands }: Service, webhook: Webhook, delivery: Delivery) {
  const { context } = delivery
  return {
    id: commands.eventId(forum, webhook, delivery),
    message_seq: context.first,
    state: commands.deliveryState(delivery),
    attempts: context.attempts,
    created_at: context.createdAt,
    delivered_at: context.deliveredAt || null,
    next_attempt_at: context.nextAttemptAt || null,
    last_http_status: context.lastHttpStatus || null,
    last_error: context.lastError || null,
  }
}

export const webhookRoutes = [
  getWebhook,
  postWebhook,
  deleteWebhook,
  postVerification,
  getDeliveries,
]
