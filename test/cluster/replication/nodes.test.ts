// Goal:   nodes that share a log through a real engine show one history, whoever leads: a new
//         follower, a leader that stops, one that is cut off, a node whose log was left behind.
// Method: whole nodes in this process, each on a data directory of its own, with one nats-server.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import pino from 'pino'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { ConfigError } from '../../../src/base/arguments.ts'
import { runBackup } from '../../../src/cli/backup-command.ts'
import { type Life, startReplicatedNode } from '../../../src/cluster/replication/replicated-node.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { type Node, startNode } from '../../../src/node/server.ts'
import { timeoutMs } from '../../depth.ts'
import { until } from '../../until.ts'
import { type Cluster, nats, startCluster } from './nats-cluster.ts'
import { Visitor } from './visitor.ts'

const secret = 'a secret of more than 32 characters'
t.setTimeout(timeoutMs)

let cluster: Cluster
let streams = 0
let keys = 0

t.before(async () => {
  if (nats.skip === false) cluster = await startCluster(t, { size: 1 })
})

interface Answer {
  status: number
  body: Record<string, string>
}

/** One node on a directory of its own, through its lives in this process. */
class TestNode {
  readonly dir = mkdtempSync(join(tmpdir(), 'agent-forum-nodes-'))
  readonly lines: { msg: string; [field: string]: unknown }[] = []
  readonly #stream: string
  #node: Life | null = null
  /** The life that was started last. */
  #life: Node | null = null
  #stop: () => void = () => {}

  constructor(t: Test, stream: string) {
    this.#stream = stream
    t.teardown(async () => {
      await this.stop()
      rmSync(this.dir, { recursive: true, force: true })
    })
  }

