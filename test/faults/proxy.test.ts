// A real nginx or Caddy in front of a node, with the configuration in deploy/. Whatever
// callers write into forwarding headers, rate limits count the address from which they connect, one
// of 127.0.0.0/8.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startForum } from '../api/harness.ts'
import { sample } from '../api/operators.ts'
import { isDeep } from '../depth.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'

const deploy = new URL('../../../deploy/', import.meta.url)
const configuration = readFileSync(new URL('nginx.conf', deploy), 'utf8')
const caddyfile = readFileSync(new URL('Caddyfile', deploy), 'utf8')

/**
 * Starts nginx as in deploy/ in front of the node, and a second proxy of this kind in front of
 * the first.
 */
async function startProxies(t: Test, nodePort: number): Promise<{ inner: number; outer: number }> {
  const [inner, outer] = [await freePort(), await freePort()]
  const innerServer = served(configuration, inner, nodePort)
  const outerServer = served(configuration, outer, inner).replaceAll('forum', 'inner')
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-nginx-'))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((what) => `${what}_temp_path ${dir}/${what};`)
    .join('\n')
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off; master_process off; pid ${dir}/pid; events {}
    http { access_log off; ${temporary}\n${innerServer}\n${outerServer} }`,
  )
  const nginx = spawn('nginx', ['-p', dir, '-c', join(dir, 'nginx.conf'), '-e', join(dir, 'log')])
  t.teardown(async () => {
    nginx.kill()
    if (nginx.exitCode === null) await once(nginx, 'exit')
    if (!t.passing()) t.comment(readFileSync(join(dir, 'log'), 'utf8'))
    rmSync(dir, { recursive: true })
  })
  await until('nginx to listen', () => listens(outer))
  return { inner, outer }
}

/** Returns the configuration with other ports and without TLS. */
function served(text: string, port: number, upstream: number): string {
  return text
    .replace('127.0.0.1:8787', `127.0.0.1:${upstream}`)
    .replace('443 ssl', `127.0.0.1:${port}`)
    .replaceAll(/ssl_certificate.*\n/g, '')
}

/** Starts Caddy as in deploy/ in front of the node, and returns its port. */
async function startCaddy(t: Test, nodePort: number): Promise<number> {
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-caddy-'))
  const site = caddyfile
    .replace('127.0.0.1:8787', `127.0.0.1:${nodePort}`)
    .replace('forum.example {', `http://:${port} {\n  bind 127.0.0.1`)
  writeFileSync(join(dir, 'Caddyfile'), `{\n  admin off\n  auto_https off\n}\n${site}`)
  const env = { PATH: process.env.PATH, HOME: dir }
  const args = ['run', '--adapter', 'caddyfile', '--config', join(dir, 'Caddyfile')]
  const caddy = spawn('caddy', args, { cwd: dir, env, stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  caddy.stderr.setEncoding('utf8').on('data', (text) => {
    log += text
  })
  t.teardown(async () => {
    caddy.kill()
    if (caddy.exitCode === null) await once(caddy, 'exit')
    if (!t.passing()) t.comment(log)
    rmSync(dir, { recursive: true })
  })
  await until('Caddy to listen', () => listens(port))
  return port
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  })
  socket.destroy()
  return isOpen
}

/** Requests a ticket from `localAddress`, and returns the status. */
async function askTicket(port: number, localAddress: string, headers = {}): Promise<number> {
  const sent = request({
    host: '127.0.0.1',
    port,
    localAddress,
    path: '/api/compat/ticket',
    headers,
  })
  sent.end()
  const [response] = await once(sent, 'response')
  response.resume()
  await once(response, 'end')
  return response.statusCode
}

const limit = 3

/** Headers by which a caller may try to appear as a different caller in each request. */
const forgeries: Record<string, (n: number) => Record<string, string | string[]>> = {
  nothing: () => ({}),
  'CF-Connecting-IP': (n) => ({ 'CF-Connecting-IP': `203.0.113.${n}` }),
  'X-Forwarded-For': (n) => ({ 'X-Forwarded-For': `203.0.113.${n}` }),
  'many entries': (n) => ({ 'X-Forwarded-For': `203.0.113.${n}, 10.0.0.${n}, 127.0.0.1, ::1` }),
  'lines of its own': (n) => ({ 'X-Forwarded-For': [`203.0.113.${n}`, `2001:db8:${n}::1`] }),
  'everything else': (n) => ({
    Forwarded: `for=203.0.113.${n}`,
    'X-Real-IP': `203.0.113.${n}`,
    'True-Client-IP': `203.0.113.${n}`,
    'X-Forwarded-For': 'unknown,',
  }),
}

