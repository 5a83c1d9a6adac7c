// The connection to the servers: the servers' possible requirements, and a node's report when it
// cannot connect.

import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { nkeys } from '@nats-io/transport-node'
import pino from 'pino'
import t, { type Test } from 'tap'
import {
  connectEngine,
  type EngineOptions,
} from '../../../src/cluster/replication/jetstream/connect.ts'
import { Lives } from '../../../src/cluster/replication/start-again.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { startNode } from '../../../src/node/server.ts'
import { dataDirectory, run } from '../../api/process.ts'
import { makeCertificates } from '../../forum/webhooks/receiver.ts'
import { freePort } from '../../free-port.ts'
import { until } from '../../until.ts'
import { nats, startCluster } from './nats-cluster.ts'

const blank = { stream: 'test', node: 'a', replicas: 1, takeoverMs: 1_000 }

/** Returns whether the stream is empty or, without a connection, the reason. */
async function outcome(options: Omit<EngineOptions, 'isStopped'>): Promise<string> {
  const reasons: string[] = []
  const isStopped = () => reasons.length > 0
  try {
    const log = await connectEngine({ ...options, isStopped }, ({ why }) => {
      reasons.push(String(why))
    })
    const last = await log.last()
    await log.close()
    return last === null ? 'empty' : 'not empty'
  } catch (error) {
    return (error as Error).message
  }
}

t.test(
  'connect: TLS both ways and credentials: served with them, else refused',
  nats,
  async (t) => {
    const certificates = makeCertificates()
    t.teardown(() => certificates.remove())
    const { ca, cert, key, caFile } = certificates
    const dir = dirname(caFile)
    const user = nkeys.createUser()
    const seed = Buffer.from(user.getSeed()).toString()
    const credentials = [
      '-----BEGIN NATS USER JWT-----\ne30.e30.e30\n------END NATS USER JWT------\n',
      `-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`,
    ].join('\n')
    writeFileSync(join(dir, 'user'), user.getPublicKey())
    const cluster = await startCluster(t, {
      size: 1,
      configuration: `
      tls { cert_file: "${dir}/cert", key_file: "${dir}/key", ca_file: "${caFile}", verify: true }
      authorization { users: [{ nkey: ${user.getPublicKey()} }] }`,
    })
    const servers = [cluster.url.replace('nats:', 'tls:')]
    const tls = { ca, cert, key }
    // On a busy machine a server may abandon the first handshakes.
    const isServed = async () =>
      (await outcome({ ...blank, servers, credentials, tls })) === 'empty'
    t.ok(await until('a connection', isServed))
    t.match(await outcome({ ...blank, servers, credentials: null, tls }), /authorization/i)
  },
)

/** Starts a server whose TLS has these settings, with a certificate for these names. */
async function withTls(t: Test, { names = 'IP:127.0.0.1', tls = '', more = '' } = {}) {
  const certificates = makeCertificates(names)
  t.teardown(() => certificates.remove())
  const { caFile, ca, cert, key } = certificates
  const dir = dirname(caFile)
  const files = `cert_file: "${dir}/cert", key_file: "${dir}/key", ca_file: "${caFile}"`
  const configuration = `tls {\n${files}\n${tls}\n}\n${more}`
  const { url } = await startCluster(t, { size: 1, configuration })
  return { servers: [url.replace('nats:', 'tls:')], own: { ca, cert, key } }
}

t.test(
  'connect: TLS by an IP address: its certificate names it, or is refused',
  nats,
  async (t) => {
    const none = { cert: null, key: null }
    for (const names of ['IP:127.0.0.1', 'DNS:localhost']) {
      const { servers, own } = await withTls(t, { names })
      const said = await outcome({ ...blank, servers, credentials: null, tls: { ...own, ...none } })
      if (names === 'IP:127.0.0.1') t.equal(said, 'empty')
      else t.match(said, /certificate of a server is not accepted: .*127\.0\.0\.1.*--replicate-ca/)
    }
  },
)

t.test('connect: another authority, no certificate, another one: each refused', nats, async (t) => {
  const { servers, own } = await withTls(t, { tls: 'verify: true' })
  const other = makeCertificates()
  t.teardown(() => other.remove())
  const said = (tls: EngineOptions['tls']) => outcome({ ...blank, servers, credentials: null, tls })
  t.match(await said({ ...own, ca: other.ca }), /of a server is not accepted.*--replicate-ca/)
  t.match(await said({ ...own, cert: null, key: null }), /of this node.*--replicate-cert/)
  const stranger = { ...own, cert: other.cert, key: other.key }
  t.match(await said(stranger), /of this node.*--replicate-cert/)
  t.equal(await said(own), 'empty')
})

t.test('connect: verify_and_map: the certificate alone says who the node is', nats, async (t) => {
  const more = 'authorization { users: [{ user: "CN=receiver" }] }'
  const { servers, own } = await withTls(t, { tls: 'verify_and_map: true', more })
  t.equal(await outcome({ ...blank, servers, credentials: null, tls: own }), 'empty')
})

t.test('connect: a name and a password from a file: served, else refused', nats, async (t) => {
  const more = 'authorization { users: [{ user: forum, password: "a:b" }] }'
  const { url } = await startCluster(t, { size: 1, configuration: more })
  const said = (credentials: string) =>
    outcome({ ...blank, servers: [url], credentials, tls: null })
  t.equal(await said('forum:a:b\n'), 'empty')
  t.match(await said('forum:b'), /the servers refuse this node.*--replicate-credentials/)
})

type Keys = ReturnType<typeof nkeys.createUser>

