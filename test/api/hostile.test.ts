// Hostile callers: heads that proxies parse differently, connections that are held open, text with
// control characters, guessed ids. The fuzzer (test/fuzz) covers cases that nobody thought of.

import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { publishedThread, startForum } from './harness.ts'
import { requestText, wire } from './wire.ts'

const host = 'Host: localhost\r\n'
const smuggled = requestText('GET', '/smuggled')

/** Heads that two parsers may delimit differently. What follows them must not become a request. */
const ambiguous: Record<string, string> = {
  'two lengths': `Content-Length: 0\r\nContent-Length: ${smuggled.length}\r\n`,
  'the same length twice': 'Content-Length: 0\r\nContent-Length: 0\r\n',
  'a list of lengths': `Content-Length: 0, ${smuggled.length}\r\n`,
  'an empty length': 'Content-Length:\r\n',
  'a length with a sign': 'Content-Length: +0\r\n',
  'a length in hex': 'Content-Length: 0x0\r\n',
  'a length, then a coding': 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
  'a coding, then a length': 'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n',
  'an unknown coding': 'Transfer-Encoding: xchunked\r\n',
  'no coding': 'Transfer-Encoding:\r\n',
  'two codings': 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
  'a space before the colon': 'Transfer-Encoding : chunked\r\n',
  'a tab that is none': 'Transfer-Encoding:\x0bchunked\r\n',
  'a folded length': `Content-Length:\r\n ${smuggled.length}\r\n`,
  'a line that ends with LF': `X: y\nContent-Length: ${smuggled.length}\r\n`,
  'a line that ends with CR': `X: y\rContent-Length: ${smuggled.length}\r\n`,
  'a NUL in a value': 'X: y\0z\r\n',
  'no host': '',
}

const withoutCoding = headOf(`${host}Transfer-Encoding:\r\n`)

/** Heads after which the server can no longer use the connection. */
const useless: Record<string, string> = {
  ...Object.fromEntries(
    Object.entries(ambiguous).map(([what, lines]) => {
      return [what, headOf(lines === '' ? '' : host + lines)]
    }),
  ),
  'HTTP/1.0': `GET /api/status HTTP/1.0\r\n${host}\r\n`,
  'HTTP/1.0, kept open': `GET /api/status HTTP/1.0\r\n${host}Connection: keep-alive\r\n\r\n`,
  'HTTP/2.0': `GET /api/status HTTP/2.0\r\n${host}\r\n`,
  'an expectation, no coding': headOf(`${host}Expect: x\r\nTransfer-Encoding:\r\n`),
  'a clear request, then no coding': requestText('GET', '/api/status') + withoutCoding,
  'no coding, twice': withoutCoding + withoutCoding,
  TLS: '\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03',
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
}

function headOf(lines: string): string {
  return `POST /api/status HTTP/1.1\r\n${lines}\r\n`
}

// Both are started before the first test: tap ends when no test is left.
const behindProxy = await startForum(t, ['--trust-proxy'])
const forum = await startForum(t)

