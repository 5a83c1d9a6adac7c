// Connections: whatever a caller does to its connections, the next request is served.

import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { startForum } from './harness.ts'
import { requestText, type Wire, wire } from './wire.ts'

const forum = await startForum(t)
const ana = await forum.identity()
const { body: published } = await ana.thread()
const path = `/api/threads/${published.thread_id}/replies`
const limitBytes = 256 * 1024
const json = { 'Content-Type': 'application/json', Authorization: `Bearer ${ana.token}` }

const isNode = forum.log.includes('node:http')

let keys = 0
function write(content: string, headers: Record<string, string> = {}): string {
  keys += 1
  const all = { ...json, 'Idempotency-Key': `wire-key-${keys}`, ...headers }
  return requestText('POST', path, all, JSON.stringify({ content }))
}

/** Returns whether the connection still serves requests. */
async function isUsable(connection: Wire): Promise<boolean> {
  await connection.write(requestText('GET', '/api/status'))
  return (await connection.answer()).status === 200
}

async function contents(): Promise<string[]> {
  const { body } = await ana.read(published.thread_id, '?limit=100')
  return body.messages.map(({ content }) => content)
}

t.test('too large, with a length: 413, and the connection stays usable', async (t) => {
  const connection = await wire(t, forum.port)
  await connection.write(requestText('POST', path, { ...json }, 'x'.repeat(limitBytes + 1)))
  const { status, text } = await connection.answer()
  t.strictSame([status, JSON.parse(text).error], [413, 'too_large'])
  t.ok(await isUsable(connection))
})

t.test('too large, in chunks: 413, and the connection stays usable', async (t) => {
  const connection = await wire(t, forum.port)
  const headers = { ...json, 'Transfer-Encoding': 'chunked' }
  await connection.write(requestText('POST', path, headers))
  const chunk = 'x'.repeat(64 * 1024)
  for (let i = 0; i < 5; i++) await connection.write(`10000\r\n${chunk}\r\n`)
  await connection.write('0\r\n\r\n')
  const { status, text } = await connection.answer()
  t.strictSame([status, JSON.parse(text).error], [413, 'too_large'])
  t.ok(await isUsable(connection))
})

t.test('a body in small chunks, split anywhere: published', async (t) => {
  const connection = await wire(t, forum.port)
  const body = JSON.stringify({ content: 'in chunks 😀' })
  const headers = { ...json, 'Transfer-Encoding': 'chunked', 'Idempotency-Key': 'in-chunks' }
  await connection.write(requestText('POST', path, headers))
  const bytes = Buffer.from(body)
  for (let i = 0; i < bytes.length; i += 3) {
    const part = bytes.subarray(i, i + 3)
    await connection.write(
      Buffer.concat([Buffer.from(`${part.length}\r\n`), part, Buffer.from('\r\n')]),
    )
  }
  await connection.write('0\r\n\r\n')
  t.equal((await connection.answer()).status, 201)
  t.ok((await contents()).includes('in chunks 😀'))
})

// uws.ts, U9: the end of the request line must arrive in one piece.
t.test('a request byte by byte: published', async (t) => {
  const connection = await wire(t, forum.port)
  const text = write('byte by byte')
  const whole = isNode ? 0 : text.indexOf('\r\n') + 2
  if (whole > 0) await connection.write(text.slice(0, whole))
  await connection.writeBytes(text.slice(whole))
  t.equal((await connection.answer()).status, 201)
})

t.test('a request line split before its end: executed, or refused without effect', async (t) => {
  const text = write('a split line')
  const lineEnd = text.indexOf('\r\n')
  let refused = 0
  for (let at = 1; at <= lineEnd + 2; at++) {
    const connection = await wire(t, forum.port)
    await connection.write(text.slice(0, at))
    await setTimeout(2)
    await connection.write(text.slice(at))
    const { status } = await connection.answer()
    if (status === 505) refused += 1
    else t.ok(status === 200 || status === 201, `split at ${at}: ${status}`)
    connection.socket.destroy()
  }
  t.ok(refused <= (isNode ? 0 : 11), `refused: ${refused} of them`)
  t.equal((await contents()).filter((content) => content === 'a split line').length, 1)
})

t.test('refused before its body is read: the connection stays usable', async (t) => {
  const connection = await wire(t, forum.port)
  const body = 'x'.repeat(100_000)
  const refused: [number, string][] = [
    [401, requestText('POST', path, { 'Content-Type': 'application/json' }, body)],
    [403, requestText('POST', path, { ...json, Origin: 'https://elsewhere.example' }, body)],
    [415, requestText('POST', path, { ...json, 'Content-Type': 'text/plain' }, body)],
    [404, requestText('POST', '/nowhere', json, body)],
    [405, requestText('PUT', path, json, body)],
    [400, requestText('POST', '/api/threads/x/replies', json, body)],
    [200, requestText('GET', '/api/status', json, body)],
  ]
  for (const [expected, text] of refused) {
    await connection.write(text)
    t.equal((await connection.answer()).status, expected)
  }
  t.ok(await isUsable(connection))
})

