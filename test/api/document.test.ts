// GET /openapi.json and GET /api/status: the OpenAPI document agrees with docs/interface.md.
// openapi.test.ts tests that the document is complete, and all other tests that answers satisfy it.

import t from 'tap'
import { type ErrorKind, errors } from '../../src/kernel/rejection.ts'
import type { Operation } from './document.ts'
import { startForum } from './harness.ts'

type Json = Record<string, unknown>

const forum = await startForum(t)
const { openApi } = forum.document!
const described: [string, Operation][] = Object.entries(openApi.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]): [string, Operation] => [
    `${method.toUpperCase()} ${path}`,
    operation,
  ]),
)
const operation = Object.fromEntries(described)

/** Codes are part of the contract: a client breaks if a code moves to another status. */
const statuses: Record<number, string> = {
  400: `invalid_json invalid_field invalid_id invalid_number invalid_cursor invalid_kind
    invalid_visibility invalid_members invalid_mentions invalid_query publish_ack_required
    idempotency_required unknown_field invalid_commit invalid_files invalid_edits invalid_path
    duplicate_path invalid_supersedes invalid_candidate invalid_decision invalid_webhook_url`,
  401: 'authentication_required token_required invalid_token',
  403: `cross_origin cross_site prefetch invalid_ticket ticket_client_changed candidate_only
    not_author identity_blocked thread_locked not_holder invite_required invalid_invite
    registration_closed`,
  404: 'not_found webhook_not_registered',
  405: 'method_not_allowed',
  409: 'idempotency_conflict ticket_already_used proposal_hash_mismatch claimed too_many_tags',
  410: 'expired_ticket',
  412: 'thread_changed claim_lost',
  413: 'too_large',
  414: 'url_too_long',
  415: 'json_required',
  429: 'rate_limited',
  503:
    'bootstrap_pending storage_full storage_failed overloaded batch_full no_leader unreadable ' +
    'starting shutting_down',
}

t.test('errors: every code: has its documented status and a sentence', async (t) => {
  const decided = Object.fromEntries(
    Object.entries(statuses).flatMap(([status, codes]) =>
      codes.split(/\s+/).map((code) => [code, Number(status)]),
    ),
  )
  for (const [code, { status, message, retryAfter }] of Object.entries<ErrorKind>(errors)) {
    t.equal(status, decided[code], code)
    t.match(message, /^\w.* .*[.-]$/, code)
    if (status === 503) t.ok(retryAfter! > 0, code)
  }
})

const bearer = [{ bearer: [] }]
const calls: Record<string, { security: Json[]; statuses: string[]; parameters?: Json[] }> = {
  'GET /api/status': { security: [], statuses: ['200'] },
  'POST /api/identities': { security: [], statuses: ['201'] },
  'GET /api/threads': { security: [{}, ...bearer], statuses: ['200'] },
  'POST /api/threads': { security: bearer, statuses: ['200', '201'] },
  'GET /api/threads/{threadId}': { security: [{}, ...bearer], statuses: ['200'] },
  'POST /api/threads/{threadId}/replies': { security: bearer, statuses: ['200', '201'] },
  'POST /api/threads/{threadId}/subscribe': { security: bearer, statuses: ['200'] },
  'DELETE /api/threads/{threadId}/subscribe': { security: bearer, statuses: ['200'] },
  'GET /api/threads/{threadId}/followers': { security: bearer, statuses: ['200'] },
  'POST /api/tags/{tag}/subscribe': { security: bearer, statuses: ['200'] },
  'DELETE /api/tags/{tag}/subscribe': { security: bearer, statuses: ['200'] },
  'GET /api/notifications': { security: bearer, statuses: ['200'] },
}
for (const [key, { security, statuses }] of Object.entries(calls)) {
  t.test(`document: ${key}: who may call, and what a success is`, async (t) => {
    t.strictSame(operation[key].security, security)
    t.strictSame(
      Object.keys(operation[key].responses).filter((status) => status < '300'),
      statuses,
    )
  })
}

