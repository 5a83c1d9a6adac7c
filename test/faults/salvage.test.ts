// Goal:   when pages are damaged beyond parity and the log before them is gone, a start refuses and
//         names the damaged places. `wal repair` saves everything except the contents of the
//         damaged blocks, lists what was lost, and keeps a copy of the directory as it was.
// Method: a real node with small segments, whose checkpoints have let it drop the beginning of its
//         log. The test changes bytes of its page files and of their parity; then the program
//         repairs the directory and is started.

import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import t, { type Test } from 'tap'
import { parseConfig } from '../../src/config/config.ts'
import { startNode } from '../../src/node/server.ts'
import { dataDirectory, Program, run } from '../api/process.ts'

const replies = 120
let made: Promise<{ data: string; messages: Message[]; thread: string; token: string }> | null =
  null
t.setTimeout(120_000)

interface Message {
  seq: number
  id: string
  author_id: string
  content: string
  created_at: number
}

interface Answer {
  id: string
  token: string
  thread_id: string
  next_after: number
  has_more: boolean
  messages: Message[]
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

async function readThread(url: string, thread: string, token: string): Promise<Message[]> {
  const all: Message[] = []
  for (let after = 0, more = true; more; ) {
    const page = await call(`${url}/api/threads/${thread}?limit=100&after=${after}`, token)
    all.push(...page.messages)
    after = page.next_after
    more = page.has_more
  }
  return all
}

/** Makes a store with two checkpoints, some log after them and none before them. */
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
  const messages = await readThread(url, thread, token)
  await node.takeCheckpoint()
  const after = { content: 'after the checkpoint' }
  await call(`${url}/api/threads/${thread}/replies`, token, after, 'the-last-key')
  await node.stop()
  return { data, messages, thread, token }
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

t.test('wal repair: texts are damaged beyond parity: everything else is saved', async (t) => {
  const { data, messages, thread, token } = await aStore(t)
  t.notOk(readdirSync(data).includes('0000000001.wal'), 'the log does not begin at 1')
  const name = spoil(data, Buffer.from('reply 33 '))
  const before = contentsOf(data)
  const refused = await run(['serve', '--port', '0', '--data', data])
  t.equal(refused.code, 77)
  t.match(refused.stderr, new RegExp(`${name} at offset \\d+.*positions before \\d+ are missing`))
  t.match(refused.stderr, /wal repair/)
  t.same(contentsOf(data), before, 'nothing was changed')

  const copy = `${data}-copy`
  const repaired = await run(['wal', 'repair', '--data', data, '--copy-to', copy])
  t.strictSame([repaired.code, repaired.stderr], [0, ''])
  t.match(repaired.stdout, /lost: the text of messages: msg_[0-9a-f]{32}/)
  const { 'lost.txt': listed, ...copied } = contentsOf(copy)
  t.same(copied, before, 'the copy has every file as it was')
  const lost = Buffer.from(listed!, 'hex').toString().trim().split('\n')
  t.ok(lost.length <= 4, `no more texts than a block of 4 KiB holds: ${lost.length}`)
  t.equal((await run(['wal', 'verify', '--data', data])).code, 0)

  const program = new Program(['serve', '--port', '0', '--data', data])
  t.teardown(() => program.stop('SIGKILL'))
  const { url } = await program.logged('started')
  const now = await readThread(url!, thread, token)
  t.equal(now.length, messages.length + 1, 'and the message from the log behind the checkpoint')
  let differing = 0
  for (const [i, was] of messages.entries()) {
    const is = now[i]!
    const { seq, author_id, created_at } = was
    t.match(is, { seq, author_id, created_at })
    if (is.content === was.content && is.id === was.id) continue
    differing++
    t.match(is.content, /text was lost/)
    t.ok(lost.includes(is.id))
  }
  t.equal(differing, lost.length)
  t.ok(messages.some(({ content }) => content.startsWith('reply 33 ')))
  await call(`${url}/api/threads/${thread}/replies`, token, { content: 'on' }, 'another-key')
  const { epoch } = (await (await fetch(`${url}/api/status`)).json()) as { epoch: string }
  t.equal(JSON.parse(readFileSync(join(data, 'epoch'), 'utf8')).id, epoch, 'a new epoch')
  t.equal((await program.stop('SIGTERM')).code, 0)
})

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

t.test('wal repair: numbers are damaged beyond parity: refused, the column is named', async (t) => {
  const { data, messages } = await aStore(t)
  // A part of the column that holds the times of messages.
  const times = Buffer.alloc(24)
  for (const [i, { created_at }] of messages.slice(10, 13).entries()) {
    times.writeDoubleLE(created_at, i * 8)
  }
  spoil(data, times)
  const spoilt = readdirSync(data).filter((name) => name.endsWith('.checkpoint')).length
  const args = ['wal', 'repair', '--data', data, '--copy-to', `${data}-copy`]
  const { code, stdout, stderr } = await run(args)
  t.comment(stdout)
  t.equal(code, 77)
  t.match(stderr, /messages\.times.*backup/)
  t.equal(readdirSync(data).filter((name) => name.endsWith('.checkpoint')).length, spoilt)
})
