// Searches in transit between a node and its index, and incoming bytes that are not a message.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { SearchLink } from '../../../src/forum/search/link.ts'
import { type FromNode, receive, type Search, send } from '../../../src/forum/search/protocol.ts'
import { until } from '../../until.ts'

/** Returns both ends of a connection. */
async function connection(t: Test): Promise<{ node: Socket; index: Socket }> {
  const dir = mkdtempSync(path.join(tmpdir(), 'agent-forum-link-'))
  const server = createServer().listen(path.join(dir, 'socket'))
  await once(server, 'listening')
  const node = connect(path.join(dir, 'socket'))
  const [index] = (await once(server, 'connection')) as [Socket]
  t.teardown(() => {
    for (const socket of [node, index]) socket.destroy()
    server.close()
    rmSync(dir, { recursive: true })
  })
  return { node, index }
}

/** Returns a connected link, and the searches that the index process has received. */
async function linked(t: Test) {
  const { node, index } = await connection(t)
  const received: Search[] = []
  receive<FromNode>(index, (message) => received.push(message as Search))
  const link = new SearchLink()
  t.teardown(() => link.stop())
  link.connect(node)
  link.receiveFrom(node)
  return { link, index, received }
}

t.test('L1: searches that are never answered are given up: others have their places', async (t) => {
  const measured = performance.now.bind(performance)
  let skipped = 0
  t.capture(performance, 'now', () => measured() + skipped)
  const { link, index, received } = await linked(t)
  const find = (before: number) => {
    return link.find({
      publicMatch: 'x',
      privateMatch: '',
      parts: 1,
      before,
      limit: 1,
      turn: before,
    })
  }

  const unanswered = [1, 2, 3, 4].map(find)
  skipped = 10_001
  const fifth = find(5)
  t.same(await Promise.all(unanswered), [null, null, null, null])
  const { id, before } = await until('the fifth', () => received[4])
  t.equal(before, 5)
  send(index, { type: 'found', id, messages: [3], next: null, covered: 5 })
  t.match(await fifth, { messages: [3] })
})

t.test('L1: a caller sends eight searches: another one finds a place at once', async (t) => {
  const { link, index, received } = await linked(t)
  const search = { publicMatch: 'x', privateMatch: '', parts: 1, limit: 1 }
  for (let i = 1; i <= 8; i++) void link.find({ ...search, before: i, turn: 'an address' })
  const own = link.find({ ...search, before: 9, turn: 9 })
  const { id } = await until('it is sent', () => received.find(({ before }) => before === 9))
  t.same(
    received.map(({ before }) => before),
    [1, 2, 9],
  )
  send(index, { type: 'found', id, messages: [3], next: null, covered: 5 })
  t.match(await own, { messages: [3] })
})

const bytes = (...parts: (number | number[])[]) =>
  Buffer.concat(
    parts.map((part) => {
      if (Array.isArray(part)) return Buffer.from(part)
      const length = Buffer.alloc(4)
      length.writeUInt32LE(part)
      return length
    }),
  )
const bad: Record<string, Buffer> = {
  'a length beyond the longest message': bytes(0xffff_ffff, 1, [0x80]),
  'a message longer than all': bytes(5, 100, [0x80]),
  'a length without room for the message': bytes(0, 1, [0x80]),
  'no msgpack': bytes(6, 2, [0xc1, 0xc1]),
  'msgpack that is cut off': bytes(6, 2, [0x82, 0xa4]),
  'a message that is null': bytes(5, 1, [0xc0]),
  'a message without a type': bytes(5, 1, [0x80]),
}

for (const [what, chunk] of Object.entries(bad)) {
  t.test(`receives ${what}: the connection ends, and nothing else`, async (t) => {
    const { node, index } = await connection(t)
    const received: unknown[] = []
    receive(node, (message) => received.push(message))
    const ended = once(node, 'error')
    send(index, { type: 'want', from: 1, limit: 2 })
    index.write(Buffer.concat([chunk, Buffer.alloc(200)]))
    t.match(await ended, [{ message: /^a bad message: / }])
    t.ok(node.destroyed)
    t.same(received, [{ type: 'want', from: 1, limit: 2 }], 'those before it are received')
  })
}
