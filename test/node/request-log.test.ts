// The request log: one line for each answer with --log-level debug, and nothing otherwise.

import { randomUUID } from 'node:crypto'
import pino from 'pino'
import t, { type Test } from 'tap'
import { request } from 'undici'
import type { Exchange } from '../../src/edge/http/exchange.ts'
import { logged } from '../../src/node/edge.ts'
import { dataDirectory, type LogLine, Program } from '../api/process.ts'
import { FakeExchange } from '../edge/http/fake-exchange.ts'
import { until } from '../until.ts'

t.test('L1: info: the edge is given the exchange itself, and nothing is looked up', async (t) => {
  const seen: Exchange[] = []
  const edge = { handle: (exchange: Exchange) => void seen.push(exchange) }
  class Untouched extends FakeExchange {
    override header(): string {
      throw new Error('a header was read')
    }
  }
  const exchange = new Untouched('get', '/')
  const state = () => {
    throw new Error('the state was asked')
  }
  for (const level of ['info', 'silent']) logged(edge, pino({ level }), state)(exchange)
  t.ok(seen.length === 2 && seen.every((each) => each === exchange))
})

const asked = [
  { route: 'createIdentity', status: 201 },
  { route: 'createThread', status: 201 },
  { route: 'createThread', status: 400 },
  { route: 'none', status: 404 },
  { route: 'readThread', status: 200 },
]

/** Sends a few requests, and returns the sizes of their answers and the log lines. */
async function talk(t: Test, ...flags: string[]) {
  const args = ['--port', '0', '--data', dataDirectory(t), '--log-level', 'debug', ...flags]
  const program = new Program(['serve', ...args])
  t.teardown(() => program.stop('SIGKILL'))
  const { url } = await program.logged('started')
  const isServing = ({ serving, readers }: LogLine) => serving === readers
  if (flags.includes('--readers')) await program.logged('readers_serving', isServing)
  const lines = () => program.log.filter(({ msg }) => msg === 'answered')
  const bytes: number[] = []
  const ask = async (path: string, body?: object, token = '') => {
    const authorization = token === '' ? {} : { authorization: `Bearer ${token}` }
    const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() }
    const answer = await request(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...headers, ...authorization },
      body: body === undefined ? null : JSON.stringify(body),
      reset: true,
    })
    const text = await answer.body.text()
    bytes.push(Buffer.byteLength(text))
    // Lines of two readers would come in any order.
    await until('its line', () => lines().length >= bytes.length)
    return JSON.parse(text)
  }
  const { token } = await ask('/api/identities', {})
  const thread = { title: 'a hidden title', content: 'a hidden text' }
  const { thread_id: id } = await ask('/api/threads', thread, token)
  await ask('/api/threads', { title: '', content: 'a hidden text' }, token)
  await ask('/hidden?token=hidden')
  await ask(`/api/threads/${id}?after=0`, undefined, token)
  const { stdout } = await program.stop('SIGTERM')
  for (const secret of [token, id, 'hidden']) t.notOk(stdout.includes(secret), secret)
  return { lines: lines(), bytes }
}

for (const http of ['auto', 'node']) {
  t.test(`L2: debug, --http ${http}: a line for each answer, without any content`, async (t) => {
    const { lines, bytes } = await talk(t, '--http', http)
    const callers = [null, 0, 0, null, 0]
    const expected = asked.map((each, i) => ({ ...each, bytes: bytes[i], caller: callers[i] }))
    const found = lines.map(({ route, status, bytes, caller }) => {
      return { route, status, bytes, caller }
    })
    t.strictSame(found, expected)
    for (const { level, ms } of lines) t.ok(level === 20 && Number(ms) > 0)
  })
}

t.test('L2: debug, with readers: each request is in the log of the reader', async (t) => {
  const { lines, bytes } = await talk(t, '--readers', '2')
  t.equal(lines.length, bytes.length, 'what is passed on is logged once')
  t.same(
    lines.map(({ status, caller }) => [status, caller]),
    [
      [201, null],
      [201, 0],
      [400, 0],
      [404, null],
      [200, 0],
    ],
  )
  for (const { reader } of lines) t.ok(reader === 1 || reader === 2)
})
