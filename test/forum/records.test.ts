import fc from 'fast-check'
import { Packr } from 'msgpackr'
import t from 'tap'
import { decisions } from '../../src/forum/governance/machine.ts'
import {
  decode,
  encode,
  type ForumRecord,
  isPacked,
  kindOf,
  NewerRecord,
  type RecordOf,
  type RecordType,
} from '../../src/forum/records.ts'
import { codePoint } from '../code-point.ts'

const packr = new Packr({ useRecords: false })
const throughLog = (row: unknown) => packr.unpack(packr.pack(row))

const text = fc.string({ unit: codePoint, minLength: 1, maxLength: 200, size: 'max' })
const hex = fc.stringMatching(/^[0-9a-f]{32}$/)
const number = fc.nat({ max: 2 ** 32 - 1 })
const at = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const key = fc.stringMatching(/^[A-Za-z0-9_.:-]{8,128}$/)
const client = fc.constantFrom('', '0123456789abcdef')

const mentions = fc.array(number, { maxLength: 10, size: 'max' })

const messageType = fc.constantFrom('', 'question', 'bug-report')

const tags = fc.uniqueArray(fc.constantFrom('bug', 'infra', 'a:b'))

const ticketUsed = { at, nonce: hex, authorId: hex, messageId: hex, escapedContent: text, client }

type Generators = { [T in RecordType]: fc.Arbitrary<Omit<RecordOf<T>, 'type'>> }

/** One generator for each record type. A new type without a generator does not compile. */
const generators: Generators = {
  'identity.created': fc.record({
    at,
    id: hex,
    kind: fc.constantFrom('guest' as const, 'persistent' as const, 'compat' as const),
    displayName: text,
    tokenDigest: hex,
    expiresAt: at,
    client,
    listed: fc.boolean(),
  }),
  'identity.invited': fc.record({
    at,
    id: hex,
    kind: fc.constantFrom('guest' as const, 'persistent' as const),
    displayName: text,
    tokenDigest: hex,
    expiresAt: at,
    client,
    listed: fc.boolean(),
    invitation: hex,
  }),
  'identity.listed': fc.record({ at, by: number, listed: fc.boolean() }),
  'invitation.issued': fc.record({
    at,
    id: hex,
    digest: hex,
    uses: number,
    expiresAt: at,
    reason: text,
  }),
  'invitation.revoked': fc.record({ at, id: hex, reason: text }),
  'identity.token_rotated': fc.record({
    at,
    by: fc.oneof(number, fc.constant(-1)),
    identity: number,
    tokenDigest: hex,
    graceUntil: at,
    reason: text,
  }),
  'guests.expired': fc.record({ at, before: number }),
  'thread.posted': fc.record({
    at,
    by: number,
    id: hex,
    messageId: hex,
    title: text,
    escapedContent: text,
    visibility: fc.constantFrom('public' as const, 'private' as const),
    participants: fc.array(number, { maxLength: 10, size: 'max' }),
    key,
    client,
    mentions,
    tags,
    messageType,
    ttlSeconds: fc.constantFrom(0, 60),
  }),
  'thread.expired': fc.record({ at, thread: number }),
  'thread.erased': fc.record({ at, thread: number, messages: number }),
  'thread.tagged': fc.record({ at, by: number, thread: number, tags }),
  'tag.subscribed': fc.record({ at, by: number, tag: fc.constantFrom('bug', 'a:b') }),
  'tag.unsubscribed': fc.record({ at, by: number, tag: fc.constantFrom('bug', 'a:b') }),
  'reply.posted': fc.record({
    at,
    by: number,
    thread: number,
    messageId: hex,
    escapedContent: text,
    key,
    client,
    mentions,
    details: number,
    messageType,
  }),
  'feed.read': fc.record({ at, by: number, through: at }),
  'thread.claimed': fc.record({
    at,
    by: number,
    thread: number,
    expiresAt: at,
    key,
    details: number,
  }),
  'claim.released': fc.record({ at, by: number, thread: number }),
  'thread.subscribed': fc.record({ at, by: number, thread: number }),
  'thread.unsubscribed': fc.record({ at, by: number, thread: number }),
  'ticket.issued': fc.record({ at, nonce: hex, expiresAt: at, client }),
  'ticket.used_for_thread': fc.record({ ...ticketUsed, id: hex, title: text }),
  'ticket.used_for_reply': fc.record({ ...ticketUsed, thread: number }),
  'webhook.registered': fc.record({
    at,
    by: number,
    id: hex,
    endpoint: text,
    sealed: fc.uint8Array({ minLength: 60, maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    key,
  }),
  'webhook.verified': fc.record({ at, webhook: number }),
  'webhook.verify_failed': fc.record({ at, webhook: number, error: text }),
  'webhook.removed': fc.record({ at, webhook: number }),
  'webhooks.lapsed': fc.record({ at, most: fc.nat() }),
  'delivery.started': fc.record({ at, webhook: number, first: at, through: at }),
  'delivery.finished': fc.record({
    at,
    webhook: number,
    first: at,
    outcome: fc.constantFrom('delivered', 'retried', 'failed', 'cancelled'),
    status: number,
    error: text,
    nextAttemptAt: at,
  }),
  'proposal.saved': fc.record({
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
    client,
  }),
  'message.erased': fc.record({ at, message: number, reason: text }),
  'thread.locked': fc.record({ at, thread: number, reason: text }),
  'thread.unlocked': fc.record({ at, thread: number, reason: text }),
  'identity.blocked': fc.record({ at, identity: number, reason: text }),
  'identity.unblocked': fc.record({ at, identity: number, reason: text }),
  'leader.began': fc.record({
    at,
    term: number,
    node: hex,
    nonce: hex,
  }),
  'proposal.reviewed': fc.record({
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
    client,
  }),
}

const anyRecord = fc.oneof(
  ...Object.entries(generators).map(([type, fields]) =>
    (fields as fc.Arbitrary<object>).map((values) => ({ type, ...values }) as ForumRecord),
  ),
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

t.test('record: packed, at any place: its type is known without unpacking', async () => {
  const types = Object.keys(kindOf) as RecordType[]
  const property = fc.property(anyRecord, fc.nat({ max: 9 }), (record, start) => {
    const bytes = Buffer.concat([Buffer.alloc(start, 40), packr.pack(encode(record))])
    const found = types.filter((type) => isPacked(type, bytes, start))
    if (found.join() !== record.type) throw new Error(`${record.type} is taken for ${found}`)
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

t.test('record: of a newer version or an unknown type: refused, and named', async (t) => {
  t.throws(() => decode([5, 2, 5, 0, 7]), new NewerRecord('record type 5, version 2'))
  t.throws(() => decode([77, 1, 5]), new NewerRecord('record type 77, version 1'))
})
