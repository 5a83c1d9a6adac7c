// Goal:   when `agent-forum admin remove-message` says so, the text has left what the node keeps in
//         memory, in its main process and in its readers: their own buffers hold it nowhere, and
//         nothing that is alive refers to a string of it. Strings that V8 has not collected, and
//         buffers of the HTTP library, have it until they are used again.
// Method: the real program, whose memory the test searches, /proc/PID/mem. A message with a mark is
//         published and read by every route, from memory and from disk. Then it is removed. Long
//         requests and answers overwrite the buffers of the HTTP library; after that no copy may
//         lie outside of V8's heap. A heap snapshot, which has only what is alive, shows the rest.

import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { Forum, publishedThread } from '../api/harness.ts'
import { dataDirectory, run } from '../api/process.ts'
import { timeoutMs } from '../depth.ts'
import { visit } from '../pages/browser.ts'
import { until } from '../until.ts'

t.setTimeout(timeoutMs)

const isLinux = process.platform === 'linux' && process.arch === 'x64'
// Elsewhere a process has no file of its memory, and V8 other places for its heap.
const skip = isLinux ? {} : { skip: 'the memory of a process is searched on Linux, x64' }
const pieceBytes = 8 << 20
const snapshotSignal = 'SIGUSR2'
const timesRead = 12

/** Published in pieces, so that the mark itself is in no memory but that of the node. */
const markOf = (name: string) => ['mark', name, 'of', 'the', 'removed', 'message'].join('-')

interface Region {
  from: number
  to: number
  /** V8 maps the pages of its heaps at random places of the lower 46 bits, multiples of 256 KiB. */
  isOfV8: boolean
}

function regionsOf(pid: number): Region[] {
  const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').trim().split('\n')
  return lines.flatMap((line) => {
    const [range, access, , , , name = ''] = line.split(/ +/)
    if (!access!.startsWith('rw') || name.startsWith('/') || name.startsWith('[v')) return []
    const [from, to] = range!.split('-').map((hex) => Number.parseInt(hex, 16))
    const isOfV8 = name === '' && from! < 2 ** 46 && from! % (256 << 10) === 0
    return [{ from: from!, to: to!, isOfV8 }]
  })
}

interface Copies {
  own: number
  ofV8: number
}

/** How often the text is in the memory of a process, in UTF-8 or Latin-1. */
function copiesIn(pid: number, text: string): Copies {
  const [found, mark] = [{ own: 0, ofV8: 0 }, Buffer.from(text)]
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  const piece = Buffer.alloc(pieceBytes + mark.length - 1)
  try {
    for (const { from, to, isOfV8 } of regionsOf(pid)) {
      for (let at = from; at < to; at += pieceBytes) {
        const bytes = piece.subarray(0, readAt(memory, piece, at, to))
        for (let i = bytes.indexOf(mark); i !== -1; i = bytes.indexOf(mark, i + 1)) {
          found[isOfV8 ? 'ofV8' : 'own'] += 1
        }
      }
    }
  } finally {
    closeSync(memory)
  }
  return found
}

/** How much could be read: a region may be gone by now. */
function readAt(memory: number, piece: Buffer, at: number, to: number): number {
  try {
    return readSync(memory, piece, 0, Math.min(piece.length, to - at), at)
  } catch {
    return 0
  }
}

/** The main process and its readers. */
function processesOf({ pid }: Forum): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ')
  })
  return [pid, ...children.map(Number).filter((child) => child > 0)]
}

/** Reads from many connections, so that every process has some of the requests. */
async function readEverywhere(forum: Forum, thread: string, author: string): Promise<void> {
  const { anonymous } = forum
  for (let i = 0; i < timesRead; i++) {
    await Promise.all([
      anonymous.read(thread, '?limit=100'),
      anonymous.read(thread, '?limit=1'),
      anonymous.read(thread, '?limit=2'),
      anonymous.get('/api/threads'),
      ...['/', `/t/${thread}`, `/agents/${author}`].map((page) => visit(forum, page)),
    ])
  }
}

/** Files of snapshots, which appear whole some time after the signal. */
async function snapshotsOf(forum: Forum, dir: string): Promise<string[]> {
  const processes = processesOf(forum)
  for (const pid of processes) process.kill(pid, snapshotSignal)
  const whole = () => {
    const files = readdirSync(dir).filter((name) => name.endsWith('.heapsnapshot'))
    return files.map((name) => readFileSync(join(dir, name), 'latin1'))
  }
  await until('a snapshot of each process', () => {
    return whole().filter((text) => text.trimEnd().endsWith(']}')).length === processes.length
  })
  return whole()
}

async function removed(t: Test, name: string, flags: string[]): Promise<void> {
  const forum = new Forum(dataDirectory(t), ['--http', 'uws', '--segment-mb', '8', ...flags])
  const snapshots = dirname(forum.data)
  const options = [`--heapsnapshot-signal=${snapshotSignal}`, `--diagnostic-dir=${snapshots}`]
  forum.environment.NODE_OPTIONS = options.join(' ')
  t.teardown(() => forum.stop('SIGKILL'))
  t.teardown(() => forum.agent.destroy())
  await forum.start()
  const [mark, filler] = [markOf(name), 'x'.repeat(7_900)]
  const author = await forum.identity()
  const follower = await forum.identity()
  const [thread, other] = [await publishedThread(author), await publishedThread(author)]
  await follower.subscribe(thread)
  const key = { 'idempotency-key': 'the-key-of-the-removed' }
  const { body } = await author.reply(thread, mark, key)
  await readEverywhere(forum, thread, author.id)
  await author.reply(thread, mark, key)
  await follower.feed()
  for (let n = 0; n < 300; n++) await author.reply(other, filler)
  await readEverywhere(forum, thread, author.id)

  const before = processesOf(forum).map((pid) => copiesIn(pid, mark))
  for (const { own } of before) t.ok(own > 0, 'every process has copies before')
  const command = await run(['admin', 'remove-message', body.message_id, '--data', forum.data])
  t.match(command, { code: 0, stdout: /its text has left the page files and the log/ })
  const right = processesOf(forum).map((pid) => copiesIn(pid, mark))
  let after: Copies[] = []
  await until('no copy outside of V8', async () => {
    const writes = Array.from({ length: 8 }, () => author.reply(other, filler))
    await Promise.all([...writes, readEverywhere(forum, other, author.id)])
    after = processesOf(forum).map((pid) => copiesIn(pid, mark))
    return after.every(({ own }) => own === 0)
  })
  t.comment(JSON.stringify({ before, right, after }))
  for (const snapshot of await snapshotsOf(forum, snapshots)) {
    t.ok(snapshot.includes('forgetErased'), 'a snapshot has strings')
    t.notOk(snapshot.includes(mark), 'nothing that is alive has the text')
  }
  const { text } = await forum.anonymous.read(thread)
  t.notOk(text.includes(mark))
  t.match(text, '[removed]')
}

t.test('erased: a node alone: no buffer of its own has the text', skip, (t) => {
  return removed(t, 'alone', [])
})

t.test('erased: its text is on disk: no buffer of its own has the text', skip, (t) => {
  return removed(t, 'cold', ['--text-memory-mb', '1'])
})

t.test('erased: two readers: no buffer of any process has the text', skip, (t) => {
  return removed(t, 'readers', ['--readers', '2', '--text-memory-mb', '2'])
})
