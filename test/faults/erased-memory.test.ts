// Goal:   when `agent-forum admin remove-message` reports that the text is gone, the node no longer
//         keeps it in memory, neither in its main process nor in its readers: none of their own
//         buffers holds it, and no live object refers to a string with it. Strings that V8 has not
//         yet collected, and buffers of the HTTP library, hold it until their memory is reused.
// Method: the real program, whose memory the test searches through /proc/PID/mem. A message with a
//         mark is published and read by every route, from memory and from disk. Then it is removed,
//         if there are readers once they alone answer, so that no request reaches the main process.
//         Long requests and answers overwrite the buffers of the HTTP library; after that no copy
//         may lie outside V8's heap. A heap snapshot, which contains only live objects, shows the
//         rest.

import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { Forum, publishedThread } from '../api/harness.ts'
import { dataDirectory, run } from '../api/process.ts'
import { timeoutMs } from '../depth.ts'
import { visit } from '../people/browser.ts'
import { until } from '../until.ts'
import { type Copies, childrenOf, copiesIn, skipMemory as skip } from './process-memory.ts'
import { remotePortsOf } from './remote-ports.ts'

t.setTimeout(timeoutMs)

const snapshotSignal = 'SIGUSR2'
const timesRead = 12

/** Assembles the mark from pieces, so that only the node's memory contains it as a whole. */
const markOf = (name: string) => ['mark', name, 'of', 'the', 'removed', 'message'].join('-')

/** Returns the ids of the main process and its readers. */
function processesOf({ pid }: Forum): number[] {
  return [pid, ...childrenOf(pid)]
}

/**
 * Reads over many connections, so that every process gets some of the requests. When the main
 * process leaves its port to the readers, it may close a connection that it has not accepted.
 */
async function readEverywhere(forum: Forum, thread: string, author: string): Promise<void> {
  const { anonymous } = forum
  const readOnce = () =>
    Promise.all([
      anonymous.read(thread, '?limit=100'),
      anonymous.read(thread, '?limit=1'),
      anonymous.read(thread, '?limit=2'),
      anonymous.get('/api/threads'),
      ...['/', `/t/${thread}`, `/agents/${author}`].map((page) => visit(forum, page)),
    ])
  for (let i = 0; i < timesRead; i++) await readOnce().catch(readOnce)
}

/**
 * Sends a long request for a long page over a new connection. Every process soon gets one, and the
 * library reuses its buffers.
 */
async function readAfresh(forum: Forum, thread: string): Promise<void> {
  const headers = { 'x-filler': 'x'.repeat(4_000) }
  const request = get(`${forum.url}/api/threads/${thread}?limit=100`, { agent: false, headers })
  const [response] = await once(request, 'response')
  await once(response.resume(), 'end')
}

/**
 * Requests heap snapshots, one after the other, and returns their contents. The main process is
 * stopped during those of readers, because it ends readers that are silent for ten seconds.
 */
async function snapshotsOf({ pid: main }: Forum, dir: string): Promise<string[]> {
  const snapshots: string[] = []
  process.kill(main, 'SIGSTOP')
  for (const pid of [...childrenOf(main), main]) {
    if (pid === main) process.kill(main, 'SIGCONT')
    process.kill(pid, snapshotSignal)
    const file = await until(`a snapshot of process ${pid}`, () => {
      const isIts = (name: string) => name.endsWith('.heapsnapshot') && name.includes(`.${pid}.`)
      const found = readdirSync(dir).find(isIts)
      return found !== undefined && endOf(join(dir, found)).endsWith(']}') && join(dir, found)
    })
    snapshots.push(readFileSync(file, 'latin1'))
  }
  return snapshots
}

/** Returns the last characters of a file. A snapshot is too long to be read again and again. */
function endOf(file: string): string {
  const end = Buffer.alloc(8)
  const opened = openSync(file, 'r')
  try {
    const bytes = readSync(
      opened,
      end,
      0,
      end.length,
      Math.max(0, statSync(file).size - end.length),
    )
    return end.toString('latin1', 0, bytes).trimEnd()
  } finally {
    closeSync(opened)
  }
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

  if (processesOf(forum).length > 1) {
    await until('readers alone to answer', () => remotePortsOf(forum.pid).size === 0)
  }
  const before = processesOf(forum).map((pid) => copiesIn(pid, mark))
  for (const { own } of before) t.ok(own > 0, 'every process has copies before')
  const command = await run([
    'admin',
    'remove-message',
    '--yes',
    body.message_id,
    '--data',
    forum.data,
  ])
  t.match(command, {
    code: 0,
    stdout: /its text has left the page files, the log and the search index/,
  })
  const right = processesOf(forum).map((pid) => copiesIn(pid, mark))
  let after: Copies[] = []
  t.teardown(() => {
    if (!t.passing()) t.comment(JSON.stringify({ before, right, after }))
  })
  await until('no copy outside of V8', async () => {
    const writes = Array.from({ length: 8 }, () => author.reply(other, filler))
    const fresh = Array.from({ length: 16 }, () => readAfresh(forum, other))
    await Promise.all([...writes, ...fresh, readEverywhere(forum, other, author.id)])
    after = processesOf(forum).map((pid) => copiesIn(pid, mark))
    return after.every(({ own }) => own === 0)
  })
  const { text } = await forum.anonymous.read(thread)
  t.notOk(text.includes(mark))
  t.match(text, '[removed]')
  for (const snapshot of await snapshotsOf(forum, snapshots)) {
    t.ok(snapshot.includes('forgetErased'), 'a snapshot has strings')
    t.notOk(snapshot.includes(mark), 'nothing that is alive has the text')
  }
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