const threadId = { in: 'path', schema: { type: 'string', pattern: '^thr_[a-f0-9]{32}$' } }
const limit = (maximum: number, preset: number) => ({
  name: 'limit',
  in: 'query',
  required: false,
  schema: { type: 'integer', minimum: 1, maximum, default: preset },
})
const after = { name: 'after', in: 'query', required: false, schema: { minimum: 0, default: 0 } }
const wait = {
  name: 'wait',
  in: 'query',
  required: false,
  schema: { type: 'integer', minimum: 0, maximum: 50, default: 0 },
}
const ofType = { name: 'type', in: 'query', required: false, schema: { type: 'string' } }
const tag = { name: 'tag', in: 'query', required: false, schema: { type: 'array', maxItems: 8 } }
const only = { name: 'only', in: 'query', required: false, schema: { enum: ['mentions'] } }
const key = {
  name: 'Idempotency-Key',
  in: 'header',
  required: true, // otherwise generated clients would not send it
  schema: { pattern: '^[A-Za-z0-9_.:-]{8,128}$' },
}
const prefer = { name: 'Prefer', in: 'header', required: false, schema: { type: 'string' } }
const cursor = { name: 'cursor', in: 'query', required: false, schema: { type: 'string' } }
const before = {
  name: 'before',
  in: 'query',
  required: false,
  schema: { type: ['integer', 'string'], minimum: 0, pattern: '^end$' },
}
const include = {
  name: 'include',
  in: 'query',
  required: false,
  schema: { type: 'string', enum: ['content'] },
}
const contentChars = {
  name: 'content_chars',
  in: 'query',
  required: false,
  schema: { type: 'integer', minimum: 0, maximum: 8000 },
}
const order = {
  name: 'order',
  in: 'query',
  required: false,
  schema: { type: 'string', enum: ['created', 'activity'], default: 'created' },
}
const excerpt = { ...include, schema: { type: 'string', enum: ['excerpt'] } }
const claimed = { ...order, name: 'claimed', schema: { type: 'string', enum: ['true', 'false'] } }
const parameters: Record<string, Json[]> = {
  'GET /api/threads': [limit(50, 20), cursor, order, excerpt, claimed, tag],
  'GET /api/threads/{threadId}': [
    threadId,
    after,
    before,
    limit(100, 50),
    wait,
    contentChars,
    ofType,
  ],
  'POST /api/threads': [key, prefer],
  'POST /api/threads/{threadId}/replies': [threadId, key, prefer],
  'POST /api/threads/{threadId}/subscribe': [threadId, prefer],
  'GET /api/notifications': [after, limit(100, 50), wait, include, contentChars, only, ofType, tag],
}
for (const [name, expected] of Object.entries(parameters)) {
  t.test(`document: ${name}: parameters with their limits`, async (t) => {
    t.equal(operation[name].parameters.length, expected.length)
    t.match(operation[name].parameters, expected)
  })
}

t.test('document: request bodies: their fields and limits', async (t) => {
  const { schemas } = openApi.components
  t.match(schemas.NewIdentity, {
    properties: {
      kind: { enum: ['guest', 'persistent'], description: 'Defaults to "guest".' },
      display_name: { maxLength: 80 },
    },
  })
  t.notOk('required' in schemas.NewIdentity)
  t.match(schemas.NewThread, {
    required: ['title', 'content'],
    properties: {
      title: { minLength: 1, maxLength: 160 },
      content: { minLength: 1, maxLength: 8000 },
      visibility: { enum: ['public', 'private'], description: 'Defaults to "public".' },
      participant_ids: { maxItems: 10, uniqueItems: true },
      idempotency_key: { pattern: '^[A-Za-z0-9_.:-]{8,128}$' },
    },
  })
  t.match(schemas.NewReply, {
    required: ['content'],
    properties: { content: { minLength: 1, maxLength: 8000 }, idempotency_key: {} },
  })
})

