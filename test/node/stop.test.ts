// A node that stops while its process continues, including before it serves.

import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import t from 'tap'
import { parseConfig } from '../../src/config/config.ts'
import type { Post, Sent } from '../../src/forum/webhooks/send.ts'
import { startNode } from '../../src/node/server.ts'
import { dataDirectory } from '../api/process.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'

for (const http of ['auto', 'node']) {
  t.test(`node: ${http}: stopped: the connections of its callers end`, async (t) => {
    const config = parseConfig(['--data', dataDirectory(t), '--port', '0', '--http', http], {})
    const node = await startNode(config, '0.0.0', pino({ level: 'silent' }))
    const socket = connect(Number(new URL(node.url).port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    const request = 'GET /api/status HTTP/1.1\r\nHost: localhost\r\n\r\n'
    socket.write(request)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    t.match(answer.toString(), /^HTTP\/1\.1 200 /)
    socket.on('data', (text) => t.fail(`answered by a node that has stopped: ${text}`))
    socket.on('error', () => {})
    await node.stop()
    socket.write(request)
    await until('the end of the connection', () => socket.readableEnded || socket.destroyed)
  })
}

t.test('node: stopped while its log is read: gives up, and leaves all as it was', async (t) => {
  const data = dataDirectory(t)
  const config = parseConfig(['--data', data, '--port', '0'], {})
  const start = (stopping: AbortSignal) =>
    startNode(config, '0.0.0', pino({ level: 'silent' }), { stopping })
  const first = await start(new AbortController().signal)
  await first.stop()
  await t.rejects(start(AbortSignal.abort(new Error('a signal'))), { message: 'a signal' })
  t.notOk(existsSync(`${data}/lock`))
  const again = await start(new AbortController().signal)
  t.equal((await fetch(`${again.url}/api/status`)).status, 200)
  await again.stop()
})

t.test('node: its start fails once the log is read: its port and its log are free', async (t) => {
  const data = dataDirectory(t)
  const config = parseConfig(['--data', data, '--port', String(await freePort())], {})
  const start = () => startNode(config, '0.0.0', pino({ level: 'silent' }))
  const first = await start()
  await first.stop()
  const file = `${data}/secret`
  const secret = readFileSync(file)
  writeFileSync(file, 'short')
  await t.rejects(start(), /secret/)
  t.notOk(existsSync(`${data}/lock`))
  t.notOk(existsSync(`${data}/admin.sock`))
  writeFileSync(file, secret)
  const again = await start()
  t.equal((await fetch(`${again.url}/api/status`)).status, 200)
  await again.stop()
})

t.test('node: stopped while it challenges: its last checkpoint has the outcome', async (t) => {
  const config = parseConfig(['--data', dataDirectory(t), '--port', '0', '--no-search'], {})
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line) => lines.push(JSON.parse(line)) })
  const found = (event: string) => lines.findLast(({ msg }) => msg === event)
  let answer: (() => void) | null = null
  const send = ({ body }: Post) =>
    new Promise<Sent>((resolve) => {
      answer = () => resolve({ status: 200, error: null, body })
    })
  const node = await startNode(config, '0.0.0', log, { send })
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const post = async (path: string, body: object, key = 'the-first-key') => {
    const init = { method: 'POST', body: JSON.stringify(body) }
    const given = await fetch(node.url + path, {
      ...init,
      headers: { ...headers, 'idempotency-key': key },
    })
    return (await given.json()) as Record<string, unknown>
  }
  const { token } = await post('/api/identities', { kind: 'persistent' })
  headers.authorization = `Bearer ${token}`
  await post('/api/notifications/webhook', { url: 'https://agent.example/' })
  // So much log that a stop takes a checkpoint.
  const long = { title: 'A title', content: '\u20ac'.repeat(8000) }
  for (let n = 0; n < 48; n++) await post('/api/threads', long, `key-number-${n}`)
  const verifying = post('/api/notifications/webhook/verify', {})
  await until('the challenge', () => answer !== null)
  const stopped = node.stop()
  const isTaken = () => found('checkpoint_taken') !== undefined
  for (let ms = 0; ms < 300 && !isTaken(); ms += 10) await sleep(10)
  answer!()
  await stopped
  t.match(await verifying, { verified: true })
  const again = await startNode(config, '0.0.0', log)
  await again.stop()
  const { position, checkpoint } = found('recovered')!
  t.ok(isTaken())
  t.equal(checkpoint, position)
})
