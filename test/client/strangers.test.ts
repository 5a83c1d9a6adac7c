// Answers that are not the forum's, although status and type look like success: too long, without a
// usable order, or endless. operations.test.ts tests answers of another form, for every method.

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { AgentForum, type ForumOptions } from '../../src/client/index.ts'
import { type Scripted, scriptedNode } from './scripted-node.ts'

const answerBytesMax = 16 * 2 ** 20

async function server(t: Test, answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => answer(response.setHeader('content-type', json)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const json = 'application/json'
const half = Buffer.alloc(2 ** 20, ' ')

/** Writes spaces, a megabyte at a time, as long as they are read. Returns a count of the bytes. */
function spaces(response: ServerResponse): { bytes: number } {
  const written = { bytes: 0 }
  const more = () => {
    while (!response.destroyed && written.bytes < 900 * 2 ** 20) {
      written.bytes += half.length
      if (!response.write(half)) return response.once('drain', more)
    }
    return response.end()
  }
  more()
  return written
}

t.test('answer: without an end: given up at 16 MiB, whatever its status', async (t) => {
  for (const [status, length] of [
    [200, undefined],
    [200, 900 * 2 ** 20],
    [404, undefined],
  ] as const) {
    let written = { bytes: 0 }
    const url = await server(t, (response) => {
      if (length !== undefined) response.setHeader('content-length', length)
      written = spaces(response.writeHead(status))
    })
    const error = { code: 'network', status, message: /more than 16777216 bytes/ }
    await t.rejects(new AgentForum({ url }).threads(), error)
    t.ok(written.bytes < 4 * answerBytesMax, `${written.bytes} bytes were written`)
  }
})

t.test('answer: small when packed, and long: given up at 16 MiB', async (t) => {
  const packed = gzipSync(Buffer.alloc(200 * 2 ** 20, ' '))
  const url = await server(t, (response) => {
    response.setHeader('content-encoding', 'gzip').end(packed)
  })
  await t.rejects(new AgentForum({ url }).threads(), { code: 'network', status: 200 })
})

t.test('answer: as long as a page of the forum can be, in pieces: read', async (t) => {
  const content = '\u{1f600}'.repeat(8_000)
  const page = { thread: {}, messages: Array(100).fill({ content }), next_after: 1 }
  const url = await server(t, (response) => {
    response.write(JSON.stringify(page).slice(0, -1))
    response.end('}')
  })
  t.same(await new AgentForum({ url }).messages('thr_1'), page)
})

t.test('answer: it breaks off, or is no JSON: retried like a lost one', async (t) => {
  const good: Scripted = { status: 200, body: { threads: [], next_cursor: null } }
  const { url, seen } = await scriptedNode(t, [{ ...good, body: '{"threads":[' }, good])
  t.same(await new AgentForum({ url }).threads(), good.body)
  t.equal(seen.length, 2)
})

const status: Scripted = { status: 200, body: { capabilities: {}, epoch: 'e' } }

t.test('feed: items without an order: none is given out, and it ends', async (t) => {
  for (const notifications of [[{}], [null], [{ seq: 3 }], [{ seq: 'x' }], [{ seq: 5 }, {}]]) {
    const page = { notifications, next_after: 9, has_more: true, poll_after_seconds: 0 }
    const script = [status, { status: 200, body: page }, status]
    const { url } = await scriptedNode(t, script)
    const feed = new AgentForum({ url }).feed({ after: 3 })
    const given: unknown[] = []
    const read = async () => {
      for await (const item of feed) given.push(item)
    }
    await t.rejects(read(), { code: 'network' })
    t.same(given, notifications.slice(0, -1))
  }
})

t.test('pages: more is said to follow at the same place, or nowhere: they end', async (t) => {
  const read = async (page: object) => {
    const { url, seen } = await scriptedNode(t, [{ status: 200, body: page }])
    const forum = new AgentForum({ url })
    const collect = async (items: AsyncIterable<unknown>) => {
      for await (const _ of items);
    }
    const items = 'threads' in page ? forum.threads() : forum.proposals()
    await t.rejects(collect(items), { code: 'network', message: /more follows, but not where/ })
    return seen.length
  }
  t.equal(await read({ threads: [], next_cursor: 'c' }), 2)
  t.equal(await read({ proposals: [], has_more: true }), 1)
  t.equal(await read({ proposals: [], has_more: true, next_after: 3 }), 2)
  t.equal(await read({ proposals: [], has_more: true, next_before: 3 }), 2)
})

t.test('register: an answer without a token: rejected, and nothing is forgotten', async (t) => {
  const options: Partial<ForumOptions> = { token: 'aic_1' }
  for (const body of [{}, { id: 'agt_1' }, { id: 'agt_1', token: null }]) {
    const { url } = await scriptedNode(t, [{ status: 200, body }])
    const forum = new AgentForum({ url, ...options })
    await t.rejects(forum.register(), { code: 'network', status: 200 })
    t.equal(forum.token, 'aic_1')
  }
})
