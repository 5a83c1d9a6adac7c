// Goal:   an erased message is read as a tombstone from then on, whatever happens, and two
//         checkpoints later its text is in no file of the data directory; all others stay whole.
// Method: a node in this process on a simulated disk, with little memory for text. Messages are
//         erased that lie in a page of which several page files have copies, across two pages, and
//         in the page that is being filled. The same erasures are then cut off after any number of
//         changes to the disk, by a kill or a loss of power, and the node starts again.

import assert from 'node:assert/strict'
import { setImmediate as nextIteration } from 'node:timers/promises'
import pino from 'pino'
import t from 'tap'
import { parseConfig } from '../../src/config/config.ts'
import { isRejection } from '../../src/forum/forum.ts'
import type { Handler } from '../../src/http/exchange.ts'
import { type Node, startNode } from '../../src/node/server.ts'
import { chosenSeed, sizeOf, timeoutMs } from '../depth.ts'
import { FakeExchange } from '../http/fake-exchange.ts'
import { until } from '../until.ts'
import { SimulatedDisk } from '../wal/simulated-disk.ts'
import { seededRandom } from '../wal/simulated-inode.ts'

t.setTimeout(timeoutMs)

const count = 420
const contentBytes = 4_000
/** After so many messages a checkpoint is taken; a page of text holds about 245 of them. */
const checkpointsAfter = [280, 330]
/** In the first page, across its end, twice in the second, and in none that is saved. */
const erased = [5, 243, 244, 245, 246, 247, 260, 310, 410]
/** It is in the second page, of which the file of the first has a copy. */
const copied = 260
const iterationsMax = 10_000
/** Until there is the next segment of the log. */
const attemptsMax = 200

const contentOf = (n: number) => `The text of message ${n}. `.repeat(200).slice(0, contentBytes)

interface Message {
  seq: number
  id: string
  content: string
  removed?: boolean
}

/** The forum that all tests begin with. */
interface Base {
  disk: SimulatedDisk
  token: string
  threadId: string
  /** The ids of the messages. */
  ids: string[]
}

interface Running {
  node: Node
  handle: Handler
}

async function start(disk: SimulatedDisk): Promise<Running> {
  const flags = '--port 0 --data /erasing --checkpoint-mb 0 --text-memory-mb 1'.split(' ')
  const config = parseConfig(flags, { AGENT_FORUM_SECRET: 'the secret of a node that erases' })
  let handle: Handler = () => {}
  const listen = async (_host: string, _port: number, handler: Handler) => {
    handle = handler
    return { port: 1, stop: () => {} }
  }
  const environment = { disk, segmentBytes: 1 << 20, listen }
  const node = await startNode(config, '0.0.0', pino({ level: 'silent' }), environment)
  node.failed.catch(() => {}) // the disk fails where a test cuts it off
  return { node, handle }
}

async function call(
  { handle }: Running,
  path: string,
  { token = '', key = '', body }: { token?: string; key?: string; body?: object } = {},
) {
  const headers = { 'content-type': 'application/json', 'idempotency-key': key }
  const all = token === '' ? headers : { ...headers, authorization: `Bearer ${token}` }
  const [at, query] = path.split('?')
  const exchange = new FakeExchange(body === undefined ? 'get' : 'post', at, all, query)
  handle(exchange)
  if (body !== undefined) exchange.end(body)
  for (let i = 0; exchange.answers.length === 0; i++) {
    assert.ok(i < iterationsMax, `${path} is answered`)
    await nextIteration()
  }
  const [{ status, text }] = exchange.answers
  return { status, body: JSON.parse(text!) as Record<string, unknown> }
}

const keyOf = (n: number) => `message-${n}`