t.test('refused before a chunked body is read: the connection stays usable', async (t) => {
  const connection = await wire(t, forum.port)
  const headers = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }
  await connection.write(requestText('POST', path, headers))
  await connection.write(`10000\r\n${'x'.repeat(65_536)}\r\n0\r\n\r\n`)
  t.equal((await connection.answer()).status, 401)
  t.ok(await isUsable(connection))
})

t.test('Connection: close: a long answer arrives complete, then it is closed', async (t) => {
  await ana.reply(published.thread_id, 'x'.repeat(8000))
  for (let i = 0; i < 10; i++) await ana.reply(published.thread_id, 'y'.repeat(8000))
  for (const path of ['/openapi.json', `/api/threads/${published.thread_id}?limit=100`]) {
    const connection = await wire(t, forum.port)
    await connection.write(requestText('GET', path, { Connection: 'close' }))
    const { status, text } = await connection.answer()
    t.equal(status, 200)
    t.ok(JSON.parse(text))
    await connection.closed()
  }
})

// uWebSockets.js processes one request of a connection at a time, and closes the connection if
// another request arrives before the answer.
t.test('a request behind a read: in order, or closed', async (t) => {
  for (const count of [2, 100]) {
    const connection = await wire(t, forum.port)
    const paths = ['/api/status', '/nowhere', '/api/threads', '/openapi.json']
    const statuses = [200, 404, 200, 200]
    await connection.write(
      paths
        .map((path) => requestText('GET', path))
        .join('')
        .repeat(count),
    )
    if (isNode) {
      for (let i = 0; i < paths.length * count; i++) {
        t.equal((await connection.answer()).status, statuses[i % paths.length])
      }
    } else await connection.closed()
    t.equal(connection.rest, '')
  }
})

// If the connection is closed, the caller learns the outcome by retrying with its key.
t.test('a request behind a write that waits: in order, or closed and safe to retry', async (t) => {
  const text = write('not alone in line')
  const connection = await wire(t, forum.port)
  await connection.write([text, requestText('GET', '/api/status')].join(''))
  if (isNode) {
    t.equal((await connection.answer()).status, 201)
    t.equal((await connection.answer()).status, 200)
  } else {
    await connection.closed()
    t.equal(connection.rest, '')
  }
  const retry = await wire(t, forum.port)
  await retry.write(text)
  t.ok([200, 201].includes((await retry.answer()).status))
  t.equal((await contents()).filter((content) => content === 'not alone in line').length, 1)
})

t.test('a hang-up in the middle of a body: nothing is published, others are served', async (t) => {
  const before = await contents()
  for (const keep of [1, 10, 40]) {
    const connection = await wire(t, forum.port)
    await connection.write(write('half a body '.repeat(9)).slice(0, -keep))
    connection.socket.destroy()
    await connection.closed()
  }
  const resetting = await wire(t, forum.port)
  await resetting.write(write('reset').slice(0, -3))
  resetting.socket.resetAndDestroy()
  await resetting.closed()
  t.strictSame(await contents(), before)
})

t.test('a hang-up before the answer: the write is done or not, a retry is safe', async (t) => {
  const text = write('gone before the answer')
  for (let i = 0; i < 20; i++) {
    const connection = await wire(t, forum.port)
    await connection.write(text)
    connection.socket.resetAndDestroy()
    await connection.closed()
  }
  const connection = await wire(t, forum.port)
  await connection.write(text)
  t.ok([200, 201].includes((await connection.answer()).status))
  t.equal((await contents()).filter((content) => content === 'gone before the answer').length, 1)
})

t.test('a half-closed connection: its request is executed once', async (t) => {
  const connection = await wire(t, forum.port)
  await connection.write(write('half closed'))
  connection.socket.end()
  await connection.closed()
  t.ok((await contents()).filter((content) => content === 'half closed').length <= 1)
})

t.test('bytes that are not HTTP: the connection is closed, others are served', async (t) => {
  const host = 'Host: localhost\r\n'
  const chunked = 'Transfer-Encoding: chunked\r\n'
  const wrong = [
    'hello\r\n\r\n',
    `GET /api/status HTTP/1.1\n${host.replace('\r', '')}\n`,
    `POST ${path} HTTP/1.1\r\n${host}Content-Length: x\r\n\r\n`,
    `POST ${path} HTTP/1.1\r\n${host}Content-Length: -1\r\n\r\n`,
    `POST ${path} HTTP/1.1\r\n${host}Content-Length: 5\r\n${chunked}\r\n0\r\n\r\n`,
    Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03, 0x0d, 0x0a]),
  ]
  for (const bytes of wrong) {
    const connection = await wire(t, forum.port)
    await connection.write(bytes)
    connection.socket.end()
    await connection.closed()
    t.notMatch(connection.rest, / 20[01] /)
  }
  t.equal((await ana.get('/api/status')).status, 200)
})