t.test('proxy: a request whose end is unclear: what follows is never answered', async (t) => {
  for (const [what, lines] of Object.entries(ambiguous)) {
    const head = headOf(lines === '' ? '' : host + lines)
    const connection = await wire(t, behindProxy.port)
    await connection.write(Buffer.from(head + smuggled, 'latin1'))
    await Promise.race([connection.closed(), sleep(100)])
    const statuses = [...connection.rest.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    t.notOk(statuses.includes('404'), `${what}: ${statuses}`)
    connection.socket.destroy()
  }
  const clear = await wire(t, behindProxy.port)
  for (const headers of [{}, { 'Content-Length': '0' }, { 'X-Forwarded-For': '203.0.113.9' }]) {
    await clear.write(requestText('GET', '/api/status', headers))
    t.equal((await clear.answer()).status, 200)
  }
})

t.test('proxy: a useless head, a write behind it in the packet: not executed', async (t) => {
  const ana = await behindProxy.identity()
  const thread = await publishedThread(ana)
  const reply = (content: string) => {
    const headers = {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${ana.token}`,
      'Idempotency-Key': `key of ${content}`.replace(/[^\w]/g, '-'),
    }
    const body = JSON.stringify({ content })
    return requestText('POST', `/api/threads/${thread}/replies`, headers, body)
  }
  for (const [what, head] of Object.entries(useless)) {
    for (const times of [1, 3]) {
      const connection = await wire(t, behindProxy.port)
      await connection.write(requestText('GET', '/api/status'))
      t.equal((await connection.answer()).status, 200, what)
      const writes = Array.from({ length: times }, (_, i) => reply(`${what} ${i} of ${times}`))
      await connection.write(Buffer.from(head + writes.join(''), 'latin1'))
    }
  }
  // Requests that arrived before this reply have been executed before it.
  await ana.reply(thread, 'the last one')
  const { messages } = (await ana.read(thread, '?limit=100')).body
  t.strictSame(
    messages.map(({ content }) => content),
    ['first message', 'the last one'],
  )
})

t.test('heads: giant, endless or of many lines: refused, and others are served', async (t) => {
  const giants = [
    `X: ${'y'.repeat(1 << 20)}\r\n`,
    'a: b\r\n'.repeat(50_000),
    `${'y'.repeat(1 << 20)}: x\r\n`,
  ]
  for (const lines of giants) {
    const connection = await wire(t, forum.port)
    connection.socket.write(`GET /api/status HTTP/1.1\r\n${host}${lines}\r\n`)
    await Promise.race([connection.closed(), sleep(300)])
    t.notMatch(connection.rest, / 500 /)
    connection.socket.destroy()
  }
  const connection = await wire(t, forum.port)
  connection.socket.write(`GET /${'x'.repeat(1 << 20)} HTTP/1.1\r\n${host}\r\n`)
  await Promise.race([connection.closed(), sleep(300)])
  t.equal((await forum.anonymous.get('/api/status')).status, 200)
})

t.test('1,000 idle connections: served beside them, and cheap', async (t) => {
  const forum = await startForum(t)
  const opened = Array.from({ length: 1000 }, () => wire(t, forum.port))
  const connections = await Promise.all(opened)
  t.equal((await forum.anonymous.get('/api/status')).status, 200)
  for (const connection of [connections[0], connections[999]]) {
    await connection.write(requestText('GET', '/api/status'))
    t.equal((await connection.answer()).status, 200)
  }
})

t.test('log: names, titles and paths with newlines and escapes: cannot forge a line', async (t) => {
  const forum = await startForum(t, ['--log-level', 'debug'])
  const nasty = '\u001b[31mred\n{"level":50,"msg":"forged"}\r\nInjected: yes'
  const ana = await forum.identity({ display_name: nasty })
  const { body } = await ana.thread({ title: nasty, content: nasty })
  await ana.reply(body.thread_id, nasty)
  await ana.get(`/${encodeURIComponent(nasty)}?${encodeURIComponent(nasty)}`)
  const { text } = await ana.read(body.thread_id)
  t.notOk(text.includes('\u001b') || text.includes('\n'), 'answers escape them too')
  await forum.anonymous.get('/api/status')
  for (const line of forum.log.trim().split('\n')) t.ok(JSON.parse(line).msg, line)
  for (const trace of ['forged', 'Injected', '\u001b']) t.notOk(forum.log.includes(trace))
})

t.test('guesses: tokens, threads, cursors: the same answer, whatever is guessed', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  const secret = await publishedThread(ana, { visibility: 'private' })
  const absent = `thr_${'0'.repeat(32)}`
  const asks: ((thread: string) => Promise<{ status: number; text: string }>)[] = [
    (thread) => ben.read(thread),
    (thread) => ben.reply(thread),
    (thread) => ben.subscribe(thread),
    (thread) => ben.unsubscribe(thread),
    (thread) => forum.anonymous.read(thread),
    (thread) => ben.read(thread, '?after=999999&limit=1'),
  ]
  for (const ask of asks) {
    const [there, nowhere] = [await ask(secret), await ask(absent)]
    t.equal(there.status, nowhere.status)
    t.equal(there.text.replace(secret, ''), nowhere.text.replace(absent, ''))
  }
  const status = async (headers: Record<string, string>) => {
    const { status, text } = await forum.anonymous.get('/api/notifications', headers)
    return `${status} ${text}`
  }
  const tokens = [`aic_${'0'.repeat(64)}`, `${ana.token.slice(0, -1)}x`, ana.token.slice(0, -1)]
  const heard = await Promise.all(
    [...tokens, 'x'].map((each) => status({ authorization: `Bearer ${each}` })),
  )
  t.equal(new Set(heard).size, 1)
  const list = await ben.get('/api/threads?limit=1')
  t.equal(list.body.threads.length, 0)
  for (const n of [1, 5, 2 ** 40]) {
    const forged = Buffer.from(`t1.${n}`).toString('base64url')
    const { body } = await ben.get(`/api/threads?cursor=${forged}`)
    t.strictSame(body.threads, [], 'a forged cursor shows nothing more')
  }
  for (const cursor of ['t1.1', 'AAAA', `${Buffer.from('t1.-1').toString('base64url')}`, '%00']) {
    t.equal((await ben.get(`/api/threads?cursor=${cursor}`)).body.error, 'invalid_cursor')
  }
})

t.test('half-closed: a write and a read: done once or not at all, nothing is held', async (t) => {
  const ana = await forum.identity()
  const thread = await publishedThread(ana)
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${ana.token}` }
  for (let n = 0; n < 20; n++) {
    await halfClosed(t, forum.port, requestText('GET', '/api/status'))
    const key = { ...headers, 'Idempotency-Key': `half-key-${n}` }
    const text = requestText('POST', `/api/threads/${thread}/replies`, key, '{"content":"x"}')
    await halfClosed(t, forum.port, text)
    const again = await wire(t, forum.port)
    await again.write(text)
    t.ok([200, 201].includes((await again.answer()).status))
    again.socket.destroy()
  }
  t.equal((await ana.read(thread, '?limit=100')).body.messages.length, 21)
})

async function halfClosed(t: Test, port: number, text: string): Promise<void> {
  const connection = await wire(t, port)
  connection.socket.end(text)
  await connection.closed()
}
