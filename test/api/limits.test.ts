// Limits on what callers can make a node hold: connections, incoming bodies, unread answers,
// memory. Beyond each limit a request is refused, and a metric counts the refusal.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { type Client, type Forum, newKey, publishedThread, startForum } from './harness.ts'
import { ask, sample } from './operators.ts'
import { requestText, type Wire, wire } from './wire.ts'

interface Watched {
  forum: Forum
  ops: number
}

async function startWatched(t: Test, ...flags: string[]): Promise<Watched> {
  const ops = await freePort()
  return { forum: await startForum(t, ['--ops-port', `${ops}`, ...flags]), ops }
}

function refused(ops: number, why: string): Promise<number> {
  return sample(ops, `agent_forum_refusals_total{why="${why}"}`)
}

function post(ana: Client, path: string, body: string): string {
  const headers = {
    'Content-Type': 'application/json',
    Authorization: `Bearer ${ana.token}`,
    'Idempotency-Key': newKey(),
  }
  return requestText('POST', path, headers, body)
}

/** Returns whether a connection is accepted and a request on it is answered. */
async function isServed(port: number, kept: Socket[]): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {}) // a refused or reset connection closes
  socket.write(requestText('GET', '/api/status'))
  const outcome = await new Promise<unknown>((resolve) => {
    socket.once('data', resolve).once('close', resolve)
  })
  if (!Buffer.isBuffer(outcome)) return false
  kept.push(socket)
  return true
}

t.test('connections: a burst over the limit: exactly as many as allowed are served', async (t) => {
  const { forum, ops } = await startWatched(t, '--connections-max', '40')
  const count = () => sample(ops, 'agent_forum_connections')
  await forum.agent.close() // closes the connection on which the document was fetched
  await until('no connection', async () => (await count()) === 0)
  const kept: Socket[] = []
  t.teardown(() => kept.forEach((socket) => void socket.destroy()))
  const burst = Array.from({ length: 200 }, () => isServed(forum.port, kept))
  const served = (await Promise.all(burst)).filter(Boolean).length
  t.equal(served, 40)
  t.equal(await refused(ops, 'connections'), 160)
  t.equal(await count(), 40)
  const open = kept[kept.length - 1]
  open.write(requestText('GET', '/api/status'))
  t.match((await once(open, 'data')).toString(), /200 OK/)
  for (const socket of kept) socket.destroy()
  await until('no connection any more', async () => (await count()) === 0)
  t.ok(await isServed(forum.port, kept), 'the port was never closed')
})

t.test('readers: request pages without end and read none: memory stays bounded', async (t) => {
  const { forum, ops } = await startWatched(t, '--queue-mb', '2')
  const ana = await forum.identity()
  const thread = await publishedThread(ana, { content: 'x'.repeat(8000) })
  for (let i = 0; i < 99; i++) await ana.reply(thread, 'x'.repeat(8000))
  const page = `/api/threads/${thread}?limit=100`
  const rss = () => sample(ops, 'process_resident_memory_bytes')
  const before = await rss()
  const queued = () => sample(ops, 'agent_forum_queue_bytes{what="answers"}')
  // Over 100 MB of answers of each kind. uWebSockets.js closes the connection on a request that
  // arrives before the previous answer. Refusals are the exception: it keeps them until they are
  // read.
  for (const [path, writes, requests] of [
    [page, 1, 200_000],
    ['/api/status', 1, 200_000],
    ['/nowhere', 1, 200_000],
    [page, 200, 1], // one at a time, because most of them would close the connection
  ] as const) {
    const socket = connect(forum.port, '127.0.0.1').on('error', () => {})
    socket.pause()
    for (let i = 0; i < writes && !socket.destroyed; i++) {
      socket.write(requestText('GET', path).repeat(requests))
      await sleep(3)
    }
    if (forum.log.includes('node:http')) {
      await sleep(1000)
      // Node has stopped reading from the connection, or has closed it.
      const isUnread = socket.destroyed || socket.writableLength > 0
      if (requests > 1) t.ok(isUnread, 'a connection with unread answers is not read')
    } else {
      // A socket that is not being read learns only by a write that its peer has closed it.
      await until('a closed connection', () => {
        if (!socket.destroyed) socket.write(requestText('GET', path))
        return socket.closed
      })
    }
    t.ok((await queued()) <= 2 << 20, `${path}: ${await queued()} bytes are queued`)
    const growth = ((await rss()) - before) >> 20
    t.ok(growth < 100, `${path}: grew by ${growth} MiB`)
    socket.destroy()
  }
  t.equal((await ana.read(thread)).status, 200)
  await until('an empty queue', async () => (await queued()) === 0)
})

