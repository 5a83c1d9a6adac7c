// Types of messages: docs/interface.md, "Types".

import t from 'tap'
import { type Answer, type Client, newKey, publishedThread, startForum } from './harness.ts'

const forum = await startForum(t)
const [ana, ben] = [await forum.identity(), await forum.identity()]

function reply(by: Client, thread: string, type?: unknown, key = newKey()): Promise<Answer> {
  const headers = { 'idempotency-key': key }
  return by.post(`/api/threads/${thread}/replies`, { content: `${type}`, type }, headers)
}

const typesOf = ({ messages }: Answer['body']) => messages.map(({ type }) => type)

t.test(
  'type: of a thread and of replies: shown on the message, and absent when none',
  async (t) => {
    const id = await publishedThread(ana, { type: 'question' })
    for (const type of [undefined, 'answer', 'a', `a${'-9'.repeat(15)}z`]) {
      t.equal((await reply(ben, id, type)).status, 201, `${type}`)
    }
    const { body } = await ana.read(id)
    t.strictSame(typesOf(body), ['question', undefined, 'answer', 'a', `a${'-9'.repeat(15)}z`])
    t.notOk('type' in body.messages[1]!)
    t.equal((await ana.get('/api/status')).body.capabilities.types, true)
  },
)

t.test('type: that no message may have: 400, and nothing is published', async (t) => {
  const id = await publishedThread(ana)
  for (const type of ['', 'A', '9', '-a', 'a_b', 'a b', 'é', 'a'.repeat(33), 5, null, ['a']]) {
    const { status, body } = await reply(ana, id, type)
    t.strictSame([status, body.error], [400, 'invalid_field'], JSON.stringify(type))
    t.match(await ana.thread({ type }), { status: 400, body: { error: 'invalid_field' } })
  }
  t.equal((await ana.read(id)).body.messages.length, 1)
})

t.test('type: a key used again: the same is replayed, another is a conflict', async (t) => {
  const id = await publishedThread(ana)
  const key = newKey()
  const statuses: number[] = []
  for (const type of ['question', 'question', 'answer', undefined]) {
    statuses.push((await reply(ana, id, type, key)).status)
  }
  const headers = { 'idempotency-key': newKey() }
  for (const type of ['question', 'question', undefined]) {
    statuses.push((await ana.thread({ type }, headers)).status)
  }
  t.strictSame(statuses, [201, 200, 409, 409, 201, 200, 409])
})

t.test('type=: in a thread, forwards and backwards: only these, in pages', async (t) => {
  const id = await publishedThread(ana, { type: 'a' })
  for (const type of ['b', 'a', 'b', undefined, 'a', 'b', undefined]) await reply(ben, id, type)
  const seqs = (await ana.messages(id)).map(({ seq }) => seq)
  const of = [seqs[0], seqs[2], seqs[5]]
  const shown = ({ messages }: Answer['body']) => messages.map(({ seq }) => seq)
  const all = (await ana.read(id, '?type=a')).body
  t.strictSame(shown(all), of)
  t.match(all, { next_after: seqs[7], has_more: false }, 'it leads past the others')
  const first = (await ana.read(id, '?type=a&limit=2')).body
  t.strictSame(shown(first), of.slice(0, 2))
  t.match(first, { next_after: seqs[2], has_more: true })
  t.strictSame(shown((await ana.read(id, `?type=a&after=${seqs[2]}`)).body), [seqs[5]])
  const last = (await ana.read(id, '?type=a&before=end&limit=2')).body
  t.strictSame(shown(last), of.slice(1))
  t.match(last, { next_before: seqs[2], has_more: true })
  const before = (await ana.read(id, `?type=a&before=${last.next_before}`)).body
  t.strictSame([shown(before), before.next_before, before.has_more], [[seqs[0]], null, false])
  t.strictSame(shown((await ana.read(id, '?type=unknown')).body), [])
  for (const query of ['?type=', '?type=A', '?type=a_b']) {
    const { status, body } = await ana.read(id, query)
    t.strictSame([status, body.error], [400, 'invalid_query'], query)
  }
})

t.test('type=: on the feed: only these, and the page leads past the others', async (t) => {
  const [reader, writer] = [await forum.identity(), await forum.identity()]
  const id = await publishedThread(reader)
  for (const type of ['task', undefined, 'note', 'task', 'note']) await reply(writer, id, type)
  const mention = { content: 'c', type: 'task', mention_ids: [reader.id] }
  const elsewhere = await publishedThread(writer, mention)
  const all = (await reader.feed('?include=content')).body
  t.strictSame(
    all.notifications.map(({ type }) => type),
    ['task', undefined, 'note', 'task', 'note', 'task'],
  )
  const tasks = (await reader.feed('?type=task&limit=2')).body
  t.strictSame(
    tasks.notifications.map(({ seq }) => seq),
    [all.notifications[0]!.seq, all.notifications[3]!.seq],
  )
  t.match(tasks, { next_after: all.notifications[3]!.seq, has_more: true })
  const rest = (await reader.feed(`?type=task&after=${tasks.next_after}`)).body
  t.match(rest.notifications, [{ thread_id: elsewhere, mentioned: true }])
  const notes = (await reader.feed('?type=note')).body
  t.equal(notes.notifications.length, 2)
  t.equal(notes.has_more, false)
  t.ok(notes.next_after >= all.notifications[5]!.seq, 'nothing is examined twice')
  t.match(await reader.feed('?type=N'), { status: 400, body: { error: 'invalid_query' } })
})

t.test('type=: a poll that waits: for one of the type, and for no other', async (t) => {
  const [reader, writer] = [await forum.identity(), await forum.identity()]
  const id = await publishedThread(reader)
  const { next_after } = (await reader.read(id)).body
  const polls = [
    reader.feed('?type=done&wait=50'),
    reader.read(id, `?type=done&wait=50&after=${next_after}`),
  ]
  let isAnswered = false
  void Promise.race(polls).then(() => {
    isAnswered = true
  })
  await reply(writer, id, 'progress')
  await reader.feed()
  t.notOk(isAnswered, 'another type is no news')
  await reply(writer, id, 'done')
  const [feed, thread] = await Promise.all(polls)
  t.equal(feed!.body.notifications.length, 1)
  t.strictSame(typesOf(thread!.body), ['done'])
})

t.test('type: after a restart: as before', async (t) => {
  const id = await publishedThread(ana, { type: 'before' })
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    await forum.stop(signal)
    await forum.start()
    await reply(ben, id, 'after')
    t.strictSame(typesOf((await ana.read(id, '?type=before')).body), ['before'], signal)
  }
  t.strictSame(typesOf((await ana.read(id, '?type=after')).body), ['after', 'after'])
})
