// Goal:   a request for text that is on disk only is answered correctly while hot requests are
//         served, or with 503 where the text cannot be read, and never wrongly: when a byte rots in
//         a file of a running node, when sectors are unreadable, when the disk is slow, at the
//         limits of what may wait, and when the node stops meanwhile.
// Method: the real program on a real disk, with 1 MiB for text. The test changes bytes of its
//         files; strace makes its reads of one file fail, or delays them.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  type Answer,
  Client,
  type Forum,
  publishedThread,
  startForum,
  startForumOn,
} from '../api/harness.ts'
import { ask, sample, samples } from '../api/operators.ts'
import { dataDirectory } from '../api/process.ts'
import { timeoutMs } from '../depth.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { flip } from './flip.ts'

const replies = 120
const together = 10
const pieceBytes = 1 << 20
const parityHeaderBytes = 64
const marker = 'the reply that rots'
t.setTimeout(timeoutMs)

/** A stopped forum, whose thread `cold` has more text than fits in its memory. */
interface Prepared {
  data: string
  token: string
  cold: string
  /** The first page of the thread, as it was served from memory. */
  before: string
}

interface Scene extends Prepared {
  forum: Forum
  ops: number
  ana: Client
  /** A thread whose text is in memory. */
  hot: string
  /** The page file that contains the marker, and the marker's offset in it. */
  pages: string
  at: number
}

const common = ['--text-memory-mb', '1', '--scrub-hours', '0', '--segment-mb', '8']

async function prepare(): Promise<Prepared> {
  const forum = await startForum(t, common)
  const ana = await forum.identity()
  const cold = await publishedThread(ana)
  for (let n = 0; n < replies; n += together) {
    const published = Array.from({ length: together }, (_, i) => {
      const filler = '😀'.repeat(7_000)
      return ana.reply(cold, n + i === 10 ? `${marker} ${filler}` : `${n + i} ${filler}`)
    })
    for (const { status } of await Promise.all(published)) t.equal(status, 201)
  }
  const before = (await ana.read(cold, '?limit=40')).text
  await forum.stop() // takes a checkpoint
  return { data: forum.data, token: ana.token, cold, before }
}

const prepared = prepare()

/** Starts the forum on a copy, so that all its text but the last page is on disk only. */
async function aForum(t: Test, flags: string[] = []): Promise<Scene> {
  const { token, ...rest } = await prepared
  const data = dataDirectory(t)
  cpSync(rest.data, data, { recursive: true })
  const ops = await freePort()
  const forum = await startForumOn(t, data, ['--ops-port', `${ops}`, ...common, ...flags])
  const ana = new Client(forum, token)
  const hot = await publishedThread(ana)
  const [pages, at] = find(forum)!
  return { token, ...rest, forum, ops, ana, hot, pages, at }
}

function find({ data }: Forum): [string, number] | null {
  for (const name of readdirSync(data).filter((name) => name.endsWith('.pages'))) {
    const at = readFileSync(join(data, name)).indexOf(marker)
    if (at !== -1) return [join(data, name), at]
  }
  return null
}

/**
 * Has strace inject the fault into every `pread` of the page file from now on. Returns null where
 * strace is unavailable.
 */
async function inject({ forum, pages }: Scene, fault: string): Promise<ChildProcess | null> {
  const { status } = spawnSync('strace', ['-D', '-f', '-qq', '-o', '/dev/null', 'true'])
  if (status !== 0) return null
  const faults = ['-P', pages, '-e', 'trace=pread64', '-e', `inject=pread64:${fault}`]
  const strace = spawn('strace', ['-f', '-o', '/dev/null', ...faults, '-p', `${forum.pid}`])
  let said = ''
  strace.stderr.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  // strace reports this once it traces all threads; /proc shows a tracer as soon as it has the
  // first.
  await until('strace to be attached', () => said.includes(' attached with '))
  return strace
}

/** A disk that does not answer until strace is ended: the delay is longer than the test takes. */
const hangs = 'delay_enter=600000000'

/** Ends strace. From then on reads proceed normally, including those in flight. */
async function end(strace: ChildProcess): Promise<void> {
  const ended = once(strace, 'close')
  strace.kill('SIGKILL')
  await ended
}

const skipped = 'skipped: strace is missing, or may not trace'

function coldPage({ ana, cold }: Scene): Promise<Answer> {
  return ana.read(cold, '?limit=40')
}

t.test('node: text is on disk: pages, lists and replays as before, beside polls', async (t) => {
  const scene = await aForum(t)
  const { ana, hot, ops, cold, before } = scene
  t.equal(await sample(ops, 'agent_forum_text_reads_total'), 0, 'a start reads no text')
  const reads = Array.from({ length: 5 }, () => coldPage(scene))
  const polls = Array.from({ length: 100 }, () => ana.feed())
  const hotReads = Array.from({ length: 20 }, () => ana.read(hot))
  for (const { status } of await Promise.all([...polls, ...hotReads])) t.equal(status, 200)
  for (const { text } of await Promise.all(reads)) t.equal(text, before)
  const { threads } = (await ana.get('/api/threads')).body
  t.same(
    threads.map(({ id }) => id),
    [hot, cold],
  )
  const found = samples((await ask(ops, '/metrics')).text)
  t.ok(found.get('agent_forum_text_reads_total')! >= 60)
  t.ok(found.get('agent_forum_text_bytes{where="memory"}')! < 3 << 20)
  t.equal(found.get('agent_forum_text_waiting'), 0)
  t.equal(found.get('agent_forum_text_waiting_bytes'), 0)
})