const set = [
  { flags: ['--trust-proxy'], behind: 'inner' },
  { flags: ['--trust-proxy', '--proxy-hops', '2'], behind: 'outer' },
  { flags: ['--trust-proxy', '--trusted-proxies', '127.0.0.1'], behind: 'outer' },
  { flags: ['--trust-proxy', '--trusted-proxies', '127.0.0.1,10.0.0.0/8'], behind: 'inner' },
] as const

/** nginx and Caddy are Debian packages, which .ci/tools installs. */
const isThere = (tool: string) => spawnSync(tool, ['-h']).error === undefined
const skipWithout = (tool: string) => (isThere(tool) ? false : `${tool} is not installed`)
const nginx = { skip: skipWithout('nginx') } // unless installed
const caddy = { skip: skipWithout('caddy') } // unless installed

/**
 * Checks that, whatever headers a caller forges, its own limit applies and nobody else's is used
 * up.
 */
async function limitsHold(t: Test, port: number): Promise<void> {
  for (const [i, [what, forge]] of Object.entries(forgeries).entries()) {
    const caller = `127.0.1.${i}`
    for (let n = 0; n < 8; n++) {
      const status = await askTicket(port, caller, forge(n))
      t.equal(status, n < limit ? 200 : 429, `${what}, request ${n}`)
    }
  }
  t.equal(await askTicket(port, '127.0.2.1'), 200, 'another caller has its own limit')
}

for (const { flags, behind } of set) {
  t.test(`nginx, ${behind}: ${flags.join(' ')}: forged headers: limits hold`, nginx, async (t) => {
    const forum = await startForum(t, [...flags, '--ticket-limit', `${limit}`])
    await limitsHold(t, (await startProxies(t, forum.port))[behind])
  })
}

t.test('Caddy: --trust-proxy: forged headers: limits hold', caddy, async (t) => {
  const forum = await startForum(t, ['--trust-proxy', '--ticket-limit', `${limit}`])
  await limitsHold(t, await startCaddy(t, forum.port))
})

t.test('nginx: IPv6 callers behind another proxy: one quota per /64', nginx, async (t) => {
  const flags = ['--trust-proxy', '--proxy-hops', '2', '--ticket-limit', `${limit}`]
  const forum = await startForum(t, flags)
  const { inner } = await startProxies(t, forum.port)
  const ask = (caller: string) => askTicket(inner, '127.0.1.1', { 'X-Forwarded-For': caller })
  for (let n = 0; n < 8; n++) {
    t.equal(await ask(`2001:db8:0:1:${n}::${n}`), n < limit ? 200 : 429)
  }
  t.equal(await ask('2001:db8:0:2::1'), 200)
})

t.test('nginx: a poll that waits: has its news; hangs up: forgotten', nginx, async (t) => {
  const ops = await freePort()
  const forum = await startForum(t, ['--ops-port', `${ops}`])
  const { outer } = await startProxies(t, forum.port)
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  const thread = (await ana.thread()).body.thread_id
  const waiting = (count: number) =>
    until(`${count} waiting`, async () => (await sample(ops, 'agent_forum_waiting')) === count)
  const poll = (signal: AbortSignal | null = null) =>
    fetch(`http://127.0.0.1:${outer}/api/notifications?after=0&wait=50`, {
      headers: { Authorization: `Bearer ${ana.token}` },
      signal,
    })
  const ending = new AbortController()
  const aborted = poll(ending.signal).catch((error: Error) => error.name)
  const told = poll()
  await waiting(2)
  ending.abort()
  t.equal(await aborted, 'AbortError')
  await waiting(1)
  await ben.reply(thread)
  t.match(await (await told).json(), { notifications: [{ author_id: ben.id }] })
})

/** The longest wait that a caller may request (docs/interface.md). */
const waitSecondsMax = 50

t.test('guide: the timeouts of both proxies: longer than an agent may wait', async (t) => {
  for (const text of [configuration!, caddyfile!]) {
    const [, seconds] = /(?:proxy_read_timeout|response_header_timeout) (\d+)s/.exec(text)!
    t.ok(Number(seconds) >= waitSecondsMax + 10, text)
  }
})

const patient = {
  // This takes as long as the longest wait, so only the deep run includes it.
  skip: isDeep ? nginx.skip || caddy.skip : 'only in the deep run',
  timeout: 90_000,
}
t.test('both proxies: an answer after 50 s: arrives, and the next at once', patient, async (t) => {
  const server = createServer((request, response) => {
    request.resume()
    setTimeout(() => response.end('news'), request.url === '/wait' ? waitSecondsMax * 1000 : 0)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const ports = [(await startProxies(t, port)).inner, await startCaddy(t, port)]
  await Promise.all(
    ports.flatMap((proxy) =>
      ['/wait', '/'].map(async (path) => {
        t.equal(await (await fetch(`http://127.0.0.1:${proxy}${path}`)).text(), 'news')
      }),
    ),
  )
})