async function build(): Promise<Base> {
  const disk = new SimulatedDisk(1)
  const running = await start(disk)
  const { body } = await call(running, '/api/identities', { body: {} })
  const token = body.token as string
  let path = '/api/threads'
  let threadId = ''
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const post = { title: n === 0 ? 'Erased' : undefined, content: contentOf(n) }
    const { body } = await call(running, path, { token, key: keyOf(n), body: post })
    ids.push(body.message_id as string)
    threadId = body.thread_id as string
    path = `/api/threads/${threadId}/replies`
    if (checkpointsAfter.includes(n)) await running.node.takeCheckpoint()
  }
  await running.node.takeCheckpoint()
  await running.node.stop()
  return { disk, token, threadId, ids }
}

async function readAll(running: Running, { threadId }: Base): Promise<Message[]> {
  const all: Message[] = []
  for (let after = 0; ; after = all.at(-1)!.seq) {
    const { status, body } = await call(
      running,
      `/api/threads/${threadId}?after=${after}&limit=100`,
    )
    assert.equal(status, 200)
    all.push(...(body.messages as Message[]))
    if (!body.has_more) return all
  }
}

/** The numbers of the messages that are erased; all others must be whole. */
async function readErased(running: Running, base: Base): Promise<number[]> {
  const messages = await readAll(running, base)
  assert.equal(messages.length, count)
  return [...messages.entries()].flatMap(([n, { id, content, removed }]) => {
    assert.equal(id, base.ids[n])
    assert.equal(content, removed ? '[removed]' : contentOf(n))
    return removed ? [n] : []
  })
}

/** Whether the message is erased. False: the disk fails. */
async function erase({ node }: Running, { ids }: Base, n: number): Promise<boolean> {
  for (let i = 0; i < attemptsMax; i++) {
    const outcome = await node.moderate('remove-message', { id: ids[n], reason: 'a test' })
    if (!isRejection(outcome)) return true
    if (outcome.rejected !== 'overloaded') return false
    await nextIteration()
  }
  return false
}

/** The files that have the text of a message. */
function filesWith(disk: SimulatedDisk, n: number): string[] {
  const files = [...disk.contents()].filter(([, bytes]) =>
    bytes.includes(contentOf(n).slice(0, 60)),
  )
  return files.map(([name]) => name)
}

const base = await build()

t.test('erased: read as a tombstone, also after a restart; two checkpoints: gone', async (t) => {
  const { token, threadId, ids } = base
  const disk = base.disk.copy()
  const running = await start(disk)
  const pageFiles = filesWith(disk, copied).filter((name) => name.endsWith('.pages'))
  t.ok(pageFiles.length >= 2, 'two page files have it')
  const feed = await call(running, '/api/notifications', { token })
  for (const n of erased) t.ok(await erase(running, base, n))
  t.same(await readErased(running, base), erased)
  t.same(await call(running, '/api/notifications', { token }), feed)
  const again = { token, key: keyOf(5), body: { content: contentOf(5) } }
  const replay = await call(running, `/api/threads/${threadId}/replies`, again)
  t.match(replay, { status: 200, body: { replayed: true, message_id: ids[5] } })
  t.ok(await erase(running, base, 5), 'erased again: it is erased')
  const { node } = running
  await node.takeCheckpoint()
  t.ok(filesWith(disk, 310).length > 0, 'one checkpoint is not enough')
  await node.takeCheckpoint()
  for (const n of erased) t.same(filesWith(disk, n), [], `message ${n} is in no file`)
  t.ok(filesWith(disk, 6).length > 0, 'its neighbour is there')
  t.same(await readErased(running, base), erased)
  await node.stop()
  const restarted = await start(disk)
  t.same(await readErased(restarted, base), erased)
  await restarted.node.stop()
})

t.test('erased in a page of which an earlier file has a copy: gone from that, too', async (t) => {
  const disk = base.disk.copy()
  const running = await start(disk)
  t.ok(await erase(running, base, copied))
  await running.node.takeCheckpoint()
  await running.node.takeCheckpoint()
  t.same(filesWith(disk, copied), [])
  t.same(await readErased(running, base), [copied])
  await running.node.stop()
})