t.test('node: a byte of text rots while it runs: rebuilt, shown right, repaired', async (t) => {
  const scene = await aForum(t)
  const { forum, ops, pages, at, before } = scene
  flip(pages, at)
  t.equal((await coldPage(scene)).text, before)
  const line = await forum.logged('text_block_rebuilt')
  t.match(line, { level: 40, file: /\.pages$/, by: 'parity', why: /CRC mismatch/ })
  t.ok((line.offset as number) <= at && at < (line.offset as number) + 16384)
  t.match(await forum.logged('page_mended'), { by: 'parity' })
  await until('readiness', async () => (await ask(ops, '/readyz')).text === 'ok\n')
  t.equal(readFileSync(pages).indexOf(marker), at, 'the file has its original bytes')
  t.equal(await sample(ops, 'agent_forum_text_damaged_total{outcome="rebuilt"}'), 1)
})

t.test('node: text and its parity rot: 503 for what shows it, degraded, reported', async (t) => {
  const scene = await aForum(t)
  const { forum, ops, pages, at, before, ana, cold, hot } = scene
  const parity = pages.replace(/pages$/, 'parity')
  flip(pages, at)
  flip(parity, parityHeaderBytes + (at % pieceBytes))
  for (let n = 0; n < 3; n++) {
    const refused = await coldPage(scene)
    t.match(refused, { status: 503, body: { error: 'unreadable' } })
    t.match(refused.headers['retry-after'], /^\d+$/)
  }
  t.equal((await ana.read(hot)).status, 200)
  t.equal((await ana.read(cold, '?limit=3')).status, 200, 'the other blocks can be read')
  const line = await forum.logged('text_block_lost')
  t.match(line, { level: 50, file: /\.pages$/, why: /CRC mismatch/ })
  t.ok((line.offset as number) <= at && at < (line.offset as number) + 16384)
  t.equal(forum.log.match(/text_block_lost/g)?.length, 1, 'one line')
  t.match((await ask(ops, '/readyz')).text, /^degraded: damaged, and not repaired yet: .*pages at/)
  t.ok((await sample(ops, 'agent_forum_text_damaged_total{outcome="lost"}')) >= 1)
  t.equal((await ana.reply(hot)).status, 201, 'writing goes on')
  flip(pages, at)
  await forum.stop()
  await forum.start()
  t.equal((await coldPage(scene)).text, before)
})

t.test('node: text cannot be read at first: 503 or right, then right', async (t) => {
  const scene = await aForum(t)
  const strace = await inject(scene, 'error=EIO:when=1') // once in each thread
  if (strace === null) return t.comment(skipped)
  const answers = await until('the page to be shown', async () => {
    const answer = await coldPage(scene)
    if (answer.status === 200) return [answer]
    t.match(answer, { status: 503, body: { error: 'unreadable' } })
    return null
  })
  t.equal(answers[0]!.text, scene.before)
  t.match(await scene.forum.logged('text_block_lost'), { why: /EIO/ })
  await until('readiness', async () => (await ask(scene.ops, '/readyz')).text === 'ok\n')
})

t.test('node: no sector of text can be read: 503, others are answered', async (t) => {
  const scene = await aForum(t)
  const strace = await inject(scene, 'error=EIO')
  if (strace === null) return t.comment(skipped)
  t.match(await coldPage(scene), { status: 503, body: { error: 'unreadable' } })
  t.equal((await scene.ana.read(scene.hot)).status, 200)
  t.match(await scene.forum.logged('text_block_lost'), { why: /EIO/ })
  t.match((await ask(scene.ops, '/readyz')).text, /^degraded: damaged/)
})

t.test('node: text is read slowly: hot requests go on, few wait, a stop ends all', async (t) => {
  const scene = await aForum(t, ['--cold-reads-max', '4'])
  const { ana, cold, hot, ops, forum } = scene
  const strace = await inject(scene, hangs)
  if (strace === null) return t.comment(skipped)
  const parked = (count: number) =>
    until(`${count} parked`, async () => (await sample(ops, 'agent_forum_text_waiting')) === count)
  let isOver = false
  const first = ana.read(cold, '?limit=1').finally(() => {
    isOver = true
  })
  await parked(1)
  t.equal((await ana.read(hot)).status, 200)
  t.equal((await ana.feed()).status, 200)
  t.equal((await ana.reply(hot)).status, 201)
  t.notOk(isOver, 'the text is still being read')
  const second = ana.read(cold, '?limit=2')
  await parked(2)
  t.match(await ana.read(cold, '?limit=3'), { status: 503, body: { error: 'overloaded' } })
  t.equal(await sample(ops, 'agent_forum_refusals_total{why="cold_reads"}'), 1)
  await end(strace)
  t.equal((await first).status, 200)
  t.equal((await second).status, 200)
  const again = await inject(scene, hangs)
  const reads = [30, 40].map((limit) => ana.read(cold, `?limit=${limit}`))
  await parked(2)
  const stopping = forum.stop()
  for (const answer of await Promise.all(reads)) {
    t.match(answer, { status: 503, body: { error: 'shutting_down' } })
  }
  await end(again!)
  t.equal((await stopping)!.code, 0)
})
