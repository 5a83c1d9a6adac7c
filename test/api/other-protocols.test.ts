// Bytes that are not the HTTP/1.1 that the server speaks: an older or newer version, TLS, or noise.
// docs/operating.md, "Limits".

import t from 'tap'
import { startForum } from './harness.ts'
import { requestText, wire } from './wire.ts'

const host = 'Host: localhost\r\n'
const clientHello = Buffer.concat([
  Buffer.from('16030100c8010000c40303', 'hex'),
  Buffer.alloc(193, 7),
])

/** Bytes, with the status that Node's server answers. */
const heads: Record<string, [bytes: string | Buffer, status: number]> = {
  'HTTP/1.0': ['GET /api/status HTTP/1.0\r\n\r\n', 505],
  'HTTP/1.0, as nginx sends it': [
    `GET /api/status HTTP/1.0\r\n${host}Connection: close\r\n\r\n`,
    505,
  ],
  'HTTP/1.0, as ab -k sends it': [
    `GET /api/status HTTP/1.0\r\nConnection: Keep-Alive\r\n${host}\r\n`,
    505,
  ],
  'HTTP/2.0 in words': [`GET /api/status HTTP/2.0\r\n${host}\r\n`, 505],
  'the preface of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  TLS: [clientHello, 400],
  'no host': ['GET /api/status HTTP/1.1\r\nAccept: */*\r\n\r\n', 400],
  'no header at all': ['GET /api/status HTTP/1.1\r\n\r\n', 400],
  'no request': ['hello\r\n\r\n', 400],
}

/** Where uWebSockets.js does not answer 505. 0 means that it waits for the rest of a head. */
const ofUws: Record<string, number> = { 'no host': 400, 'no header at all': 400, 'no request': 0 }
/** The same, in the older release that uws-pack has. */
const ofUwsPack: typeof ofUws = { ...ofUws, 'no header at all': 0 }

/** Longer than uWebSockets.js waits for the rest of a head. */
const patienceMs = 30_000

t.test('heads that are not HTTP/1.1: refused, or closed unanswered', async (t) => {
  const forum = await startForum(t)
  const isNode = forum.log.includes('node:http')
  const ofBinding = forum.log.includes('"name":"uws-pack"') ? ofUwsPack : ofUws
  const sent = Object.entries(heads).map(async ([what, [bytes, status]]) => {
    const connection = await wire(t, forum.port)
    connection.socket.setTimeout(patienceMs)
    await connection.write(bytes)
    await connection.closed()
    t.notOk(connection.hasTimedOut, `${what}: closed by the server`)
    const answered = Number(/^HTTP\/1\.1 (\d{3}) /.exec(connection.rest)?.[1] ?? 0)
    t.equal(answered, isNode ? status : (ofBinding[what] ?? 505), what)
  })
  await Promise.all(sent)
  t.equal((await forum.anonymous.get('/api/status')).status, 200)
})

// uWebSockets.js answers 505, as it does to the heads above.
t.test('node:http: a target that names its host: answered like its path', async (t) => {
  const forum = await startForum(t, ['--http', 'node'])
  for (const [target, status] of [
    ['http://forum.example/api/status', 200],
    ['HTTP://forum.example/api/threads?limit=1', 200],
    ['http://forum.example/nowhere', 404],
    ['http://forum.example', 200],
  ] as const) {
    const connection = await wire(t, forum.port)
    await connection.write(requestText('GET', target))
    t.equal((await connection.answer()).status, status, target)
  }
})
