// What an export through the interface has of threads that go on, or expire, while it reads them.

import { once } from 'node:events'
import { mkdirSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { PublicContent } from '../../src/cli/export-url.ts'
import { ForumError } from '../../src/client/errors.ts'
import type { AgentForum } from '../../src/client/forum.ts'
import { dataDirectory, Program, run } from '../api/process.ts'
import { freePort } from '../free-port.ts'

const createdAt = 1_790_000_000_000
const ttlMs = 3_600_000

interface Shown {
  /** The number of messages that the thread has when it is listed, and when it is read. */
  listed: number
  read: number
  /** How many of them are read before it expires, or Infinity. */
  expiresAfter: number
  /** Who has claimed it, if anybody. */
  holder?: string
}

const messageAt = (n: number) => {
  const fields = { display_name: '', kind: 'persistent', content: `${n}` }
  return { seq: n, id: `msg_${n}`, author_id: 'agt_1', created_at: createdAt + n, ...fields }
}

const threadAt = (id: string, newest: number) => ({
  ...{ id, author_id: 'agt_1', title: 'T', visibility: 'public', display_name: '' },
  ...{ created_at: createdAt, message_count: newest, expires_at: createdAt + newest + ttlMs },
})

/** Returns a node with these threads, as far as an export calls it. */
function nodeWith(threads: Record<string, Shown>): AgentForum {
  const gone = new ForumError(404, 'not_found', 'Not found.')
  const messages = (id: string) => {
    const { read, expiresAfter } = threads[id]!
    const page = { thread: threadAt(id, read), messages: [messageAt(read)] }
    const newest = expiresAfter === 0 ? Promise.reject(gone) : Promise.resolve(page)
    newest.catch(() => {})
    return Object.assign(newest, {
      async *[Symbol.asyncIterator]() {
        for (let n = 1; n <= read; n++) {
          if (n > expiresAfter) throw gone
          yield messageAt(n)
        }
      },
    })
  }
  return {
    status: async () => ({ position: 2 }),
    threads: () =>
      Object.entries(threads).map(([id, { listed, holder }]) => {
        const claim = { holder_id: holder, expires_at: createdAt + ttlMs, fence: 1 }
        return { ...threadAt(id, listed), ...(holder !== undefined && { claim }) }
      }),
    messages,
    proposals: () => [],
    identity: async (id: string) => ({ id, kind: 'persistent', created_at: createdAt }),
  } as unknown as AgentForum
}

async function linesOf(threads: Record<string, Shown>): Promise<Record<string, unknown>[]> {
  const content = new PublicContent(nodeWith(threads))
  try {
    await content.read(() => {})
    return Array.from(content.lines(), (line) => JSON.parse(line))
  } finally {
    content.close()
  }
}

t.test('export: a thread that expires goes on meanwhile: its own time to live', async (t) => {
  const lines = await linesOf({ thr_1: { listed: 1, read: 3, expiresAfter: Infinity } })
  t.match(lines[1], { thread: { id: 'thr_1', seq: 1, ttl_seconds: 3_600 } })
  t.equal(lines.filter((line) => 'message' in line).length, 2, 'up to the position of the export')
})

t.test('export: a thread expires meanwhile: left out, or as far as it was read', async (t) => {
  const lines = await linesOf({
    thr_1: { listed: 2, read: 2, expiresAfter: 0 },
    thr_2: { listed: 2, read: 2, expiresAfter: 1 },
  })
  t.match(lines, [{ identity: {} }, { thread: { id: 'thr_2' } }, { message: { seq: 1 } }])
})

t.test('export: the holder of a claim has written nothing: an identity all the same', async (t) => {
  const lines = await linesOf({
    thr_1: { listed: 1, read: 1, expiresAfter: Infinity, holder: 'agt_2' },
  })
  t.match(lines, [
    { identity: { id: 'agt_1' } },
    { identity: { id: 'agt_2' } },
    { thread: {} },
    { message: {} },
    { claim: { thread_id: 'thr_1', holder_id: 'agt_2' } },
  ])
})

t.test('export: a signal ends it: leaves the partial file, under its own name', async (t) => {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.url === '/api/status') response.end('{"position":2,"capabilities":{}}')
    else server.emit('asked') // and never answered
  })
  t.teardown(() => server.close())
  t.teardown(() => server.closeAllConnections())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const directory = dataDirectory(t)
  mkdirSync(directory)
  const environment = { TMPDIR: directory }
  const out = join(directory, 'out')
  const args = ['export', '--url', `http://127.0.0.1:${port}`, '--out', out]
  const exporting = new Program(args, environment)
  await once(server, 'asked')
  t.match(await exporting.stop('SIGTERM'), { signal: 'SIGTERM', stdout: '' })
  t.same(readdirSync(directory), ['out.partial'])
  const stderr =
    /^agent-forum: \S+\/out\.partial is left over from an interrupted export; remove it\n$/
  t.match(await run(args, environment), { code: 64, stdout: '', stderr })
})

t.test('export: no node there: reported at once, not when the last attempt fails', async (t) => {
  const url = `http://127.0.0.1:${await freePort()}`
  const exporting = new Program(['export', '--url', url])
  await once(exporting.child.stderr!, 'data')
  t.equal((await exporting.stop('SIGTERM')).stderr, `no answer from ${url} yet; trying for 60 s\n`)
})
