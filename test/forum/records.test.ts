import fc from 'fast-check'
import { Packr } from 'msgpackr'
import t from 'tap'
import { decisions } from '../../src/actors/proposal.ts'
import {
  decode,
  encode,
  type ForumRecord,
  kindOf,
  NewerRecord,
  type RecordType,
} from '../../src/forum/records.ts'

const packr = new Packr({ useRecords: false })
const throughLog = (row: unknown) => packr.unpack(packr.pack(row))

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 200, size: 'max' })
const hex = fc.stringMatching(/^[0-9a-f]{32}$/)
const number = fc.nat({ max: 2 ** 32 - 1 })
const at = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const key = fc.stringMatching(/^[A-Za-z0-9_.:-]{8,128}$/)
const client = fc.constantFrom('', '0123456789abcdef')

const anyRecord: fc.Arbitrary<ForumRecord> = fc.oneof(
  fc.record({
    type: fc.constant('identity.created' as const),
    at,
    id: hex,
    kind: fc.constantFrom('guest' as const, 'persistent' as const, 'compat' as const),
    displayName: text,
    tokenDigest: hex,
    expiresAt: at,
    client,
  }),
  fc.record({ type: fc.constant('guests.expired' as const), at, before: number }),
  fc.record({
    type: fc.constant('thread.posted' as const),
    at,
    by: number,
    id: hex,
    messageId: hex,
    title: text,
    content: text,
    visibility: fc.constantFrom('public' as const, 'private' as const),
    participants: fc.array(number, { maxLength: 10, size: 'max' }),
    key,
    client,
  }),
  fc.record({
    type: fc.constant('reply.posted' as const),
    at,
    by: number,
    thread: number,
    messageId: hex,
    content: text,
    key,
    client,
  }),
  fc.record({ type: fc.constant('thread.subscribed' as const), at, by: number, thread: number }),
  fc.record({ type: fc.constant('thread.unsubscribed' as const), at, by: number, thread: number }),
  fc.record({
    type: fc.constant('webhook.registered' as const),
    at,
    by: number,
    id: hex,
    endpoint: text,
    sealed: fc.uint8Array({ minLength: 60, maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    key,
  }),
  fc.record({ type: fc.constant('webhook.verified' as const), at, webhook: number }),
  fc.record({
    type: fc.constant('webhook.verify_failed' as const),
    at,
    webhook: number,
    error: text,
  }),
  fc.record({ type: fc.constant('webhook.removed' as const), at, webhook: number }),
  fc.record({ type: fc.constant('webhooks.lapsed' as const), at }),
  fc.record({ type: fc.constant('delivery.started' as const), at, webhook: number, first: at }),
  fc.record({
    type: fc.constant('delivery.finished' as const),
    at,
    webhook: number,
    first: at,
    outcome: fc.constantFrom('delivered', 'retried', 'failed', 'cancelled'),
    status: number,
    error: text,
    nextAttemptAt: at,
  }),
  fc.record({ type: fc.constant('deliveries.expired' as const), at }),
  fc.record({
    type: fc.constant('proposal.saved' as const),
    at,
    by: number,
    id: hex,
    hash: hex,
    text: fc.record({
      author_id: text,
      title: text,
      description: text,
      supersedes: fc.option(text),
      kind: fc.constant('code' as const),
      base_commit: hex,
      files: fc.array(
        fc.oneof(
          fc.record({ path: text, content: fc.option(text) }),
          fc.record({ path: text, edits: fc.array(fc.record({ old_text: text, new_text: text })) }),
        ),
      ),
    }),
    key,
  }),
  fc.record({
    type: fc.constant('proposal.reviewed' as const),
    at,
    by: number,
    id: hex,
    proposal: number,
    text: fc.record({
      proposal_id: text,
      author_id: text,
      proposal_hash: hex,
      decision: fc.constantFrom(...decisions),
      text,
    }),
    key,
  }),
)

t.test('record: any fields: through the log and back: the same', async () => {
  const property = fc.property(anyRecord, (record) => {
    const back = decode(throughLog(encode(record)))
    const [before, after] = [record, back].map((each) =>
      JSON.stringify(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))),
    )
    if (before !== after) throw new Error(`${after} is not ${before}`)
  })
  fc.assert(property, { numRuns: 500 })
})

t.test('record: every kind: through the log and back: no field is lost or exchanged', async (t) => {
  const codes = new Set<number>()
  for (const type of Object.keys(kindOf) as RecordType[]) {
    const { code, fields } = kindOf[type]
    const values = Object.fromEntries(fields.map((field) => [field, `the ${field}`]))
    const record = { type, at: 5, ...values } as unknown as ForumRecord
    t.strictSame(decode(throughLog(encode(record))), record, type)
    t.notOk(codes.has(code), `${type} has a code of its own`)
    codes.add(code)
  }
})

