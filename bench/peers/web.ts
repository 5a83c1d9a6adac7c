// Two routes of a forum as one would write them with Fastify and PostgreSQL: prepared statements,
// one round trip per request, a connection pool, schemas for requests and answers. The argument of
// this program is the database's URL.

import { createHash, randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import pg from 'pg'
import { peersFolder } from './peer.ts'

const poolMax = 16
const followUp = {
  recommendation: 'Follow the threads you take part in by polling your notification feed.',
  optional: 'yes',
  guide: '/notifications.txt',
  webhook_registration: '/api/notifications/webhook',
  webhook_verification: '/api/notifications/webhook/verify',
  webhook_requirement: 'A public HTTPS endpoint that echoes a signed JSON challenge.',
  polling: '/api/notifications?after=0',
  poll_after_seconds: '60',
  runtime_requirement: 'Polling needs a runtime that wakes up again.',
}

const replyStatement = {
  name: 'reply',
  text: `
    with caller as (select id, public_id from identities where token_digest = $1),
    thread as (select id from threads where public_id = $2 and visibility = 'public'),
    message as (
      insert into messages (public_id, thread, author, content, created_at, key)
      select $3, thread.id, caller.id, $4, $5, $6 from caller, thread
      on conflict (author, key) do nothing
      returning seq
    ),
    followed as (
      insert into subscriptions select caller.id, thread.id from caller, thread
      on conflict do nothing
    )
    select (select public_id from caller) as author, (select id from thread) as thread,
           (select seq from message) as seq`,
}
const replayStatement = {
  name: 'replay',
  text: `
    select message.public_id, message.content, message.created_at, thread.public_id as thread
    from messages message join identities author on author.id = message.author
    join threads thread on thread.id = message.thread
    where author.token_digest = $1 and message.key = $2`,
}
const threadStatement = {
  name: 'thread',
  text: `
    select thread.id, thread.title, thread.visibility, thread.created_at,
           author.public_id as author_id, author.display_name
    from threads thread join identities author on author.id = thread.author
    where thread.public_id = $1 and thread.visibility = 'public'`,
}
const pageStatement = {
  name: 'page',
  text: `
    select message.seq, message.public_id as id, author.public_id as author_id,
           author.display_name, message.content, message.created_at
    from messages message
    join threads thread on thread.id = message.thread
    join identities author on author.id = message.author
    where thread.public_id = $1 and thread.visibility = 'public' and message.seq > $2
    order by message.seq limit $3`,
}

const text = { type: 'string' } as const
const count = { type: 'integer' } as const
const object = (properties: Record<string, unknown>) => ({ type: 'object', properties }) as const
const message = object({
  seq: count,
  id: text,
  author_id: text,
  display_name: text,
  content: text,
  created_at: count,
})
const thread = object({
  id: text,
  title: text,
  visibility: text,
  author_id: text,
  display_name: text,
  created_at: count,
})
const params = object({ id: { type: 'string', pattern: '^thr_[a-f0-9]{32}$' } })
const publication = object({
  thread_id: text,
  message_id: text,
  author_id: text,
  created_at: count,
  read_url: text,
  published: { type: 'boolean' },
  replayed: { type: 'boolean' },
  follow_up: object(Object.fromEntries(Object.keys(followUp).map((name) => [name, text]))),
})

pg.types.setTypeParser(pg.types.builtins.INT8, Number)
const pool = new pg.Pool({ connectionString: process.argv[2], max: poolMax })
const app = createRequire(join(peersFolder, 'package.json'))('fastify')()

interface Answer {
  code(status: number): { send(body: object): unknown }
}
interface Page {
  params: { id: string }
  query: { after: number; limit: number }
}
const query = object({
  after: { type: 'integer', minimum: 0, default: 0 },
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
})
const page = object({
  thread,
  messages: { type: 'array', items: message },
  next_after: count,
  has_more: { type: 'boolean' },
  content_is_untrusted: { type: 'boolean' },
})

app.get(
  '/api/threads/:id',
  { schema: { params, querystring: query, response: { 200: page } } },
  async ({ params: { id }, query: { after, limit } }: Page, answer: Answer) => {
    const [threads, messages] = await Promise.all([
      pool.query({ ...threadStatement, values: [id] }),
      pool.query({ ...pageStatement, values: [id, after, limit + 1] }),
    ])
    if (threads.rowCount === 0) return answer.code(404).send({ error: 'not_found' })
    const shown = messages.rows.slice(0, limit)
    return {
      thread: { ...threads.rows[0], id },
      messages: shown,
      next_after: shown.at(-1)?.seq ?? after,
      has_more: messages.rows.length > limit,
      content_is_untrusted: true,
    }
  },
)

interface Reply {
  params: { id: string }
  headers: { authorization: string; 'idempotency-key': string }
  body: { content: string }
}
const headers = {
  ...object({
    authorization: { type: 'string', pattern: '^Bearer ' },
    'idempotency-key': { type: 'string', pattern: '^[A-Za-z0-9_.:-]{8,128}$' },
  }),
  required: ['authorization', 'idempotency-key'],
}
const body = {
  ...object({ content: { type: 'string', minLength: 1, maxLength: 8000 } }),
  required: ['content'],
}

app.post(
  '/api/threads/:id/replies',
  { schema: { params, headers, body, response: { 200: publication, 201: publication } } },
  async ({ params: { id }, headers, body: { content } }: Reply, answer: Answer) => {
    const digest = createHash('sha256').update(headers.authorization.slice(7)).digest()
    const key = headers['idempotency-key']
    const messageId = `msg_${randomBytes(16).toString('hex')}`
    const at = Date.now()
    const { rows } = await pool.query({
      ...replyStatement,
      values: [digest, id, messageId, content, at, key],
    })
    const [{ author, thread, seq }] = rows
    if (author === null) return answer.code(401).send({ error: 'invalid_token' })
    if (thread === null) return answer.code(404).send({ error: 'not_found' })
    const readUrl = `/api/threads/${id}`
    const published = { thread_id: id, author_id: author, read_url: readUrl, follow_up: followUp }
    if (seq !== null) {
      const own = { message_id: messageId, created_at: at, published: true, replayed: false }
      return answer.code(201).send({ ...published, ...own })
    }
    const replay = await pool.query({ ...replayStatement, values: [digest, key] })
    const [first] = replay.rows
    if (first.content !== content || first.thread !== id) {
      return answer.code(409).send({ error: 'idempotency_conflict' })
    }
    const known = { message_id: first.public_id, created_at: first.created_at, published: true }
    return { ...published, ...known, replayed: true }
  },
)

const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${JSON.stringify({ url })}\n`)
process.once('SIGTERM', () => process.exit(0))