t.test('readers: slow, but they read: receive the complete page', async (t) => {
  const { forum } = await startWatched(t)
  const ana = await forum.identity()
  const thread = await publishedThread(ana)
  for (let i = 0; i < 99; i++) await ana.reply(thread, `${i} `.padEnd(8000, '😀'))
  const connection = await wire(t, forum.port)
  connection.socket.pause()
  await connection.write(requestText('GET', `/api/threads/${thread}?limit=100`))
  await sleep(300)
  connection.socket.resume()
  const { text } = await connection.answer()
  t.equal(text, (await ana.read(thread, '?limit=100')).text)
  await connection.write(requestText('GET', '/api/status'))
  t.equal((await connection.answer()).status, 200)
})

t.test('bodies: together over the limit: some are refused, later none', async (t) => {
  const { forum, ops } = await startWatched(t, '--queue-mb', '1')
  const ana = await forum.identity()
  const path = `/api/threads/${await publishedThread(ana)}/replies`
  const body = JSON.stringify({ content: 'a reply', padding: 'x'.repeat(200_000) })
  const connections: Wire[] = []
  for (let i = 0; i < 10; i++) {
    const connection = await wire(t, forum.port)
    await connection.write(post(ana, path, body).slice(0, -10))
    connections.push(connection)
  }
  let heldBefore = 0
  await until('the metrics of all bodies', async () => {
    const held = await sample(ops, 'agent_forum_queue_bytes{what="bodies"}')
    const isStill = held === heldBefore // all of them have arrived
    heldBefore = held
    return isStill && held > 700_000 && held <= 1 << 20
  })
  const statuses: number[] = []
  for (const connection of connections) {
    await connection.write(body.slice(-10))
    const { status, text } = await connection.answer()
    if (status === 503) t.equal(JSON.parse(text).error, 'overloaded')
    statuses.push(status)
  }
  const published = statuses.filter((status) => status === 201).length
  t.ok(published >= 3 && published <= 5, `${published} were published`)
  t.equal(statuses.filter((status) => status === 503).length, 10 - published)
  t.equal(await refused(ops, 'bodies'), 10 - published)
  t.equal(await sample(ops, 'agent_forum_queue_bytes{what="bodies"}'), 0)
  t.equal((await ana.post(path, JSON.parse(body), { 'idempotency-key': newKey() })).status, 201)
})

t.test('a body: does not arrive in time: the connection is closed, nothing is held', async (t) => {
  const { forum, ops } = await startWatched(t, '--body-timeout', '1')
  const ana = await forum.identity()
  const path = `/api/threads/${await publishedThread(ana)}/replies`
  const connection = await wire(t, forum.port)
  await connection.write(post(ana, path, JSON.stringify({ content: 'late' })).slice(0, -5))
  await connection.closed()
  t.notMatch(connection.rest, / 20[01] /)
  t.equal(await refused(ops, 'slow_bodies'), 1)
  t.equal(await sample(ops, 'agent_forum_queue_bytes{what="bodies"}'), 0)
  t.equal((await ana.get('/api/status')).status, 200)
})

t.test('memory: used up: writes get 503, reads go on, readiness reports it', async (t) => {
  const { forum, ops } = await startWatched(t)
  const ana = await forum.identity({ kind: 'persistent' })
  const thread = await publishedThread(ana)
  await forum.stop()
  forum.flags.push('--memory-mb', '64') // less than an empty node holds
  await forum.start()
  const { status, headers, body } = await ana.reply(thread)
  t.match(
    { status, headers, body },
    {
      status: 503,
      headers: { 'retry-after': '30' },
      body: { error: 'overloaded', message: /memory/ },
    },
  )
  t.equal((await ana.read(thread)).body.messages.length, 1)
  t.equal((await ana.feed()).status, 200)
  t.equal((await ask(ops, '/readyz')).status, 200)
  t.match((await ask(ops, '/readyz')).text, /^degraded: memory: at its limit/)
  t.match((await ask(ops, '/readyz?verbose')).text, /^\[-\] memory: /m)
  t.equal(await refused(ops, 'memory'), 1)
})
