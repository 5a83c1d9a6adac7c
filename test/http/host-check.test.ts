// The host names by which a node may be reached: on the operators' port and, with --allowed-hosts,
// on the interface's port.

import { once } from 'node:events'
import { request } from 'node:http'
import t from 'tap'
import type { Exchange } from '../../src/http/exchange.ts'
import { guarded, isOwnHost } from '../../src/http/host-check.ts'
import { Meter } from '../../src/http/meter.ts'
import { startForum } from '../api/harness.ts'

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

t.test('allowed hosts: none are set: the edge itself, without a check', async (t) => {
  const edge = { handle: (_: Exchange) => {}, meter: new Meter() }
  t.equal(guarded(edge, null), edge)
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

t.test('allowed hosts: by default: any name is served', async (t) => {
  const { port } = await startForum(t)
  t.match(await ask(port, 'GET', '/api/status', 'evil.example'), { status: 200 })
})