/** Returns a JWT as `nsc` writes it: what `issuer` says about `subject`. */
function jwtOf(issuer: Keys, subject: Keys, content: object): string {
  const json = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = {
    jti: 'any',
    iat: 1_700_000_000,
    iss: issuer.getPublicKey(),
    name: 'forum',
    sub: subject.getPublicKey(),
    nats: { version: 2, ...content },
  }
  const said = `${json({ typ: 'JWT', alg: 'ed25519-nkey' })}.${json(claims)}`
  const signature = issuer.sign(Buffer.from(said))
  return `${said}.${Buffer.from(signature).toString('base64url')}`
}

/** Returns the content of a `.creds` file as `nsc` writes it. */
function credsOf(user: Keys, account: Keys): string {
  const unlimited = { subs: -1, data: -1, payload: -1 }
  const jwt = jwtOf(account, user, { type: 'user', pub: {}, sub: {}, ...unlimited })
  const seed = Buffer.from(user.getSeed()).toString()
  return [
    `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n`,
    `-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`,
  ].join('\n')
}

t.test('connect: a .creds file of an account: served, one of another: refused', nats, async (t) => {
  const operator = nkeys.createOperator()
  const [account, poor, system] = [1, 2, 3].map(() => nkeys.createAccount()) as [Keys, Keys, Keys]
  const counts = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, conn: -1, leaf: -1 }
  const stored = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 }
  const preload = (keys: Keys, more: object) => {
    const limits = { ...counts, wildcards: true, ...more }
    return `${keys.getPublicKey()}: ${jwtOf(operator, keys, { type: 'account', limits })}`
  }
  const accounts = [preload(account, stored), preload(poor, {}), preload(system, {})]
  const { url } = await startCluster(t, {
    size: 1,
    configuration: `
      operator: ${jwtOf(operator, operator, { type: 'operator' })}
      system_account: ${system.getPublicKey()}
      resolver: MEMORY
      resolver_preload { ${accounts.join(', ')} }`,
  })
  const said = (of: Keys) => {
    const credentials = credsOf(nkeys.createUser(), of)
    return outcome({ ...blank, servers: [url], credentials, tls: null })
  }
  t.equal(await said(account), 'empty')
  const refused = /the servers refuse this node.*--replicate-credentials/
  t.match(await said(nkeys.createAccount()), refused)
  t.match(await said(poor), /JetStream not enabled for account/)
})

t.test('node: the servers refuse it: ends with 64, the flag is named', nats, async (t) => {
  const configuration = 'authorization { user: a, password: b }'
  const { url } = await startCluster(t, { size: 1, configuration })
  const args = ['serve', '--port', '0', '--data', dataDirectory(t), '--replicate', url]
  const { code, stderr } = await run(args)
  t.equal(code, 64)
  t.match(stderr, /^agent-forum: the servers refuse this node: [^\n]+--replicate-credentials\n$/)
})

t.test('connect: the server is silent: another one, not the same again', nats, async (t) => {
  const cluster = await startCluster(t)
  const links = await cluster.links(t)
  const servers = links.all.map(({ port }) => `nats://127.0.0.1:${port}`)
  const options = { ...blank, servers, credentials: null, tls: null }
  const events: string[] = []
  const log = await connectEngine(options, ({ event }) => events.push(event))
  t.teardown(() => log.close())
  for (let n = 1; n <= 3; n++) {
    const first = links.all.find(({ port }) => log.connection.getServer().endsWith(`:${port}`))!
    const { connections } = first
    first.set('silent')
    const connected = () => events.filter((event) => event === 'engine_connected').length
    await until('another connection', () => connected() === n)
    t.equal(first.connections, connections)
    t.not(log.connection.getServer(), `127.0.0.1:${first.port}`)
    first.set('open')
  }
})

t.test('connect: messages may not be long enough: refused, and it says so', nats, async (t) => {
  const cluster = await startCluster(t, { size: 1, messageBytesMax: 300_000 })
  const options = { ...blank, servers: [cluster.url], credentials: null, tls: null }
  t.match(await outcome(options), /max_payload is 300000/)
})

t.test('connect: more copies than servers: refused, and the flag is named', nats, async (t) => {
  const cluster = await startCluster(t, { size: 1 })
  const options = { ...blank, servers: [cluster.url], replicas: 3, credentials: null, tls: null }
  t.match(await outcome(options), /--replicate-replicas/)
})

t.test('connect: no server answers: said again while it lasts, also by /readyz', async (t) => {
  const port = await freePort()
  const servers = [`nats://127.0.0.1:${port}`]
  const reasons: string[] = []
  const engine = { ...blank, servers, credentials: null, tls: null, sayAgainMs: 1 }
  const connecting = connectEngine(
    { ...engine, isStopped: () => reasons.length > 2 },
    ({ why }) => {
      reasons.push(String(why))
    },
  )
  await t.rejects(connecting)
  t.equal(new Set(reasons.slice(0, 2)).size, 1, 'one reason, twice')

  const opsPort = String(await freePort())
  const args = ['--port', '0', '--ops-port', opsPort, '--data', dataDirectory(t)]
  const config = parseConfig([...args, '--replicate', servers[0]!], {})
  let stop = () => {}
  const stopped = new Promise<void>((resolve) => {
    stop = resolve
  })
  const starting = startNode(config, '0.0.0', pino({ level: 'silent' }), {
    lives: new Lives(stopped),
  })
  const said = await until('a reason', async () => {
    const answer = await fetch(`http://127.0.0.1:${opsPort}/readyz`).catch(() => null)
    const text = (await answer?.text()) ?? ''
    return text.includes('servers') && text
  })
  t.match(said, `waits for the servers ${servers[0]}: `)
  stop()
  await t.rejects(starting)
})