t.test('erased in a damaged page: repaired from parity first, then erased', async (t) => {
  const disk = base.disk.copy()
  const running = await start(disk)
  const text = Buffer.from(contentOf(5).slice(0, 60))
  for (const name of filesWith(disk, 5).filter((name) => name.endsWith('.pages'))) {
    const bytes = Buffer.from(disk.bytesOf(name))
    bytes[bytes.indexOf(text)]! ^= 1
    disk.overwrite(name, bytes)
  }
  const about = { id: base.ids[5]!, reason: 'a test' }
  t.same(await running.node.moderate('remove-message', about), { rejected: 'unreadable' })
  await until('the page to be repaired', async () => {
    return !isRejection(await running.node.moderate('remove-message', about))
  })
  await running.node.takeCheckpoint()
  await running.node.takeCheckpoint()
  t.same(filesWith(disk, 5), [])
  t.same(await readErased(running, base), [5])
  await running.node.stop()
})

t.test('two checkpoints are taken, old files stay: not gone, until they go', async (t) => {
  const disk = base.disk.copy()
  const running = await start(disk)
  const { node } = running
  t.ok(await erase(running, base, 5))
  const act = await node.moderate('remove-message', { id: base.ids[5]!, reason: '' })
  const isGone = () => node.erasure(act.position!).is_gone
  await node.takeCheckpoint()
  t.notOk(isGone(), 'one is not enough')
  disk.refuse('remove', 'EIO')
  await node.takeCheckpoint()
  t.notOk(isGone())
  t.ok(filesWith(disk, 5).length > 0)
  disk.refuse('remove', null)
  await node.takeCheckpoint()
  t.ok(isGone())
  t.same(filesWith(disk, 5), [])
  await node.stop()
})

t.test('two checkpoints are taken: gone as soon as no file has the text, not before', async (t) => {
  const disk = base.disk.copy()
  const running = await start(disk)
  t.ok(await erase(running, base, 5))
  const { node } = running
  const { position } = await node.moderate('remove-message', { id: base.ids[5]!, reason: '' })
  await node.takeCheckpoint()
  void node.takeCheckpoint()
  while (!node.erasure(position!).is_gone) await nextIteration()
  t.same(filesWith(disk, 5), [])
  await node.stop()
})

/** Erases everything and takes two checkpoints. Returns what was reported as erased. */
async function eraseAll(running: Running): Promise<number[]> {
  const done: number[] = []
  for (const n of erased) if (await erase(running, base, n)) done.push(n)
  await running.node.takeCheckpoint()
  await running.node.takeCheckpoint()
  return done
}

t.test('cut off after any change to the disk: what was reported as erased is erased', async (t) => {
  const whole = base.disk.copy()
  const running = await start(whole)
  const before = whole.changesMade
  await eraseAll(running)
  const changes = whole.changesMade - before
  await running.node.stop()
  const random = seededRandom(chosenSeed)
  const points = Math.min(changes, sizeOf('CRASH_POINTS'))
  t.comment(`TEST_SEED=${chosenSeed}: ${points} of ${changes} changes`)
  for (let i = 0; i < points; i++) {
    const point = Math.floor(((i + random()) * changes) / points)
    const how = random() < 0.5 ? 'kill' : 'loss of power'
    await cutOff(point, how).catch((error) => {
      t.fail(`TEST_SEED=${chosenSeed}: ${how} after change ${point}: ${error.stack}`)
    })
  }
})

async function cutOff(point: number, how: 'kill' | 'loss of power'): Promise<void> {
  const disk = base.disk.copy()
  const running = await start(disk)
  disk.freezeAfter(point)
  const reported = await eraseAll(running)
  const next = how === 'kill' ? disk.dieAlone() : disk.losePower()
  await running.node.stop() // which the disk no longer notices
  const restarted = await start(next)
  const found = await readErased(restarted, base)
  assert.deepEqual(
    reported.filter((n) => !found.includes(n)),
    [],
    'what was reported is erased',
  )
  const { node } = restarted
  await node.takeCheckpoint()
  await node.takeCheckpoint()
  for (const n of found) assert.deepEqual(filesWith(next, n), [], `message ${n} is in no file`)
  assert.deepEqual(await readErased(restarted, base), found)
  await node.stop()
}
