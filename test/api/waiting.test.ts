// Polls that wait for news: docs/interface.md, "Waiting for news". Each way in which a wait can
// end, on a real node, with both HTTP servers.

import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { type Client, publishedThread, startForum } from './harness.ts'
import { sample } from './operators.ts'
import { requestText, wire } from './wire.ts'

const ops = await freePort()
const forum = await startForum(t, ['--ops-port', `${ops}`])

const waiting = (port = ops) => sample(port, 'agent_forum_waiting')
const ended = (how: string, port = ops) =>
  sample(port, `agent_forum_waiting_ended_total{how="${how}"}`)

/** Creates two identities, and a thread by the first one. */
async function scene() {
  const [ana, ben] = await Promise.all([forum.identity(), forum.identity()])
  const thread = await publishedThread(ana)
  const { next_after: after } = (await ana.read(thread)).body
  return { ana, ben, thread, after }
}

function held(count: number, port = ops): Promise<true> {
  return until(`${count} waiting`, async () => (await waiting(port)) === count)
}

// uws.ts, U5: between requests, the library would close a connection that is silent for this long.
const patient = (async () => {
  const ana = await (await startForum(t)).identity()
  const begun = performance.now()
  const { status, body } = await ana.feed('?wait=14')
  return { status, items: body.notifications.length, ms: performance.now() - begun }
})()

t.test('waiting: a reply: the readers of feed and thread have it', async (t) => {
  const { ana, ben, thread, after } = await scene()
  const polls = [
    ana.feed(`?after=${after}&wait=50`),
    forum.anonymous.read(thread, `?after=${after}&wait=50`),
  ]
  await held(2)
  const { body } = await ben.reply(thread)
  const [feed, page] = await Promise.all(polls)
  t.equal(feed.body.notifications[0].message_id, body.message_id)
  t.equal(page.body.messages[0].id, body.message_id)
  t.equal((await ana.feed(`?after=${after}&wait=50`)).body.notifications.length, 1, 'at once')
})

t.test('waiting: follows a thread meanwhile: its messages are news', async (t) => {
  const { ana, ben, thread } = await scene()
  const poll = ben.feed('?wait=50')
  await held(1)
  await ben.subscribe(thread)
  t.equal((await poll).body.notifications[0].author_id, ana.id)
})

t.test('waiting: nothing comes: empty, after the requested seconds', async (t) => {
  const { ana, thread, after } = await scene()
  const before = await ended('time')
  const begun = performance.now()
  const polls = [ana.feed(`?after=${after}&wait=1`), ana.read(thread, `?after=${after}&wait=1`)]
  for (const { status, body } of await Promise.all(polls)) {
    t.match([status, body], [200, { next_after: after, has_more: false }])
  }
  t.ok(performance.now() - begun >= 999)
  t.equal(await ended('time'), before + 2)
})

t.test('waiting: the client hangs up: the node forgets it', async (t) => {
  const { ana, after } = await scene()
  const before = await ended('gone')
  const headers = { Authorization: `Bearer ${ana.token}` }
  const text = requestText('GET', `/api/notifications?after=${after}&wait=50`, headers)
  const [reset, closed] = [await wire(t, forum.port), await wire(t, forum.port)]
  for (const { socket } of [reset, closed]) socket.write(text)
  await held(2)
  reset.socket.resetAndDestroy()
  closed.socket.destroy()
  await held(0)
  t.equal(await ended('gone'), before + 2)
})

t.test('waiting: a connection that has waited is used again', async (t) => {
  const { ana, ben, thread, after } = await scene()
  const connection = await wire(t, forum.port)
  const headers = { Authorization: `Bearer ${ana.token}` }
  for (let i = 0, cursor = after; i < 3; i++) {
    const path = `/api/notifications?after=${cursor}&wait=50`
    await connection.write(requestText('GET', path, headers))
    await held(1)
    await ben.reply(thread)
    const { notifications, next_after } = JSON.parse((await connection.answer()).text)
    t.equal(notifications.length, 1)
    cursor = next_after
  }
})

t.test('waiting: HEAD, and an absent thread: as without waiting', async (t) => {
  const { ana, after } = await scene()
  const absent = `/api/threads/thr_${'0'.repeat(32)}?wait=50`
  t.equal((await ana.get(absent)).status, 404)
  const { status, text } = await ana.send('HEAD', `/api/notifications?after=${after}&wait=1`)
  t.strictSame([status, text], [200, ''])
})

t.test('waiting: in the status: a capability', async (t) => {
  const { body } = await forum.anonymous.get('/api/status')
  t.match(body, { capabilities: { waiting_polls: true } })
})

interface Limited {
  ana: Client
  port: number
  /** Causes the news for which ana's polls wait. */
  tellAna(): Promise<unknown>
}

async function limited(t: Test, ...flags: string[]): Promise<Limited> {
  const port = await freePort()
  const forum = await startForum(t, ['--ops-port', `${port}`, ...flags])
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  return { ana, port, tellAna: () => publishedThread(ben, { participant_ids: [ana.id] }) }
}

t.test('waiting: over --waiting-max: answered at once, counted', async (t) => {
  const { ana, port, tellAna } = await limited(t, '--waiting-max', '1')
  const first = ana.feed('?wait=50')
  await held(1, port)
  t.strictSame((await ana.feed('?wait=50')).body.notifications, [])
  t.equal(await ended('full', port), 1)
  await tellAna()
  t.equal((await first).body.notifications.length, 1)
})

t.test('waiting: seven eighths of the connections may wait: others are served', async (t) => {
  const { ana, port } = await limited(t, '--connections-max', '16')
  t.equal(await sample(port, 'agent_forum_limit{of="waiting"}'), 50_000)
  const thread = await publishedThread(ana)
  const agents: Client[] = []
  for (let i = 0; i < 14; i++) agents.push(await ana.forum.identity())
  for (const agent of agents) await agent.subscribe(thread)
  const after = (await agents[0]!.feed()).body.next_after
  const polls = agents.map((agent) => agent.feed(`?wait=50&after=${after}`))
  await held(14, port)
  t.equal((await ana.get('/api/status')).status, 200)
  await ana.reply(thread)
  for (const { body } of await Promise.all(polls)) t.equal(body.notifications.length, 1)
})

t.test('waiting: SIGTERM: all are answered before the node ends', async (t) => {
  const port = await freePort()
  const forum = await startForum(t, ['--ops-port', `${port}`])
  const agents = await Promise.all(Array.from({ length: 30 }, () => forum.identity()))
  const polls = agents.map((agent) => agent.feed('?wait=50'))
  await held(30, port)
  const stopped = forum.stop()
  for (const { status, body } of await Promise.all(polls)) {
    t.match([status, body], [200, { notifications: [], next_after: 0 }])
  }
  t.match(await stopped, { code: 0 })
})

t.test('waiting: killed meanwhile: nothing of it is on disk, the node starts', async (t) => {
  const forum = await startForum(t)
  const ana = await forum.identity()
  const before = ana.feed('?wait=50').catch((error: Error) => error)
  await sleep(100)
  await forum.stop('SIGKILL')
  t.ok((await before) instanceof Error)
  await forum.start()
  t.strictSame((await ana.feed('?wait=1')).body.notifications, [])
})

t.test('waiting: longer than a silent connection may be: answered', async (t) => {
  const { status, items, ms } = await patient
  t.strictSame([status, items], [200, 0])
  t.ok(ms >= 13_999, `${ms} ms`)
})
