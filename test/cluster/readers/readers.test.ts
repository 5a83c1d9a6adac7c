// Goal:   readers find text where the checkpoints of the main process store it, whatever these move
//         and remove, and, like the main process, never show the text of an erased message.
//         A reader that starts again knows what the others know of who was seen.
// Method: the main process runs in the test, which decides when a checkpoint is taken; two readers
//         have room for one page of text each; every request uses a new connection. For the last
//         goal, the readers' processes are doubles.

import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import pino from 'pino'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { kinds, packedMessage, Splitter, unpacked } from '../../../src/cluster/readers/messages.ts'
import { Readers, type ReadersParts } from '../../../src/cluster/readers/readers.ts'
import {
  type Config,
  checkSettings,
  findSettings,
  settingTexts,
} from '../../../src/config/config.ts'
import { Gate } from '../../../src/edge/http/gate.ts'
import { Load } from '../../../src/edge/http/load.ts'
import type { Role } from '../../../src/engine/role/role.ts'
import type { Seen } from '../../../src/forum/identities/last-seen.ts'
import { type Node, startNode } from '../../../src/node/server.ts'
import { ask, samples } from '../../api/operators.ts'
import { dataDirectory } from '../../api/process.ts'
import { timeoutMs } from '../../depth.ts'
import { newWorld } from '../../forum/doubles.ts'
import { freePort } from '../../free-port.ts'
import { until } from '../../until.ts'

t.setTimeout(timeoutMs)

/** 28 KB of text, the largest number of characters that is allowed. */
const contentCharacters = 7_000
const together = 10
const apart = 10

interface Scene {
  node: Node
  ops: number
  token: string
  thread: string
}

async function scene(t: Test): Promise<Scene> {
  const ops = await freePort()
  const settings = findSettings(
    [
      ...['--port', '0', '--data', dataDirectory(t), '--ops-port', `${ops}`, '--readers', '2'],
      ...['--text-memory-mb', '3', '--segment-mb', '8', '--checkpoint-mb', '1000'],
      ...['--log-level', 'silent'],
    ],
    {},
  )
  const config = checkSettings(settings, {})
  const log = pino({ level: 'silent' })
  const node = await startNode(config, '0.0.0', log, { settings: settingTexts(settings) })
  t.teardown(() => node.stop())
  await until('readers to serve', async () => {
    return (await metricsOf(ops)).get('agent_forum_readers{state="serving"}') === 2
  })
  const { token } = await post({ node, token: '' }, '/api/identities', {})
  const created = await post({ node, token }, '/api/threads', { title: 't', content: 'first' })
  return { node, ops, token, thread: created.thread_id! }
}

async function metricsOf(ops: number): Promise<Map<string, number>> {
  return samples((await ask(ops, '/metrics')).text)
}