  /** Starts the node. Resolves to whether it serves; false if it was stopped before that. */
  async start(flags: string[], { url = cluster.url, key = secret, takeover = '1' } = {}) {
    const [role, ...more] = flags
    const own = ['--port', '0', '--segment-mb', '1', '--data', this.dir, '--scrub-hours', '0']
    const engine = ['--replicate-replicas', '1', '--takeover-seconds', takeover]
    const stream = ['--replicate-stream', this.#stream]
    const args = [role!, url, ...more, ...own, ...engine, ...stream]
    const config = parseConfig(args, { AGENT_FORUM_SECRET: key })
    const log = pino({}, { write: (line) => this.lines.push(JSON.parse(line)) })
    const stopped = new Promise<void>((resolve) => {
      this.#stop = resolve
    })
    this.#node = await startReplicatedNode(config, log, stopped, async (lifeConfig, lives) => {
      this.#life = await startNode(lifeConfig, '0.0.0', log, { lives })
      return this.#life
    })
    this.#node?.failed.catch((error: Error) => this.lines.push({ msg: 'failed', error }))
    return this.#node !== null
  }

  /** Stops the node as a signal does, even during its start. */
  async stop(): Promise<void> {
    this.#stop()
    await this.#node?.stop()
    this.#node = null
  }

  get url(): string {
    return this.#node!.url
  }

  get failed(): Promise<never> {
    return this.#node!.failed
  }

  has(msg: string): boolean {
    return this.lines.some((line) => line.msg === msg)
  }

  takeCheckpoint(): Promise<void> {
    return this.#life!.takeCheckpoint()
  }

  async get(path: string): Promise<Answer> {
    const { statusCode, body } = await request(this.#node!.url + path)
    return { status: statusCode, body: (await body.json()) as Answer['body'] }
  }

  async role(): Promise<string | undefined> {
    return (await this.get('/api/status')).body.role
  }

  async post(path: string, body: object, token = '', key = `key-of-test-${keys++}`) {
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (token !== '') headers.authorization = `Bearer ${token}`
    headers['idempotency-key'] = key
    const payload = JSON.stringify(body)
    const answer = await request(this.#node!.url + path, { method: 'POST', headers, body: payload })
    return { status: answer.statusCode, body: (await answer.body.json()) as Answer['body'] }
  }

  async thread(): Promise<{ token: string; path: string }> {
    const created = (path: string, body: object, token = '', key = `key-of-test-${keys++}`) =>
      until(`an answer to ${path}`, async () => {
        const answer = await this.post(path, body, token, key)
        return answer.status < 300 && answer.body
      })
    const { token } = await created('/api/identities', { kind: 'guest' })
    const posted = await created('/api/threads', { title: 't', content: 'c' }, token)
    return { token: token!, path: `/api/threads/${posted.thread_id}` }
  }

  /** Publishes a reply, and repeats it with its key until it is answered. */
  async reply(path: string, token: string, content: string): Promise<void> {
    const key = `key-of-test-${keys++}`
    await until(`the reply ${content}`, async () => {
      const { status } = await this.post(`${path}/replies`, { content }, token, key)
      return status === 201 || status === 200
    })
  }

  /** Reads again after a 503, which a node may answer while it takes another role. */
  async contents(path: string): Promise<string[]> {
    const { body } = await until(`an answer to ${path}`, async () => {
      const answer = await this.get(`${path}?limit=100`)
      return answer.status === 200 && answer
    })
    return (body.messages as unknown as { content: string }[]).map(({ content }) => content)
  }
}

function newNodes(t: Test, count: number): TestNode[] {
  streams += 1
  return Array.from({ length: count }, () => new TestNode(t, `nodes-${streams}`))
}

t.test('nodes: a follower from nothing: waits, follows, passes writes on', nats, async (t) => {
  const [leader, follower] = newNodes(t, 2) as [TestNode, TestNode]
  const following = follower.start(['--follow'])
  await until('it waits', () => follower.has('waits_for_leader'))
  await leader.start(['--replicate'])
  t.ok(await following)
  t.same([await leader.role(), await follower.role()], ['leader', 'follower'])
  const { token, path } = await follower.thread()
  await follower.reply(path, token, 'by the follower')
  t.same(await follower.contents(path), ['c', 'by the follower'], 'read where it was written')
  t.same(await leader.contents(path), ['c', 'by the follower'])
  const [a, b] = [await leader.get('/api/status'), await follower.get('/api/status')]
  t.equal(a.body.epoch, b.body.epoch)
  t.equal(a.body.position, b.body.position)
  await leader.stop()
  const { status, body } = await follower.post(`${path}/replies`, { content: 'no' }, token)
  t.same([status, body.error], [503, 'no_leader'])
  t.equal((await follower.contents(path)).length, 2, 'reads go on')
})

t.test("nodes: a person's forms at a follower: both show what the leader did", nats, async (t) => {
  const [leader, follower] = newNodes(t, 2) as [TestNode, TestNode]
  await leader.start(['--replicate'])
  await follower.start(['--follow'])
  const ana = new Visitor(follower.url)
  const made = await ana.send(await ana.open('/sign-in'), '/register', { display_name: 'Ana' })
  t.match(made, { status: 303, location: /^\/registered/ })
  const token = /aic_[0-9a-f]{64}/.exec((await ana.open(made.location)).text)![0]
  t.match(await ana.send(await ana.open('/'), '/sign-out', {}), { status: 303 })
  t.notMatch((await ana.open('/')).text, 'Signed in')
  t.match(await ana.send(await ana.open('/sign-in'), '/sign-in', { token }), { status: 303 })
  const thread = { title: 'By a form', content: 'the first' }
  const posted = await ana.send(await ana.open('/new'), '/new', thread)
  t.match(posted, { status: 303, location: /^\/t\/thr_/ })
  const path = posted.location.split(/[?#]/)[0]!
  const page = await ana.open(path)
  const replied = await ana.send(page, path, { content: 'the second', do: 'reply' })
  t.equal(replied.status, 303)
  for (const { url } of [follower, leader]) {
    const visitor = new Visitor(url)
    visitor.cookie = ana.cookie
    const { status, text } = await visitor.open(path)
    t.equal(status, 200)
    for (const shown of ['Signed in as <bdi>Ana', 'By a form', 'the first', 'the second']) {
      t.match(text, shown)
    }
  }
  const api = `/api/threads/${path.slice('/t/'.length)}`
  t.same(await leader.contents(api), ['the first', 'the second'])
  const last = await ana.open(path)
  await leader.stop()
  const send = () => ana.fill(last, path, { content: 'the third', do: 'reply' })
  t.match(await send(), { status: 503, text: /Sent again, it is published once/ })
  t.same(await follower.contents(api), ['the first', 'the second'])
  await leader.start(['--replicate'])
  await until('the form to be taken', async () => (await send()).status === 303)
  t.equal((await send()).status, 303, 'sent again')
  t.same(await follower.contents(api), ['the first', 'the second', 'the third'])
})

t.test('nodes: a follower that waits for a leader: stopped: begins no log', nats, async (t) => {
  const [follower] = newNodes(t, 1) as [TestNode]
  const following = follower.start(['--follow'])
  await until('it waits', () => follower.has('waits_for_leader'))
  await follower.stop()
  t.notOk(await following)
  t.notOk(readdirSync(follower.dir).some((name) => name.endsWith('.wal')))
})

t.test('nodes: the leader stops: the standby leads; it returns: it follows', nats, async (t) => {
  const [a, b] = newNodes(t, 2) as [TestNode, TestNode]
  await a.start(['--replicate', '--standby'])
  await b.start(['--follow', '--standby'])
  const { token, path } = await a.thread()
  await a.reply(path, token, 'one')
  await a.stop()
  await until('the standby to lead', async () => (await b.role()) === 'leader')
  t.ok(b.has('took_over'))
  await b.reply(path, token, 'two')
  await a.start(['--replicate', '--standby'])
  t.equal(await a.role(), 'follower')
  await a.reply(path, token, 'three')
  t.same(await a.contents(path), ['c', 'one', 'two', 'three'])
  t.same(await b.contents(path), ['c', 'one', 'two', 'three'])
})

t.test('nodes: two lead without --standby: the second one ends with 78', nats, async (t) => {
  const [a, b] = newNodes(t, 2) as [TestNode, TestNode]
  await a.start(['--replicate'])
  await a.thread()
  await t.rejects(b.start(['--replicate']), { exitCode: 78, message: /another node leads/ })
  t.equal(await a.role(), 'leader')
})

t.test(
  'nodes: a leader that is cut off: nothing is acknowledged, then it follows',
  nats,
  async (t) => {
    const [a, b] = newNodes(t, 2) as [TestNode, TestNode]
    const link = await cluster.links(t)
    await a.start(['--replicate', '--standby'], { url: link.url, takeover: '5' })
    await b.start(['--follow', '--standby'], { takeover: '5' })
    const { token, path } = await a.thread()
    const { url } = a
    link.set('cut')
    const alone = a.post(`${path}/replies`, { content: 'never acknowledged' }, token)
    await until('the standby to lead', async () => (await b.role()) === 'leader')
    await b.reply(path, token, 'by the new leader')
    link.set('open')
    const { status, body } = await alone
    t.same([status, body.error], [503, 'no_leader'])
    await until('its end to be put aside', () => a.has('put_aside'))
    await until('it follows', async () => (await a.role().catch(() => '')) === 'follower')
    t.equal(a.url, url, 'on the port that it had')
    t.same(await a.contents(path), ['c', 'by the new leader'])
    t.ok(readdirSync(a.dir).some((name) => name.endsWith('.wal.replaced')))
    await a.reply(path, token, 'after all')
    t.same(await b.contents(path), ['c', 'by the new leader', 'after all'])
  },
)

t.test('nodes: a leader without --standby that is replaced: ends with 78', nats, async (t) => {
  const [a, b] = newNodes(t, 2) as [TestNode, TestNode]
  const link = await cluster.links(t)
  await a.start(['--replicate'], { url: link.url })
  await b.start(['--follow', '--standby'])
  link.set('cut')
  await until('the standby to lead', async () => (await b.role()) === 'leader')
  link.set('open')
  await t.rejects(a.failed, { exitCode: 78, message: /another node leads now, in term 2/ })
})

t.test(
  'nodes: what a follower needs is trimmed: it begins with the checkpoint',
  nats,
  async (t) => {
    const [a, b] = newNodes(t, 2) as [TestNode, TestNode]
    await a.start(['--replicate'])
    await b.start(['--follow'])
    const { token, path } = await a.thread()
    await b.stop()
    const expected = ['c']
    for (let n = 0; n < 20; n++) {
      await a.reply(path, token, `${n}`)
      expected.push(`${n}`)
    }
    await a.takeCheckpoint()
    await until('the checkpoint beside the stream', () => a.has('checkpoint_uploaded'))
    const connection = await connect({ servers: cluster.url.split(',') })
    t.teardown(() => connection.close())
    const manager = await jetstreamManager(connection)
    const name = `nodes-${streams}`
    const { state } = await manager.streams.info(name)
    await manager.streams.purge(name, { seq: state.last_seq })
    await b.start(['--follow'])
    t.ok(b.has('starts_again'), 'its log was not continued')
    t.same(await b.contents(path), expected)
    await b.reply(path, token, 'the end')
    t.same(await a.contents(path), [...expected, 'the end'])
  },
)

t.test('nodes: without its flags, or restored: refused, as it may differ', nats, async (t) => {
  const [a, b] = newNodes(t, 2) as [TestNode, TestNode]
  await a.start(['--replicate'])
  const { token, path } = await a.thread()
  const log = pino({ level: 'silent' })
  const flags = ['--port', '0', '--segment-mb', '1', '--data']
  const alone = (dir: string) =>
    startNode(parseConfig([...flags, dir], { AGENT_FORUM_SECRET: secret }), '0.0.0', log)
  rmSync(b.dir, { recursive: true })
  t.equal(await runBackup(['--data', a.dir, '--to', b.dir]), 0)
  await a.reply(path, token, 'not in the backup')
  await a.stop()
  const refused = await alone(a.dir).catch((error: unknown) => error)
  t.match(refused, { message: /is a part of a replicated log; start it with --replicate/ })
  t.ok(refused instanceof ConfigError)
  await (await alone(b.dir)).stop()
  const other = await b.start(['--follow']).catch((error: unknown) => error)
  t.ok(other instanceof ConfigError, `${other}`)
  t.match(other, { message: /was restored from a backup/ })
  const begins = Object.assign(newNodes(t, 1)[0]!, { dir: b.dir })
  t.ok(await begins.start(['--replicate']), 'it begins another one, without --begin-stream')
  t.ok(await a.start(['--replicate']), 'and with them it leads again')
})

t.test('nodes: another secret, another store: refused', nats, async (t) => {
  const [a, b, c] = newNodes(t, 3) as [TestNode, TestNode, TestNode]
  await a.start(['--replicate'])
  const key = 'another secret of more than 32 characters'
  const refused = await b.start(['--follow'], { key }).catch((error: unknown) => error)
  t.ok(refused instanceof ConfigError, `${refused}`)
  t.match(refused, { message: /secret/ })
  const [other] = newNodes(t, 1) as [TestNode]
  await other.start(['--replicate'])
  await other.stop()
  rmSync(c.dir, { recursive: true })
  Object.assign(c, { dir: other.dir })
  const mixed = await c.start(['--follow']).catch((error: unknown) => error)
  t.ok(mixed instanceof ConfigError, `${mixed}`)
  t.match(mixed, { message: /store/ })
})
