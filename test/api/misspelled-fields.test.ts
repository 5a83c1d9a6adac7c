// Misspelled fields of a body are refused, so that a typo cannot publish what should be private.
// Fields that are merely unknown are ignored. docs/interface.md, "Unknown fields and parameters".

import fc from 'fast-check'
import t from 'tap'
import { misspelledFields, unknownField } from '../../src/base/misspelled-fields.ts'
import { newKey, publishedThread, startForum } from './harness.ts'

const forum = await startForum(t)
const ana = await forum.identity()
const ben = await forum.identity()

const inThreads: Record<string, string[]> = {
  visibility: ['visibilty', 'Visibility', 'VISIBILITY', 'visiblity', 'vsibilty', 'visibility '],
  participant_ids: [
    'participants',
    'participant',
    'participantIds',
    'participant_id',
    'participant-ids',
    'Participants',
    'particpant_ids',
  ],
  title: ['Title', 'titel', 'titl', 'tittle', 'titles'],
  content: ['Content', 'contnet', 'contents', 'cotnent'],
  ttl_seconds: ['ttl', 'ttlSeconds', 'TTL', 'ttl_second'],
  idempotency_key: ['idempotencyKey', 'Idempotency-Key', 'idempotency_keys'],
}
for (const [meant, names] of Object.entries(inThreads)) {
  for (const name of names) {
    t.test(
      `thread: ${name} beside the required fields: unknown_field, published nowhere`,
      async (t) => {
        const before = (await forum.anonymous.get('/api/threads')).text
        const { status, body } = await ana.thread({ [name]: 'private' })
        t.equal(`${status} ${body.error}`, '400 unknown_field')
        t.match(body.message, new RegExp(`^The field "${name}" is unknown; ${meant} was `))
        t.equal((await forum.anonymous.get('/api/threads')).text, before)
      },
    )
  }
}

t.test('thread: a required field is misspelled: the answer names it', async (t) => {
  const headers = { 'idempotency-key': newKey() }
  const { status, body } = await ana.post('/api/threads', { titel: 't', content: 'c' }, headers)
  t.equal(`${status} ${body.error}`, '400 unknown_field')
  t.match(body.message, '"titel" is unknown; title was')
})

t.test('reply, identity: a misspelled field: unknown_field', async (t) => {
  const id = await publishedThread(ana)
  const path = `/api/threads/${id}/replies`
  const headers = { 'idempotency-key': newKey() }
  const reply = await ben.post(path, { content: 'c', Content: 'd' }, headers)
  t.equal(`${reply.status} ${reply.body.error}`, '400 unknown_field')
  t.equal((await ana.read(id)).body.messages.length, 1)
  for (const name of ['displayName', 'display-name', 'dispaly_name', 'Kind', 'kinds']) {
    const { status, body } = await forum.anonymous.post('/api/identities', { [name]: 'guest' })
    t.equal(`${status} ${body.error}`, '400 unknown_field', name)
  }
})

t.test("any write: the client's own fields: ignored, even if short and similar", async (t) => {
  const id = await publishedThread(ana)
  const extra = {
    id: 1,
    name: 'x',
    time: 2,
    file: 'x',
    rtl: true,
    tags: [],
    metadata: { visibility: 'private' },
    parent_id: null,
    ['__proto__']: {},
    '': 1,
    ['x'.repeat(1000)]: 1,
    标题: 'x',
  }
  const headers = () => ({ 'idempotency-key': newKey() })
  t.equal((await ana.thread(extra)).status, 201)
  const reply = await ana.post(`/api/threads/${id}/replies`, { content: 'c', ...extra }, headers())
  t.equal(reply.status, 201)
  t.equal((await forum.anonymous.post('/api/identities', extra)).status, 201)
})

t.test('thread: the idempotency key in the body: accepted', async (t) => {
  const body = { title: 't', content: 'c', idempotency_key: newKey() }
  t.equal((await ana.post('/api/threads', body)).status, 201)
})

t.test('governance, webhook: an unknown field: named, with the likely intended one', async (t) => {
  const proposal = { kind: 'policy', title: 't', description: 'd', descripton: 'e' }
  const headers = { 'idempotency-key': newKey() }
  const proposed = await ana.post('/api/governance/proposals', proposal, headers)
  t.match(proposed.body, {
    error: 'unknown_field',
    message: 'The field "descripton" is unknown; description was probably meant.',
  })
  const webhook = { url: 'https://agent.example/', secret: 'x' }
  const registered = await ana.post('/api/notifications/webhook', webhook, headers)
  t.match(registered.body, {
    error: 'unknown_field',
    message: 'The field "secret" does not belong here.',
  })
})

/**
 * Returns the edit distance of two texts, in which swapping two neighbours is one edit, by the
 * textbook's table.
 */
function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => [i])
  for (let j = 0; j <= b.length; j++) rows[0][j] = j
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const replaced = rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)
      rows[i][j] = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap) rows[i][j] = Math.min(rows[i][j], rows[i - 2][j - 2] + 1)
    }
  }
  return rows[a.length][b.length]
}

t.test('near misses: any two names: as the edit distance says', async (t) => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 9 })
  const property = fc.property(letters, letters, (known, name) => {
    const expected = known !== name && distance(name, known) <= (known.length <= 5 ? 1 : 2)
    return (misspelledFields([known])({ [name]: 1 }) !== null) === expected
  })
  fc.assert(property, { numRuns: 20_000 })
  t.pass()
})

t.test('near misses: 20,000 unknown fields: only the first hundred are compared', async (t) => {
  const names = Array.from({ length: 20_000 }, (_, i) => [`contxyt${i % 7}${i}`, 1])
  t.equal(misspelledFields(['content'])(Object.fromEntries([...names, ['contnet', 1]])), null)
  t.match(misspelledFields(['content'])(Object.fromEntries([['contnet', 1], ...names])), {
    meant: 'content',
  })
})

t.test('near misses: a long name: shown in part', async (t) => {
  t.ok(unknownField('x'.repeat(100_000), ['title']).length < 100)
})
