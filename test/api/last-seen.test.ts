// When identities were last seen, and who follows a thread: docs/interface.md, "Identities" and
// "Who follows a thread".

import { once } from 'node:events'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { FollowerList, SeenIdentity } from '../../src/client/types.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { type Client, type Forum, publishedThread, startForum } from './harness.ts'
import { sample } from './operators.ts'

const forum = await startForum(t)
const minuteMs = 60_000

async function seen(on: Forum, { id }: Client): Promise<number | null> {
  const { body } = await on.anonymous.get(`/api/identities/${id}`)
  return (body as unknown as SeenIdentity).last_seen_at
}

/** Does the same over a connection of its own, which any process may have. */
async function seenApart({ url }: Forum, { id }: Client): Promise<number | null> {
  const [answer] = await once(get(`${url}/api/identities/${id}`, { agent: false }), 'response')
  return JSON.parse(await text(answer)).last_seen_at
}

async function followersOf(by: Client, thread: string, query = ''): Promise<FollowerList> {
  const { status, body, text: why } = await by.get(`/api/threads/${thread}/followers${query}`)
  if (status !== 200) throw new Error(why)
  return body as unknown as FollowerList
}

t.test('last seen: the minute of a request with the token, refused or not', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  t.equal(await seen(forum, ana), null, 'it has been registered, and has sent no token')
  const before = Math.floor(Date.now() / minuteMs) * minuteMs
  await ana.get('/api/notifications')
  await ben.read(`thr_${'0'.repeat(32)}`)
  for (const each of [ana, ben]) {
    const at = await seen(forum, each)
    t.ok(at !== null && at >= before && at <= Date.now(), `${before} ${at}`)
    t.equal(at! % minuteMs, 0)
  }
})

t.test('last seen: after a restart: forgotten, until the next request', async (t) => {
  const own = await startForum(t)
  const ana = await own.identity()
  await ana.get('/api/identities/me')
  t.type(await seen(own, ana), 'number')
  await own.stop()
  await own.start()
  t.equal(await seen(own, ana), null)
  await ana.get('/api/identities/me')
  t.type(await seen(own, ana), 'number')
})

t.test('last seen: with readers: every process knows', async (t) => {
  const ops = await freePort()
  const own = await startForum(t, ['--readers', '2', '--ops-port', `${ops}`])
  const serving = 'agent_forum_readers{state="serving"}'
  await until('both readers', async () => (await sample(ops, serving)) === 2)
  const ana = await own.identity()
  await ana.get('/api/identities/me')
  await until('all processes to know', async () => {
    const all = await Promise.all(Array.from({ length: 40 }, () => seenApart(own, ana)))
    return all.every((at) => at !== null)
  })
})

t.test('followers: in the order of following, with their places, page by page', async (t) => {
  const ana = await forum.identity({ display_name: 'Ana' })
  const ben = await forum.identity({ display_name: 'Ben' })
  const [cleo, dan] = [await forum.identity(), await forum.identity()]
  const thread = await publishedThread(ana)
  for (const each of [ben, dan, cleo]) await each.subscribe(thread)
  await dan.unsubscribe(thread)
  const { next_after } = (await ben.feed('?after=0')).body
  const mark = JSON.stringify({ through: next_after })
  await ben.send('PUT', '/api/notifications/read', { 'content-type': 'application/json' }, mark)
  const { followers, ...end } = await followersOf(ana, thread)
  t.strictSame(end, { next_after: null, has_more: false, content_is_untrusted: true })
  t.match(followers, [
    { id: ana.id, display_name: 'Ana', read_through: 0, last_seen_at: Number },
    { id: ben.id, display_name: 'Ben', read_through: next_after, last_seen_at: Number },
    { id: cleo.id, read_through: 0 },
  ])
  t.equal(followers.length, 3)
  const ids: string[] = []
  for (let after = ''; ; ) {
    const page = await followersOf(ana, thread, `?limit=1${after}`)
    ids.push(...page.followers.map(({ id }) => id))
    if (!page.has_more) break
    after = `&after=${page.next_after}`
  }
  t.strictSame(ids, [ana.id, ben.id, cleo.id])
  await dan.subscribe(thread)
  const again = await followersOf(ana, thread)
  t.strictSame(
    again.followers.map(({ id }) => id),
    [ana.id, ben.id, dan.id, cleo.id],
    'whoever comes back has the place of the first time',
  )
})

t.test('followers: for the author, or whoever takes part in a private thread', async (t) => {
  const [ana, ben, eve] = [await forum.identity(), await forum.identity(), await forum.identity()]
  const open = await publishedThread(ana)
  await ben.subscribe(open)
  const hidden = { visibility: 'private', participant_ids: [ben.id] }
  const secret = await publishedThread(ana, hidden)
  const refused = async (by: Client, thread: string, query = '') => {
    const { status, body } = await by.get(`/api/threads/${thread}/followers${query}`)
    return `${status} ${body.error}`
  }
  t.equal(await refused(ben, open), '403 not_author')
  t.equal(await refused(eve, secret), '404 not_found')
  t.equal(await refused(forum.anonymous, open), '401 authentication_required')
  t.equal(await refused(ana, open, `?after=${eve.id}`), '400 invalid_cursor')
  t.equal(await refused(ana, open, `?after=agt_${'0'.repeat(32)}`), '400 invalid_cursor')
  for (const each of [ana, ben]) {
    const { followers } = await followersOf(each, secret)
    t.strictSame(
      followers.map(({ id }) => id),
      [ana.id, ben.id],
    )
  }
})
