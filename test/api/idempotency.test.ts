// Idempotency keys: docs/interface.md, "Idempotency".

import t from 'tap'
import { type Answer, newKey, publishedThread, startForum } from './harness.ts'

const forum = await startForum(t)
const ana = await forum.identity({ display_name: 'ana' })
const ben = await forum.identity({ display_name: 'ben' })
const fields = { title: 'a title', content: 'first message' }
const key = (value: string) => ({ 'idempotency-key': value })

/** Returns an answer without the one field in which a replay differs. */
function published({ text }: Answer) {
  const { replayed, ...rest } = JSON.parse(text)
  return rest
}

async function messageCount(id: string): Promise<number> {
  return (await ana.read(id)).body.thread.message_count
}

t.test('key: a thread again: 200 with the original fields, replayed', async (t) => {
  const header = key(newKey())
  const first = await ana.thread(fields, header)
  const again = await ana.thread(fields, header)
  t.strictSame([first.status, first.body.replayed], [201, false])
  t.strictSame([again.status, again.body.replayed], [200, true])
  t.strictSame(published(again), published(first))
  t.equal(await messageCount(first.body.thread_id), 1)
})

t.test('key: a reply again after unsubscribing: replayed, and subscribes nobody', async (t) => {
  const id = await publishedThread(ana)
  const header = key(newKey())
  await ben.reply(id, 'once', header)
  await ben.unsubscribe(id)
  t.equal((await ben.reply(id, 'once', header)).status, 200)
  const { notifications } = (await ben.feed('?limit=100')).body
  t.notOk(notifications.some(({ thread_id }) => thread_id === id))
})

t.test('key: as a property of the body: equivalent to the header', async (t) => {
  const id = await publishedThread(ana)
  const paths: [string, Record<string, unknown>][] = [
    ['/api/threads', fields],
    [`/api/threads/${id}/replies`, { content: 'a reply' }],
  ]
  for (const [path, body] of paths) {
    const idempotency_key = newKey()
    const first = await ana.post(path, { ...body, idempotency_key })
    t.equal(first.status, 201)
    t.equal((await ana.post(path, { ...body, idempotency_key })).status, 200)
    const byHeader = await ana.post(path, body, key(idempotency_key))
    t.equal(byHeader.status, 200, 'the key is not part of the comparison')
    t.strictSame(published(byHeader), published(first))
  }
})

t.test('key: in header and body: the header counts', async (t) => {
  const [inHeader, inBody] = [newKey(), newKey()]
  const both = { ...fields, idempotency_key: inBody }
  const first = await ana.post('/api/threads', both, key(inHeader))
  const replay = await ana.post('/api/threads', fields, key(inHeader))
  t.strictSame(published(replay), published(first))
  const fresh = await ana.post('/api/threads', fields, key(inBody))
  t.equal(fresh.status, 201, 'the property was not used')
  const malformed = await ana.post(
    '/api/threads',
    { ...fields, idempotency_key: newKey() },
    key('x'),
  )
  t.equal(malformed.body.error, 'idempotency_required')
  for (const idempotency_key of ['x', 7, null]) {
    const ignored = await ana.post('/api/threads', { ...fields, idempotency_key }, key(newKey()))
    t.equal(ignored.status, 201)
  }
})

t.test('key: every allowed character, lengths 8 and 128: published', async (t) => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-'
  for (const good of ['8.chars-', 'x'.repeat(128), alphabet, '--------', '::::::::']) {
    t.equal((await ana.thread(fields, key(good))).status, 201, good)
    t.equal((await ana.thread(fields, key(good))).status, 200, good)
  }
})

t.test('key: missing or malformed: idempotency_required, for threads and replies', async (t) => {
  const id = await publishedThread(ana)
  const malformed = [
    '',
    '7-chars',
    'x'.repeat(129),
    'has space',
    'comma,comma',
    'slash/slash',
    'a+b+c+d+',
  ]
  const inBody = [...malformed, 'émile-émile', '12345678\n', 12345678, null, ['12345678']]
  for (const path of ['/api/threads', `/api/threads/${id}/replies`]) {
    const answers = [
      await ana.post(path, fields),
      ...(await Promise.all(malformed.map((value) => ana.post(path, fields, key(value))))),
      ...(await Promise.all(
        inBody.map((idempotency_key) => ana.post(path, { ...fields, idempotency_key })),
      )),
    ]
    for (const { status, body } of answers) {
      t.equal(`${status} ${body.error}`, '400 idempotency_required')
    }
  }
  t.equal(await messageCount(id), 1)
})

t.test('key: another payload: idempotency_conflict, the original stays', async (t) => {
  const header = key(newKey())
  const first = await ana.thread(fields, header)
  const others = [
    { title: 'another title' },
    { title: 'a title ' },
    { content: 'another' },
    { content: 'first message\n' },
    { visibility: 'private' },
    { participant_ids: [ben.id] },
    { title: fields.content, content: fields.title },
  ]
  for (const other of others) {
    const { status, body } = await ana.thread({ ...fields, ...other }, header)
    t.equal(`${status} ${body.error}`, '409 idempotency_conflict', JSON.stringify(other))
  }
  t.strictSame(published(await ana.thread(fields, header)), published(first))
})

t.test('key: the same payload with defaults or unknown fields: a replay', async (t) => {
  const header = key(newKey())
  const first = await ana.thread(fields, header)
  const same = [{ visibility: 'public' }, { participant_ids: [] }, { unknown: 1 }]
  for (const other of same) {
    const again = await ana.thread({ ...other, ...fields }, header)
    t.equal(again.status, 200, JSON.stringify(other))
    t.strictSame(published(again), published(first))
  }
})

t.test('key: an unpaired surrogate sent again: a replay', async (t) => {
  const header = key(newKey())
  t.equal((await ana.thread({ content: '\ud800' }, header)).status, 201)
  t.equal((await ana.thread({ content: '\ud800' }, header)).status, 200)
  t.equal((await ana.thread({ content: '\ufffd' }, header)).status, 200)
})

t.test('key: equal requests in flight together: one message, all answers name it', async (t) => {
  const id = await publishedThread(ana)
  const header = key(newKey())
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => ana.reply(id, 'in parallel', header)),
  )
  t.equal(answers.filter(({ status }) => status === 201).length, 1)
  t.equal(answers.filter(({ status }) => status === 200).length, 19)
  for (const answer of answers) t.strictSame(published(answer), published(answers[0]))
  t.equal(await messageCount(id), 2)
})

t.test('key: different requests in flight together: one wins, the other conflicts', async (t) => {
  const id = await publishedThread(ana)
  const header = key(newKey())
  const answers = await Promise.all(['a', 'b'].map((content) => ana.reply(id, content, header)))
  t.strictSame(answers.map(({ status }) => status).toSorted(), [201, 409])
  t.equal(await messageCount(id), 2)
})

t.test('key: of a request that was refused: still unused', async (t) => {
  const id = await publishedThread(ana)
  const header = key(newKey())
  const refused = [
    await ana.thread({ title: '' }, header),
    await ana.thread({ participant_ids: ['nobody'] }, header),
    await ana.reply(id, '', header),
    await ana.reply(`thr_${'0'.repeat(32)}`, 'x', header),
    await ana.thread(fields, { ...header, origin: 'http://elsewhere.example' }),
  ]
  t.ok(refused.every(({ status }) => status >= 400))
  t.equal((await ana.thread(fields, header)).status, 201)
})
