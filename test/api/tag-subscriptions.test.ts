// Following tags: docs/interface.md, "Following tags".

import t from 'tap'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { type Client, publishedThread, startForum } from './harness.ts'
import { sample } from './operators.ts'
import { lab, newReceiver, settled, woken } from './webhook-lab.ts'

const ops = await freePort()
const forum = await startForum(t, [...lab, '--ops-port', `${ops}`])
const held = () =>
  until('a poll that waits', async () => (await sample(ops, 'agent_forum_waiting')) === 1)
const json = { 'content-type': 'application/json' }

const follow = (by: Client, tag: string) => by.send('POST', `/api/tags/${tag}/subscribe`)
const unfollow = (by: Client, tag: string) => by.del(`/api/tags/${tag}/subscribe`)
const setTags = (by: Client, id: string, tags: string[]) =>
  by.send('PUT', `/api/threads/${id}/tags`, json, JSON.stringify({ tags }))

/** Returns the threads in the feed, each with its tag. */
async function feedOf(by: Client, query = '') {
  const { notifications } = (await by.feed(`?after=0&limit=100${query}`)).body
  return notifications.map(({ thread_id, tag }) => [thread_id, tag])
}

t.test('tag: followed: new public threads with it, once, with the tag', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  await publishedThread(ana, { tags: ['ci'] })
  const { status, body } = await follow(ben, 'ci')
  t.equal(status, 200)
  const { follow_up, ...rest } = body as typeof body & { follow_up: unknown }
  t.ok(follow_up)
  const how = { notifications: '/api/notifications?after=0', delivery: 'poll' }
  t.strictSame(rest, { tag: 'ci', subscribed: true, ...how })
  await follow(ben, 'docs')
  const one = await publishedThread(ana, { tags: ['x', 'docs', 'ci'] })
  await ana.reply(one)
  const two = await publishedThread(ana, { tags: ['ci'] })
  await publishedThread(ana, { tags: ['cia'] })
  await publishedThread(ana, { tags: ['ci'], visibility: 'private' })
  await publishedThread(ben, { tags: ['ci'] })
  const expected = [
    [one, 'docs'],
    [two, 'ci'],
  ]
  t.strictSame(await feedOf(ben), expected)
  t.strictSame(await feedOf(ben, '&include=content'), expected)
  t.strictSame(await feedOf(ben, '&only=mentions'), [])
  t.match((await ben.get('/api/notifications/read')).body, { unread: 2 })
  t.strictSame(await feedOf(ana), [], 'nobody is told of their own threads')
})

t.test('tag: of a thread that mentions, and that is followed: one item', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  await follow(ben, 'once')
  const mentioning = { tags: ['once'], mention_ids: [ben.id] }
  const id = await publishedThread(ana, mentioning)
  const items = async () => (await ben.feed('?after=0')).body.notifications
  t.match(await items(), [{ thread_id: id, mentioned: true, tag: 'once' }])
  await ben.subscribe(id)
  t.match(await items(), [{ thread_id: id, mentioned: true, tag: 'once' }])
  await unfollow(ben, 'once')
  t.match(await items(), [{ thread_id: id, mentioned: true }])
  t.notOk('tag' in (await items())[0]!)
})

t.test('tag: taken or given later: the feed has what has it now, in its place', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  await follow(ben, 'later')
  const [one, two] = [await publishedThread(ana, { tags: ['later'] }), await publishedThread(ana)]
  await setTags(ana, one, [])
  await setTags(ana, two, ['later'])
  t.strictSame(await feedOf(ben), [[two, 'later']])
  await setTags(ana, one, ['later'])
  t.strictSame(await feedOf(ben), [
    [one, 'later'],
    [two, 'later'],
  ])
})

t.test('tag: followed and unfollowed twice: the same answers, and nothing changes', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  t.strictSame((await unfollow(ben, 'twice')).body, { tag: 'twice', subscribed: false })
  const first = await follow(ben, 'twice')
  const id = await publishedThread(ana, { tags: ['twice'] })
  t.strictSame((await follow(ben, 'twice')).body, first.body)
  t.strictSame(await feedOf(ben), [[id, 'twice']], 'it goes on where it began')
  for (let i = 0; i < 2; i++) {
    t.strictSame((await unfollow(ben, 'twice')).body, { tag: 'twice', subscribed: false })
    t.strictSame(await feedOf(ben), [])
  }
  await follow(ben, 'twice')
  t.strictSame(await feedOf(ben), [], 'it begins anew')
})

t.test('tag: the 65th: 409, until another one is unfollowed', async (t) => {
  const ana = await forum.identity()
  for (let i = 0; i < 64; i++) t.equal((await follow(ana, `t${i}`)).status, 200)
  t.match(await follow(ana, 't64'), { status: 409, body: { error: 'too_many_tags' } })
  t.equal((await follow(ana, 't3')).status, 200, 'it is followed')
  await unfollow(ana, 't7')
  t.equal((await follow(ana, 't64')).status, 200)
})

t.test('tag: malformed, or without a token: refused', async (t) => {
  const ana = await forum.identity()
  for (const tag of ['A', '_a', 'a%20b', 'a'.repeat(41)]) {
    t.match(await follow(ana, tag), { status: 400, body: { error: 'invalid_id' } }, tag)
  }
  t.match(await follow(forum.anonymous, 'ci'), { status: 401 })
})

t.test('tag: a poll that waits: ends for a new thread with it', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  const { next_after: after } = (await ben.feed('?after=0')).body
  const waits = ben.feed(`?after=${after}&wait=50`)
  await held()
  await follow(ben, 'waited')
  await held()
  const id = await publishedThread(ana, { tags: ['waited'] })
  t.match((await waits).body.notifications, [{ thread_id: id, tag: 'waited' }])
  t.equal(await sample(ops, 'agent_forum_waiting_ended_total{how="time"}'), 0, 'before its time')
})

t.test('tag: a webhook: woken for new threads with it, and not for others', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  const receiver = await newReceiver()
  await follow(ben, 'hooked')
  await woken(ben, receiver)
  await follow(ben, 'hooked-later')
  await publishedThread(ana, { tags: ['other'] })
  for (const [i, tag] of ['hooked', 'hooked-later'].entries()) {
    const id = await publishedThread(ana, { tags: [tag] })
    await receiver.until(() => receiver.wakeups.length > i)
    const { seq } = (await ana.read(id)).body.messages[0]
    t.match(receiver.wakeups[i]!.body, { after: seq - 1, through: seq })
    await until('a delivery', async () => (await settled(ben)).length === i + 1)
  }
})

t.test('tag: after a kill and a clean stop: still followed', async (t) => {
  const own = await startForum(t)
  const [ana, ben] = [await own.identity(), await own.identity()]
  await follow(ben, 'kept')
  await follow(ben, 'left')
  await unfollow(ben, 'left')
  const expected: unknown[] = []
  for (const end of ['SIGKILL', 'SIGTERM'] as const) {
    await own.stop(end)
    await own.start()
    const id = await publishedThread(ana, { tags: ['left', 'kept'] })
    expected.push([id, 'kept'])
    t.strictSame(await feedOf(ben), expected, end)
  }
})
