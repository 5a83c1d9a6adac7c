// The host names by which a node may be reached, on the operators' port and that of the interface.

import { once } from 'node:events'
import { request } from 'node:http'
import t from 'tap'
import { guarded, isOwnHost } from '../../../src/edge/http/host-check.ts'
import { Meter } from '../../../src/edge/http/meter.ts'
import { startForum } from '../../api/harness.ts'
import { wire } from '../../api/wire.ts'
import { FakeExchange } from './fake-exchange.ts'

const names = new Set(['forum.example'])

t.test('host: loopback names, addresses, and that of --public-url: own', async (t) => {
  const own = [
    undefined, // HTTP/1.0
    'localhost',
    'LOCALHOST:8788',
    'forum.localhost:8788',
    '127.0.0.1',
    '127.0.0.1:8788',
    '127.8.9.10:80',
    '[::1]:8788',
    'forum.example',
    'Forum.Example:443',
  ]
  for (const host of own) t.equal(isOwnHost(host, names), true, `${host}`)
})

t.test('host: a name that a page on the internet may have: not own', async (t) => {
  const others = [
    '',
    'evil.example',
    'evil.example:8788',
    'localhost.evil.example',
    'evillocalhost',
    '127.0.0.1.evil.example',
    '127.0.0.1@evil.example',
    '10.0.0.1:8788',
    '0.0.0.0:8788',
    '[::]:8788',
    'forum.example.evil.example',
    'xforum.example',
  ]
  for (const host of others) t.equal(isOwnHost(host, names), false, host)
  t.equal(isOwnHost('forum.example', new Set()), false, 'without --public-url')
})

t.test('host: none, or an empty one: not own, also before any other request', async (t) => {
  const handled: unknown[] = []
  const edge = { handle: (exchange: unknown) => void handled.push(exchange), meter: new Meter() }
  const exchange = new FakeExchange('get', '/')
  guarded(edge, names, false).handle(exchange)
  t.match(exchange.answers, [{ status: 421 }])
  t.same(handled, [])
})

/** Resolves to the status and content type of the answer to a request with this Host header. */
async function ask(port: number, method: string, path: string, host: string) {
  const sent = request({ host: '127.0.0.1', port, method, path, headers: { host }, agent: false })
  sent.end()
  const [answer] = await once(sent, 'response')
  answer.resume()
  await once(answer, 'end')
  return { status: answer.statusCode, type: answer.headers['content-type'] }
}

const hosts = ['--allowed-hosts', 'forum.lan,10.0.0.5', '--public-url', 'http://forum.example']
for (const flags of [[], ['--http', 'node'], ['--readers', '2']]) {
  const name = flags.join(' ') || 'as it is'
  t.test(`allowed hosts: a node ${name}: other names are refused before all else`, async (t) => {
    const { port } = await startForum(t, [...hosts, ...flags])
    for (const host of ['forum.lan', 'FORUM.lan:80', '10.0.0.5:1', 'forum.example', 'localhost']) {
      t.match(await ask(port, 'GET', '/api/status', host), { status: 200 }, host)
    }
    for (const host of ['evil.example', `evil.example:${port}`, 'forum.lan.evil.example']) {
      for (const [method, path] of [
        ['GET', '/api/status'],
        ['OPTIONS', '/api/threads'],
        ['PUT', '/unknown'],
        ['GET', '/'],
      ] as const) {
        const refused = { status: 421, type: 'text/plain; charset=utf-8' }
        t.same(await ask(port, method, path, host), refused, `${host}: ${method} ${path}`)
      }
    }
  })
}

const publicUrl = ['--public-url', 'https://forum.example']
const byDefault: [flags: string[], served: string[], refused: string[]][] = [
  [[], ['localhost:1', '127.0.0.1', '[::1]:8787'], ['evil.example', 'forum.example', '10.0.0.5']],
  [publicUrl, ['localhost', 'forum.example'], ['evil.example']],
  [[...publicUrl, '--trust-proxy'], ['127.0.0.1', 'forum.example'], ['evil.example']],
  [['--trust-proxy'], ['localhost', 'forum.example', '10.0.0.5'], []],
  [['--allowed-hosts', '*'], ['localhost', 'forum.example', '10.0.0.5'], []],
  [['--host', '0.0.0.0'], ['localhost', 'forum.example', '10.0.0.5'], []],
]
for (const [flags, served, refused] of byDefault) {
  const name = flags.join(' ') || 'as it is'
  t.test(`allowed hosts: none are named, a node ${name}: serves its own names`, async (t) => {
    const { port } = await startForum(t, flags)
    for (const [hosts, status] of [
      [served, 200],
      [refused, 421],
    ] as const) {
      for (const host of hosts) {
        t.match(await ask(port, 'GET', '/api/status', host), { status }, host)
      }
    }
  })
}

for (const flags of [['--trust-proxy'], ['--trust-proxy', '--http', 'node']]) {
  const name = flags.join(' ')
  t.test(`two Host headers, a node ${name}: 400`, async (t) => {
    const { port } = await startForum(t, flags)
    const connection = await wire(t, port)
    const head = 'GET /api/status HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n'
    await connection.write(head)
    t.equal((await connection.answer()).status, 400)
    connection.socket.destroy()
  })
}
