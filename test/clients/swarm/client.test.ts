// Goal:   a request whose answer is lost is retried unchanged until it is answered or patience
//         ends.
// Method: a fake forum that refuses, breaks connections or does not answer, a few times.

import t, { type Test } from 'tap'
import { publish, readStatus, subscribe } from '../../../src/clients/swarm/calls.ts'
import { Client } from '../../../src/clients/swarm/client.ts'
import { Unreachable, WrongAnswer } from '../../../src/clients/swarm/failures.ts'
import { FakeForum, type Faults, type Operation } from './fake-forum.ts'
import { fakeForum } from './run.ts'

async function connected(t: Test, faults: Faults, patienceMs = 20_000) {
  const forum = await fakeForum(t)
  const client = new Client({ url: forum.url, connections: 2, patienceMs })
  t.teardown(() => client.close())
  await readStatus(client)
  const answer = await client.send({
    operation: 'create identity',
    method: 'POST',
    path: '/api/identities',
    body: { kind: 'guest', display_name: 'ana' },
  })
  forum.faults = faults
  const { token } = answer.body as { token: string }
  const body = { title: 'a title', content: 'text' }
  return { forum, client, post: { token, key: 'key-0001', threadId: null, body, replay: false } }
}

const upTo =
  <T>(count: number, operation: Operation, then: T) =>
  (requested: Operation, nth: number): T | null =>
    requested === operation && nth <= count ? then : null

t.test('client: the answer to a publication is lost: the retry has the same key', async (t) => {
  const { forum, client, post } = await connected(t, {
    answer: (_, answer, nth) => (nth === 1 ? 'lost' : answer),
  })
  const publication = await publish(client, post)
  t.equal(publication.replayed, true, 'the first try had published')
  t.same(forum.keys, ['key-0001', 'key-0001'])
  t.equal(client.retries.connection, 1)
})

t.test('client: 503 twice, then room: published once, both retries counted', async (t) => {
  const refused = { status: 503, body: { error: 'overloaded' } }
  const { client, post } = await connected(t, { refuse: upTo(2, 'thread', refused) })
  const publication = await publish(client, post)
  t.equal(publication.replayed, false)
  t.equal(client.retries.unavailable, 2)
})

t.test('client: 429 with Retry-After: no other try before that time', async (t) => {
  const refused = { status: 429, body: { error: 'rate_limited' }, headers: { 'retry-after': '1' } }
  const { client, post } = await connected(t, { refuse: upTo(1, 'thread', refused) })
  const startedAt = performance.now()
  await publish(client, post)
  t.ok(performance.now() - startedAt >= 990)
  t.equal(client.retries.quota, 1)
})

t.test('client: Retry-After beyond the patience: abandoned at once, with the reason', async (t) => {
  const headers = { 'retry-after': '3600' }
  const refused = { status: 429, body: { error: 'rate_limited' }, headers }
  const { forum, client, post } = await connected(t, { refuse: upTo(9, 'thread', refused) })
  await t.rejects(
    publish(client, post),
    new Unreachable('POST /api/threads: gave up after 1 tries: answered 429 rate_limited'),
  )
  t.equal(forum.seen.get('thread'), 1)
})

t.test('client: 503 to a request that is sent later than patience: is retried', async (t) => {
  const refused = { status: 503, body: { error: 'overloaded' } }
  const { client } = await connected(t, { refuse: upTo(1, 'thread', refused) })
  const dueAt = performance.now() - 60_000
  const body = { title: 'a title', content: 'text' }
  const post = { method: 'POST', path: '/api/threads', body, dueAt } as const
  t.match(await client.send({ ...post, operation: 'create thread' }), { tries: 2 })
})

t.test('client: no answer at all: counted as a timeout and retried', async (t) => {
  const forum = new FakeForum()
  await forum.start()
  t.teardown(() => forum.stop())
  const silent = { nth: 0 }
  const options = { url: forum.url, connections: 1, patienceMs: 60_000, answerTimeoutMs: 300 }
  const client = new Client(options)
  t.teardown(() => client.close())
  await readStatus(client)
  forum.faults.answer = (_, answer) => (silent.nth++ === 0 ? 'silent' : answer)
  await readStatus(client)
  t.ok(client.retries.timeout >= 1)
})

t.test('client: no server at all: the first request fails at once', async (t) => {
  const forum = await fakeForum(t)
  await forum.stop()
  const client = new Client({ url: forum.url, connections: 1, patienceMs: 60_000 })
  t.teardown(() => client.close())
  await t.rejects(readStatus(client), { message: /^no server at http:.*ECONNREFUSED/ })
  t.equal(client.retries.connection, 0)
})

t.test(
  'client: closed while many wait to retry: each ends, and Node prints no warning',
  async (t) => {
    const refused = { status: 503, body: { error: 'starting' }, headers: { 'retry-after': '600' } }
    const { client, post } = await connected(t, { refuse: upTo(99, 'thread', refused) }, 6_000_000)
    const warnings: Error[] = []
    const warned = (warning: Error) => warnings.push(warning)
    process.on('warning', warned)
    t.teardown(() => process.off('warning', warned))
    const waiting = Array.from({ length: 20 }, () =>
      t.rejects(publish(client, post), { name: 'AbortError' }),
    )
    while (client.retries.unavailable < 20) await new Promise((resolve) => setImmediate(resolve))
    await client.close()
    await Promise.all(waiting)
    t.same(warnings, [])
  },
)

t.test('client: a status that the interface does not allow: reported, not retried', async (t) => {
  const { forum, client, post } = await connected(t, {})
  const threadId = `thr_${'0'.repeat(32)}`
  await t.rejects(
    subscribe(client, post.token, threadId),
    new WrongAnswer(`POST /api/threads/${threadId}/subscribe answered 404 not_found (due: 200)`),
  )
  t.equal(forum.seen.get('subscribe'), 1)
})

t.test('client: a replay although no answer was lost: reported as an error', async (t) => {
  const { client, post } = await connected(t, {})
  await publish(client, post)
  await t.rejects(publish(client, post), { message: /answered 200 \(due: 201\)/ })
})

t.test('client: an answer: timed from first try to answer, lost tries included', async (t) => {
  const refused = { status: 503, body: { error: 'overloaded' }, headers: { 'retry-after': '1' } }
  const { client, post } = await connected(t, { refuse: upTo(1, 'thread', refused) })
  await publish(client, post)
  const timing = client.timings.get('create thread')
  t.equal(timing?.latency.count, 1)
  t.ok((timing?.latency.max ?? 0) >= 990_000, 'microseconds')
})
