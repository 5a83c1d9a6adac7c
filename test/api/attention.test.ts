// Mentions, and the read position that the node keeps. docs/interface.md, "Mentions" and "What you
// have read".

import t from 'tap'
import {
  type Answer,
  type Client,
  type Notification,
  newKey,
  publishedThread,
  startForum,
} from './harness.ts'

const flags = ['--mentions-per-day-per-identity', '12']
const forum = await startForum(t, flags)
const absent = `agt_${'0'.repeat(32)}`

async function trio(): Promise<[Client, Client, Client]> {
  const [ana, ben, cleo] = await Promise.all([1, 2, 3].map(() => forum.identity()))
  return [ana!, ben!, cleo!]
}

async function items(caller: Client, query = '?limit=100'): Promise<Notification[]> {
  return (await caller.feed(query)).body.notifications
}

/** Publishes a reply that mentions these callers, each given as a client or by id. */
function reply(
  by: Client,
  thread: string,
  who: readonly (Client | string)[],
  key = newKey(),
): Promise<Answer> {
  const mention_ids = who.map((each) => (typeof each === 'string' ? each : each.id))
  const body = { content: 'hello', mention_ids }
  return by.post(`/api/threads/${thread}/replies`, body, { 'idempotency-key': key })
}

t.test('mention: in a thread that is not followed: once in the feed, and marked', async (t) => {
  const [ana, ben, cleo] = await trio()
  const id = await publishedThread(ana)
  const { status, body } = await reply(ana, id, [ben])
  t.equal(status, 201)
  t.match(await items(ben), [{ message_id: body.message_id, mentioned: true }])
  t.equal((await items(ben)).length, 1)
  t.strictSame(await items(cleo), [], 'nobody else has it')
  const { messages } = (await cleo.read(id)).body
  t.notOk('mention_ids' in messages[0], 'absent where nobody is mentioned')
  t.strictSame(messages[1].mention_ids, [ben.id])
  await ben.subscribe(id)
  const all = await items(ben)
  t.strictSame(
    all.map((item) => 'mentioned' in item),
    [false, true],
    'once, also if the thread is followed',
  )
  t.strictSame(await items(ben, '?only=mentions'), [all[1]])
  await ben.unsubscribe(id)
  await ana.reply(id)
  t.equal((await items(ben)).length, 1, 'a mention subscribes nobody')
})

t.test('mention: a poll that waits: is answered', async (t) => {
  const [ana, ben] = await trio()
  const id = await publishedThread(ana)
  const polls = ['?wait=50', '?wait=50&only=mentions', '?wait=50&after=read'].map((query) =>
    ben.feed(query),
  )
  await reply(ana, id, [ben])
  for (const poll of polls) t.match((await poll).body.notifications, [{ mentioned: true }])
})

t.test('mention: of nobody who may read it: 400, and nothing is published', async (t) => {
  const [ana, ben, cleo] = await trio()
  const secret = await publishedThread(ana, { visibility: 'private', participant_ids: [ben.id] })
  const open = await publishedThread(ana)
  const eleven = Array.from({ length: 11 }, (_, n) => `agt_${String(n).padStart(32, '0')}`)
  for (const { status, body } of [
    await reply(ana, open, [absent]),
    await reply(ana, open, ['agt_nobody']),
    await reply(ana, open, [ben, ben]),
    await reply(ana, open, eleven),
    await reply(ana, secret, [cleo]),
    await ana.thread({ visibility: 'private', mention_ids: [ben.id] }),
  ]) {
    t.strictSame([status, body.error], [400, 'invalid_mentions'])
  }
  t.equal((await reply(ana, secret, [ben, ana])).status, 201, 'those who take part, and oneself')
  t.equal((await items(ben)).filter((item) => 'mentioned' in item).length, 1)
  t.strictSame(await items(ana), [], 'own messages are not in a feed')
})

t.test('mention: a key used again: the same is replayed, others are a conflict', async (t) => {
  const [ana, ben, cleo] = await trio()
  const id = await publishedThread(ana)
  const key = newKey()
  const statuses: number[] = []
  for (const who of [[ben, cleo], [ben, cleo], [cleo, ben], [ben], []]) {
    statuses.push((await reply(ana, id, who, key)).status)
  }
  t.strictSame(statuses, [201, 200, 409, 409, 409])
})

t.test('mention: more than the limit of a day: 429, and without mentions 201', async (t) => {
  const [ana, ...others] = await Promise.all(Array.from({ length: 9 }, () => forum.identity()))
  const id = await publishedThread(ana!)
  const statuses: number[] = []
  for (const count of [8, 5, 4, 1, 0]) {
    statuses.push((await reply(ana!, id, others.slice(0, count))).status)
  }
  t.strictSame(statuses, [201, 429, 201, 429, 201], 'after 8 of 12 there are 4 left')
})

const readPath = '/api/notifications/read'
const json = { 'content-type': 'application/json' }
const mark = (caller: Client, through: unknown) =>
  caller.send('PUT', readPath, json, JSON.stringify({ through }))

t.test('place: nothing is marked: everything is unread', async (t) => {
  const [ana, ben] = await trio()
  const id = await publishedThread(ana)
  await ben.reply(id)
  const { status, body } = await ana.get(readPath)
  t.strictSame([status, body], [200, { through: 0, unread: 1, has_more_unread: false }])
  t.strictSame((await ana.feed('?after=read')).body.notifications, await items(ana))
})

t.test('place: marked: it goes forward only, survives, and the feed begins there', async (t) => {
  const [ana, ben] = await trio()
  const id = await publishedThread(ana)
  for (let i = 0; i < 3; i++) await ben.reply(id)
  const [first, second, third] = (await items(ana)).map(({ seq }) => seq)
  t.match((await mark(ana, second)).body, { through: second, unread: 1 })
  t.match((await mark(ana, first)).body, { through: second, unread: 1 }, 'not back')
  const page = (await ana.feed('?after=read')).body
  t.match(page, { notifications: [{ seq: third }], next_after: third })
  t.equal(page.epoch, (await ana.get('/api/status')).body.epoch)
  t.notOk('epoch' in (await ana.feed(`?after=${second}`)).body)
  t.equal((await items(ana)).length, 3, 'reading with a cursor is as before')
  t.match((await ben.get(readPath)).body, { through: 0 }, 'each identity has its own')
  await forum.stop('SIGKILL')
  await forum.start()
  t.match((await ana.get(readPath)).body, { through: second, unread: 1 })
})

t.test('place: beyond everything, negative or no number: 400, and nothing moves', async (t) => {
  const [ana] = await trio()
  for (const through of [1e9, -1, 1.5, '3', null, undefined]) {
    const { status, body } = await mark(ana, through)
    t.strictSame([status, body.error], [400, 'invalid_field'], `${through}`)
  }
  t.match((await ana.get(readPath)).body, { through: 0 })
  t.equal((await ana.feed('?after=unread')).body.error, 'invalid_number')
  t.equal((await forum.anonymous.get(readPath)).status, 401)
})

t.test('place: more than 1,000 unread: counted to 1,000', async (t) => {
  const [ana, ben] = await trio()
  const id = await publishedThread(ana)
  for (let i = 0; i < 1001; i += 77) {
    await Promise.all(Array.from({ length: Math.min(77, 1001 - i) }, () => ben.reply(id)))
  }
  t.match((await ana.get(readPath)).body, { unread: 1000, has_more_unread: true })
  const [{ seq }] = (await items(ana, '?limit=1')) as [Notification]
  t.match((await mark(ana, seq)).body, { unread: 1000, has_more_unread: false })
})
