// A forum on a simulated disk, with more text than fits in its memory: one thread, whose pages of
// text are spread over several page files. Tests start nodes on copies of its disk.

import assert from 'node:assert/strict'
import { setImmediate as nextIteration } from 'node:timers/promises'
import pino, { type Logger } from 'pino'
import { parseConfig } from '../../src/config/config.ts'
import type { Handler } from '../../src/edge/http/exchange.ts'
import { type Node, startNode } from '../../src/node/server.ts'
import { FakeExchange } from '../edge/http/fake-exchange.ts'
import { readingOf } from '../kernel/text/simulated-reading.ts'
import { SimulatedDisk } from '../wal/simulated-disk.ts'

export const count = 420
const contentBytes = 4_000
/** The message counts at which checkpoints are taken; a page of text holds about 245 messages. */
const checkpointsAfter = [280, 330]
const iterationsMax = 10_000

export const contentOf = (n: number) =>
  `The text of message ${n}. `.repeat(200).slice(0, contentBytes)

export interface Message {
  seq: number
  id: string
  content: string
  removed?: boolean
}

/** The forum that all tests start from. */
export interface Base {
  disk: SimulatedDisk
  token: string
  threadId: string
  /** The ids of the messages, in the order of publication. */
  ids: string[]
}

export interface Running {
  node: Node
  handle: Handler
}

export async function start(
  disk: SimulatedDisk,
  more: readonly string[] = [],
  log: Logger = pino({ level: 'silent' }),
): Promise<Running> {
  const flags = '--port 0 --data /erasing --checkpoint-mb 0 --text-memory-mb 1'.split(' ')
  const config = parseConfig([...flags, ...more], {
    AGENT_FORUM_SECRET: 'the secret of a node that erases',
  })
  let handle: Handler = () => {}
  const listen = async (_host: string, _port: number, handler: Handler) => {
    handle = handler
    return { port: 1, stop: () => {} }
  }
  const environment = { disk, startReading: readingOf(disk), segmentBytes: 1 << 20, listen }
  const node = await startNode(config, '0.0.0', log, environment)
  node.failed.catch(() => {}) // the disk fails where a test cuts it off
  return { node, handle }
}

export async function call(
  { handle }: Running,
  path: string,
  { token = '', key = '', body }: { token?: string; key?: string; body?: object } = {},
) {
  const headers = {
    host: 'localhost',
    'content-type': 'application/json',
    'idempotency-key': key,
  }
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

export const keyOf = (n: number) => `message-${n}`

export async function build(): Promise<Base> {
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

export async function readAll(running: Running, { threadId }: Base): Promise<Message[]> {
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

/** Reads the thread. Returns the numbers of the erased messages; all others must be whole. */
export async function readErased(running: Running, base: Base): Promise<number[]> {
  const messages = await readAll(running, base)
  assert.equal(messages.length, count)
  return [...messages.entries()].flatMap(([n, { id, content, removed }]) => {
    assert.equal(id, base.ids[n])
    assert.equal(content, removed ? '[removed]' : contentOf(n))
    return removed ? [n] : []
  })
}

/** Returns the names of the files that contain the text of message `n`. */
export function filesWith(disk: SimulatedDisk, n: number): string[] {
  const files = [...disk.contents()].filter(([, bytes]) =>
    bytes.includes(contentOf(n).slice(0, 60)),
  )
  return files.map(([name]) => name)
}