async function post({ node, token }: Pick<Scene, 'node' | 'token'>, path: string, body: object) {
  const authorization = token === '' ? {} : { authorization: `Bearer ${token}` }
  const headers = {
    ...{ 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    ...authorization,
  }
  const text = await unlessBusy(node.url + path, {
    ...{ method: 'POST', reset: true, headers },
    body: JSON.stringify(body),
  })
  return JSON.parse(text) as Record<string, string>
}

/**
 * Returns the answer to a request on a new connection. A reader that has heard nothing from the
 * leader for two seconds, as on a busy machine, answers 503, and the request is retried.
 */
function unlessBusy(url: string, options: Parameters<typeof request>[1]): Promise<string> {
  return until('an answer', async () => {
    const { statusCode, body } = await request(url, options)
    const text = await body.text()
    if (statusCode === 503) return null
    if (statusCode > 201) throw new Error(text)
    return text
  })
}

/** Publishes replies that fill pages of text, and resolves to their ids. */
async function fill(here: Scene, count: number): Promise<string[]> {
  const ids: string[] = []
  const reply = async (n: number) => {
    const content = `${n} ${'😀'.repeat(contentCharacters)}`
    ids[n] = (await post(here, `/api/threads/${here.thread}/replies`, { content })).message_id!
  }
  for (let n = 0; n < count; n += together) {
    await Promise.all(Array.from({ length: together }, (_, i) => reply(n + i)))
  }
  return ids
}

/** Reads the first messages of the thread, on `apart` new connections. */
function readApart({ node, thread }: Scene): Promise<string[]> {
  const read = async () => {
    const url = `${node.url}/api/threads/${thread}?after=0&limit=20`
    const text = await unlessBusy(url, { reset: true })
    return text.slice(text.indexOf('"messages"'), text.indexOf('"next_after"'))
  }
  return Promise.all(Array.from({ length: apart }, read))
}

t.test('readers: text that only checkpoints have: the same at all, also after more', async (t) => {
  const here = await scene(t)
  await fill(here, 100)
  const [before] = await readApart(here)
  for (let round = 0; round < 3; round++) {
    await here.node.takeCheckpoint()
    await fill(here, 40)
    for (const text of await readApart(here)) t.equal(text, before)
  }
  await until('readers to have read text from disk', async () => {
    return (await metricsOf(here.ops)).get('agent_forum_reader_text_reads_total')! > 0
  })
  const metrics = await metricsOf(here.ops)
  const bytes = (part: string) =>
    metrics.get(`agent_forum_reader_memory_bytes{reader="2",part="${part}"}`)!
  t.ok(bytes('heap') > 0)
  t.ok(bytes('text') > 0 && bytes('external') > bytes('text'), 'the text is outside the heap')
})

t.test('readers: a message is erased: gone at all, also in later checkpoints', async (t) => {
  const here = await scene(t)
  const ids = await fill(here, 100)
  await here.node.takeCheckpoint()
  await until('the message to be erased', async () => {
    const outcome = await here.node.moderate('remove-message', { id: ids[3]!, reason: 'a test' })
    return !('rejected' in outcome)
  })
  const isGone = (text: string) => {
    t.notMatch(text, '"3 😀😀')
    t.match(text, '"4 😀😀')
    t.match(text, '"removed":true')
  }
  for (const text of await readApart(here)) isGone(text)
  for (let taken = 0; taken < 3; taken++) {
    await here.node.takeCheckpoint()
    await fill(here, 40)
    for (const text of await readApart(here)) isGone(text)
  }
})

/** Readers whose processes are in the hands of the test, and what these are told. */
function supervised(t: Test, count: number) {
  const { forum } = newWorld()
  const children: { close(): void; report(seen: Seen): void; told: Seen[] }[] = []
  const startReader = () => {
    const told: Seen[] = []
    const splitter = new Splitter((kind, payload) => {
      if (kind === kinds.seen) told.push(unpacked(payload) as Seen)
    })
    const write = (bytes: Buffer) => splitter.add(Buffer.from(bytes))
    const socket = Object.assign(new EventEmitter(), { write, destroy() {}, writableLength: 0 })
    const stdio = [null, null, null, socket]
    const child = Object.assign(new EventEmitter(), { stdio, pid: children.length, kill() {} })
    const report = {
      ...{ isServing: true, position: 0, cpuSeconds: 0, forwarded: 0, textReads: 0, routes: [] },
      ...{ staleness: { counts: [], sum: 0 }, refused: {}, waitingEnded: {}, notLetIn: {} },
    }
    children.push({
      close: () => child.emit('close', 1, null),
      report: (seen) => socket.emit('data', packedMessage(kinds.report, { ...report, seen })),
      told,
    })
    return child as unknown as ChildProcess
  }
  const role = {
    ...{ name: 'single', gate: new Gate(), show() {} },
    journal: { durable: 0, written: 0, onFrame: null, storeId: '' },
    service: { forum, version: '0.0.0', epoch: '', publicUrl: '' },
  }
  const readers = new Readers({
    ...{ log: pino({ level: 'silent' }), disk: undefined, load: new Load() },
    texts: {} as ReadersParts['texts'],
    config: { readers: count, data: '' } as Config,
    role: role as unknown as Role,
    edge: { handle() {}, run() {}, meter: { routes: [] } } as unknown as ReadersParts['edge'],
    listener: { port: 1, stop() {}, setOpen: () => true },
    startReader,
  })
  t.teardown(() => {
    const stopped = readers.stop()
    for (const { close } of children) close()
    return stopped
  })
  return children
}

t.test('readers: one starts again: it is told when all identities were seen', async (t) => {
  const children = supervised(t, 2)
  children[0]!.report([])
  children[1]!.report([3, 29_000_000])
  t.same(children[0]!.told, [[3, 29_000_000]])
  children[0]!.close()
  await until('the next process', () => children.length === 3)
  children[2]!.report([])
  t.same(children[2]!.told, [[3, 29_000_000]])
})