// Rows as version 1 wrote them. They stay as they are: a row that must change is another version.
const id = '0123456789abcdef0123456789abcdef'
const sealed = Buffer.alloc(60, 9)
const proposed = {
  author_id: 'agt_1',
  title: 'Title',
  description: 'Why',
  supersedes: null,
  kind: 'maintainer' as const,
  candidate_id: 'agt_2',
}
const reviewed = {
  proposal_id: 'gov_1',
  author_id: 'agt_1',
  proposal_hash: 'hash',
  decision: 'accept' as const,
  text: 'Yes',
}
const rowsOfVersion1: { row: unknown[]; record: ForumRecord }[] = [
  {
    row: [1, 1, 5, id, 'guest', 'Ana', id, 99],
    record: {
      type: 'identity.created',
      at: 5,
      id,
      kind: 'guest',
      displayName: 'Ana',
      tokenDigest: id,
      expiresAt: 99,
      client: '',
    },
  },
  { row: [2, 1, 5, 3], record: { type: 'guests.expired', at: 5, before: 3 } },
  {
    row: [3, 1, 5, 0, id, id, 'Title', 'Hello', 'private', [2, 1], 'key-0001'],
    record: {
      type: 'thread.posted',
      at: 5,
      by: 0,
      id,
      messageId: id,
      title: 'Title',
      content: 'Hello',
      visibility: 'private',
      participants: [2, 1],
      key: 'key-0001',
      client: '',
    },
  },
  {
    row: [4, 1, 5, 0, 7, id, 'Hello', 'key-0001'],
    record: {
      type: 'reply.posted',
      at: 5,
      by: 0,
      thread: 7,
      messageId: id,
      content: 'Hello',
      key: 'key-0001',
      client: '',
    },
  },
  { row: [5, 1, 5, 0, 7], record: { type: 'thread.subscribed', at: 5, by: 0, thread: 7 } },
  { row: [6, 1, 5, 0, 7], record: { type: 'thread.unsubscribed', at: 5, by: 0, thread: 7 } },
  {
    row: [10, 1, 5, id, 99, 'fedcba98'],
    record: { type: 'ticket.issued', at: 5, nonce: id, expiresAt: 99, client: 'fedcba98' },
  },
  {
    row: [11, 1, 5, id, id, id, id, 'Title', 'Hello', ''],
    record: {
      type: 'ticket.used_for_thread',
      at: 5,
      nonce: id,
      authorId: id,
      id,
      messageId: id,
      title: 'Title',
      content: 'Hello',
      client: '',
    },
  },
  {
    row: [12, 1, 5, id, id, 7, id, 'Hello', ''],
    record: {
      type: 'ticket.used_for_reply',
      at: 5,
      nonce: id,
      authorId: id,
      thread: 7,
      messageId: id,
      content: 'Hello',
      client: '',
    },
  },
  {
    row: [20, 1, 5, 0, id, 'https://a.example/', sealed, 'key-0001'],
    record: {
      type: 'webhook.registered',
      at: 5,
      by: 0,
      id,
      endpoint: 'https://a.example/',
      sealed,
      key: 'key-0001',
    },
  },
  { row: [21, 1, 5, 7], record: { type: 'webhook.verified', at: 5, webhook: 7 } },
  {
    row: [22, 1, 5, 7, 'webhook_timeout'],
    record: { type: 'webhook.verify_failed', at: 5, webhook: 7, error: 'webhook_timeout' },
  },
  { row: [23, 1, 5, 7], record: { type: 'webhook.removed', at: 5, webhook: 7 } },
  { row: [24, 1, 5], record: { type: 'webhooks.lapsed', at: 5 } },
  { row: [25, 1, 5, 7, 3], record: { type: 'delivery.started', at: 5, webhook: 7, first: 3 } },
  {
    row: [26, 1, 5, 7, 3, 'retried', 500, 'webhook_http_500', 99],
    record: {
      type: 'delivery.finished',
      at: 5,
      webhook: 7,
      first: 3,
      outcome: 'retried',
      status: 500,
      error: 'webhook_http_500',
      nextAttemptAt: 99,
    },
  },
  { row: [27, 1, 5], record: { type: 'deliveries.expired', at: 5 } },
  {
    row: [30, 1, 5, 0, id, 'hash', proposed, 'key-0001'],
    record: {
      type: 'proposal.saved',
      at: 5,
      by: 0,
      id,
      hash: 'hash',
      text: proposed,
      key: 'key-0001',
    },
  },
  {
    row: [31, 1, 5, 0, id, 7, reviewed, 'key-0001'],
    record: {
      type: 'proposal.reviewed',
      at: 5,
      by: 0,
      id,
      proposal: 7,
      text: reviewed,
      key: 'key-0001',
    },
  },
]

t.test('K3: rows of version 1: decoded: the records that they have always been', async (t) => {
  for (const { row, record } of rowsOfVersion1) t.strictSame(decode(row), record)
})

t.test('record: of a newer version or an unknown type: refused, and named', async (t) => {
  t.throws(() => decode([5, 2, 5, 0, 7]), new NewerRecord('record type 5, version 2'))
  t.throws(() => decode([77, 1, 5]), new NewerRecord('record type 77, version 1'))
})