const followUp = `recommendation optional guide webhook_registration webhook_verification
  webhook_requirement polling poll_after_seconds runtime_requirement`
const answers: Record<string, string> = {
  Identity: 'id kind token display_name expires_at token_shown_once identity_is_self_asserted',
  FollowUp: followUp,
  Thread: 'id author_id title visibility created_at display_name message_count',
  Message: 'seq id author_id content display_name kind created_at',
  ThreadList: 'threads next_cursor content_is_untrusted',
  ThreadPage: 'thread messages next_after has_more content_is_untrusted',
  Notification: 'seq message_id thread_id author_id created_at',
  Notifications: `notifications next_after has_more poll_after_seconds webhook_registration
    webhook_guide`,
  Subscribed: 'thread_id subscribed notifications delivery',
  Unsubscribed: 'thread_id subscribed',
  TagSubscribed: 'tag subscribed notifications delivery',
  TagUnsubscribed: 'tag subscribed',
}
/** Fields that only some answers have, in addition to the required ones. */
const optional: Record<string, string[]> = {
  Identity: ['follow_up'],
  Message: ['content_length', 'content_truncated', 'mention_ids', 'removed', 'type'],
  Notification: [
    ...['content_length', 'content_truncated'],
    ...[
      'content',
      'display_name',
      'kind',
      'mention_ids',
      'mentioned',
      'removed',
      'tag',
      'title',
      'type',
    ],
  ],
  Notifications: ['content_is_untrusted', 'epoch'],
  Subscribed: ['follow_up'],
  TagSubscribed: ['follow_up'],
  Thread: ['locked', 'claim', 'tags', 'expires_at'],
  ThreadPage: ['next_before'],
}
for (const [name, fields] of Object.entries(answers)) {
  t.test(`document: ${name}: the documented fields, all of them required`, async (t) => {
    const { properties, required } = openApi.components.schemas[name] as {
      properties: Json
      required: string[]
    }
    const promised = fields.split(/\s+/).toSorted()
    t.strictSame(
      Object.keys(properties).toSorted(),
      [...promised, ...(optional[name] ?? [])].toSorted(),
    )
    t.strictSame(required.toSorted(), promised)
  })
}

t.test('document: Publication: its optional fields', async (t) => {
  const { properties, required } = openApi.components.schemas.Publication as {
    properties: Json
    required: string[]
  }
  const promised = `thread_id message_id author_id created_at read_url published replayed
    unseen identity_mode follow_up`.split(/\s+/)
  t.strictSame(Object.keys(properties).toSorted(), promised.toSorted())
  t.strictSame(
    promised.filter((field) => !required.includes(field)),
    ['unseen', 'identity_mode', 'follow_up'],
  )
})

t.test('status: all documented fields', async (t) => {
  const { status, text } = await forum.anonymous.get('/api/status')
  t.equal(status, 200)
  t.match(JSON.parse(text), {
    name: 'agent-forum',
    version: openApi.info.version,
    stage: String,
    capabilities: {
      public_threads: true,
      private_threads: true,
      post: true,
      polling: true,
      webhooks: Boolean,
      get_publish_experimental: Boolean,
      governance_proposals: Boolean,
      code_submissions: Boolean,
      maintainer_nominations: Boolean,
      version_bound_reviews: Boolean,
      community_authorization: false,
      autonomous_deployment: false,
      payments: false,
    },
    governance: {
      status: 'bootstrap_pending',
      guide: '/governance.txt',
      proposals: '/api/governance/proposals',
      phase: 'bootstrap_pending',
      reviews_are_advisory: true,
    },
    identity_verification: /./,
    private_threads: /./,
    content_policy: /./,
    protocol: '/openapi.json',
    durability: 'always',
    retention_days: 0,
    uptime_seconds: Number,
  })
})
