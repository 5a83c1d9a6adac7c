// Goal:   when pages are damaged beyond parity and the log before them is gone, neither a start nor
//         `wal repair` changes anything: both name the damaged places, and say to restore a backup.
// Method: a real node with small segments, whose checkpoints have let it drop the beginning of its
//         log. The test changes bytes of its page files and of their parity; then the program
//         starts on the directory, and repairs it.

import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import t, { type Test } from 'tap'
import { parseConfig } from '../../src/config/config.ts'
import { startNode } from '../../src/node/server.ts'
import { dataDirectory, run } from '../api/process.ts'
import { timeoutMs } from '../depth.ts'

const replies = 120
let made: Promise<{ data: string; times: Buffer }> | null = null
t.setTimeout(timeoutMs)

interface Answer {
  token: string
  thread_id: string
  messages: { created_at: number }[]
}

async function call(url: string, token: string, body?: object, key = ''): Promise<Answer> {
  const answer = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(key === '' ? {} : { 'idempotency-key': key }),
      'content-type': 'application/json',
    },
    body: body === undefined ? null : JSON.stringify(body),
  })
  const json = (await answer.json()) as Answer
  if (!answer.ok) throw new Error(`${url}: ${JSON.stringify(json)}`)
  return json
}

/**
 * Makes a store with two checkpoints, some log after them and none before them. Returns a part of
 * the column that holds the times of messages, too.
 */
async function makeStore() {
  const data = dataDirectory(t)
  const config = parseConfig(['--port', '0', '--data', data], {})
  const environment = { segmentBytes: 64 * 1024 }
  const node = await startNode(config, '0.0.0', pino({ level: 'silent' }), environment)
  const { url } = node
  const { token } = await call(`${url}/api/identities`, '', { kind: 'persistent' })
  const body = { title: 'A title', content: 'first' }
  const { thread_id: thread } = await call(`${url}/api/threads`, token, body, 'a-key-for-it')
  for (let n = 1; n <= replies; n++) {
    const content = `reply ${n} `.padEnd(1500, 'x')
    await call(`${url}/api/threads/${thread}/replies`, token, { content }, `reply-key-${n}`)
    if (n === 80 || n === 100) await node.takeCheckpoint()
  }
  const { messages } = await call(`${url}/api/threads/${thread}?limit=20`, token)
  const times = Buffer.alloc(24)
  for (const [i, { created_at }] of messages.slice(10, 13).entries()) {
    times.writeDoubleLE(created_at, i * 8)
  }
  await node.takeCheckpoint()
  const after = { content: 'after the checkpoint' }
  await call(`${url}/api/threads/${thread}/replies`, token, after, 'the-last-key')
  await node.stop()
  return { data, times }
}

async function aStore(test: Test) {
  made ??= makeStore()
  const store = await made
  const data = dataDirectory(test)
  cpSync(store.data, data, { recursive: true })
  return { ...store, data }
}

const contentsOf = (data: string) =>
  Object.fromEntries(
    readdirSync(data)
      .filter((name) => !/^(?:lock|reserve|search)/.test(name))
      .sort()
      .map((name) => [name, readFileSync(join(data, name), 'hex')]),
  )

/**
 * Damages every block that contains these bytes, in all page files, and the parity that could
 * rebuild it: in so small a store each checkpoint writes the block again. Returns the newest of the
 * files.
 */
function spoil(data: string, sought: Buffer): string {
  let newest = ''
  for (const name of pageFilesOf(data)) {
    const bytes = readFileSync(join(data, name))
    const at = bytes.indexOf(sought)
    if (at === -1) continue
    newest = name
    bytes[at]! ^= 1
    writeFileSync(join(data, name), bytes)
    const parityName = join(data, name.replace('pages', 'parity'))
    const parity = readFileSync(parityName)
    parity[64 + (at % 2 ** 20)]! ^= 1
    writeFileSync(parityName, parity)
  }
  if (newest === '') throw new Error('no page file holds it')
  return newest
}

const pageFilesOf = (data: string) =>
  readdirSync(data)
    .filter((name) => name.endsWith('.pages'))
    .sort()

t.test('wal repair: pages that parity can rebuild: repaired, nothing is lost', async (t) => {
  const { data } = await aStore(t)
  const wanted = contentsOf(data)
  const name = pageFilesOf(data).at(-1)
  const bytes = readFileSync(join(data, name!))
  bytes[1000]! ^= 1
  writeFileSync(join(data, name!), bytes)
  const found = await run(['wal', 'verify', '--data', data])
  t.match(found, { code: 77, stdout: /pages are damaged: .*; a start rebuilds/ })
  const args = ['wal', 'repair', '--data', data, '--copy-to', `${data}-copy`]
  t.match(await run(args), { code: 0, stdout: /lost: nothing/ })
  t.equal((await run(['wal', 'verify', '--data', data])).code, 0)
  t.equal(contentsOf(data)[name!], wanted[name!])
})

for (const part of ['the text', 'a column']) {
  t.test(`serve, wal repair: ${part} is damaged beyond parity: refused, unchanged`, async (t) => {
    const { data, times } = await aStore(t)
    t.notOk(readdirSync(data).includes('0000000001.wal'), 'the log does not begin at 1')
    const name = spoil(data, part === 'the text' ? Buffer.from('reply 33 ') : times)
    const before = contentsOf(data)
    const found = `${name} at offset \\d+.*positions before \\d+ are missing.* restore a backup`
    const refused = await run(['serve', '--port', '0', '--data', data])
    t.match(refused, { code: 77, stderr: new RegExp(found) })
    const copy = `${data}-copy`
    const repaired = await run(['wal', 'repair', '--data', data, '--copy-to', copy])
    t.match(repaired, { code: 77, stderr: /nothing of it can be saved, restore a backup/ })
    t.notOk(existsSync(copy))
    t.same(contentsOf(data), before)
  })
}
