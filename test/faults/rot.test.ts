// Goal:   a byte that rots in a page file of a real node is rebuilt by the next start, or found and
//         repaired by the scrub of a running node, which reports it in log, metrics and readiness.
// Method: the real program on a real disk. The test changes bytes of its files; in one case strace
//         makes reads of a file fail with EIO.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Client, type Forum, publishedThread, startForum } from '../api/harness.ts'
import { ask, samples } from '../api/operators.ts'
import { timeoutMs } from '../depth.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'
import { flip } from './flip.ts'

/** Enough log for a clean stop to take a checkpoint. */
const manyReplies = 40
const manyFrames = 2100
const long = '😀'.repeat(8_000)
t.setTimeout(timeoutMs)

const often = ['--scrub-hours', '0.0003']
const mendedByParity = 'agent_forum_scrub_mended_total{by="parity"}'

/**
 * Returns a stopped forum with a checkpoint. Its pages take more than one MiB, or less with
 * `isSmall`, so that their parity is a mirror.
 */
async function aForum(t: Test, args: string[], isSmall = false) {
  const ops = await freePort()
  const forum = await startForum(t, ['--ops-port', `${ops}`, ...args])
  const ana = await forum.identity()
  const thread = await publishedThread(ana)
  if (isSmall) {
    // Sequentially, so that each reply is a frame in its own sector.
    for (let n = 0; n < manyFrames; n++) await ana.reply(thread)
  } else {
    const replies = Array.from({ length: manyReplies }, () => ana.reply(thread, long))
    for (const { status } of await Promise.all(replies)) t.equal(status, 201)
  }
  const before = await seen(ana, thread)
  await forum.stop() // takes a checkpoint
  return { forum, ops, before, seen: () => seen(ana, thread) }
}

async function seen(caller: Client, thread: string): Promise<string> {
  return (await caller.get(`/api/threads/${thread}?limit=100`)).text
}

/** Returns the largest file of this kind, which is that of the text. */
function fileOf({ data }: Forum, kind: 'pages' | 'parity'): string {
  const paths = readdirSync(data).map((name) => join(data, name))
  const sizes = paths.filter((path) => path.endsWith(`.${kind}`)).map((path) => statSync(path).size)
  return paths.find(
    (path) => path.endsWith(`.${kind}`) && statSync(path).size === Math.max(...sizes),
  )!
}

t.test('node: a page has rotted: started: rebuilt, reported, repaired in its file', async (t) => {
  const { forum, ops, before, seen } = await aForum(t, ['--scrub-hours', '0'])
  // The start reads the first file; the text in the second is read only after the start.
  const files = ['0000000001.pages', '0000000002.pages'].map((name) => join(forum.data, name))
  const wanted = files.map((file) => readFileSync(file))
  for (const [i, file] of files.entries()) flip(file, i === 0 ? wanted[i]!.length >> 1 : 5_000)
  await forum.start()
  t.equal(await seen(), before)
  t.ok((await forum.logged('recovered')).checkpoint as number, 'from the checkpoint')
  const rebuilt = { level: 40, file: '0000000001.pages', offset: Number }
  t.match(await forum.logged('page_rebuilt'), rebuilt)
  const mended = () => ask(ops, '/metrics').then(({ text }) => samples(text).get(mendedByParity))
  await until('both files are repaired', async () => (await mended()) === 2)
  t.match(await forum.logged('page_mended'), { level: 40, by: 'parity' })
  for (const [i, file] of files.entries()) t.ok(readFileSync(file).equals(wanted[i]!), file)
  // If a read has also found the damage, the file is scrubbed once more.
  await until('readiness', async () => (await ask(ops, '/readyz')).text === 'ok\n')
})

t.test('node: a page rots while it runs: found and repaired by the scrub', async (t) => {
  const { forum, ops, before, seen } = await aForum(t, often)
  await forum.start()
  const pages = fileOf(forum, 'pages')
  const wanted = readFileSync(pages)
  flip(pages, wanted.length >> 1)
  t.match(await forum.logged('page_mended'), { level: 40, file: /\.pages$/, by: 'parity' })
  t.ok(readFileSync(pages).equals(wanted), 'the file has its original bytes')
  const { text } = await ask(ops, '/readyz?verbose')
  t.match(text, /\[[+-]\] page files: scrubbed \d+ s ago/)
  const found = samples((await ask(ops, '/metrics')).text)
  t.equal(found.get(mendedByParity), 1)
  t.ok(found.get('agent_forum_scrub_bytes_total')! >= wanted.length)
  t.ok(found.get('agent_forum_scrub_age_seconds')! >= 0)
  t.equal(await seen(), before)
})

t.test('node: a page and its parity rot: the scrub has the page written from memory', async (t) => {
  const { forum, ops, before, seen } = await aForum(t, often)
  await forum.start()
  process.kill(forum.pid, 'SIGSTOP') // so that the scrub finds both changes at once
  flip(fileOf(forum, 'parity'), 64 + 5000)
  flip(fileOf(forum, 'pages'), 5000)
  process.kill(forum.pid, 'SIGCONT')
  t.match(await forum.logged('page_mended'), { level: 40, by: 'memory' })
  const found = samples((await ask(ops, '/metrics')).text)
  t.equal(found.get('agent_forum_scrub_mended_total{by="memory"}'), 1)
  await forum.stop('SIGKILL')
  const manifests = readdirSync(forum.data).filter((name) => name.endsWith('.checkpoint'))
  flip(join(forum.data, manifests.sort().at(-1)!), 100)
  await forum.start()
  t.equal(await seen(), before)
  const { checkpoint } = await forum.logged('recovered')
  t.ok((checkpoint as number) > 0, 'neither of the two checkpoints needs the page')
})

t.test('node: no parity, as an earlier build leaves it: written while the node runs', async (t) => {
  const { forum, before, seen } = await aForum(t, often)
  const parity = fileOf(forum, 'parity')
  const wanted = readFileSync(parity)
  rmSync(parity)
  await forum.start()
  await forum.logged('parity_written')
  t.ok(readFileSync(parity).equals(wanted))
  t.equal(await seen(), before)
})

t.test('node: a page file on bad sectors: rebuilt by the start', async (t) => {
  // Fault injection needs strace and the permission to trace, which not every machine has.
  const { status } = spawnSync('strace', ['-D', '-f', '-qq', '-o', '/dev/null', 'true'])
  if (status !== 0) return t.comment('skipped: strace is missing, or may not trace')
  const { forum, before, seen } = await aForum(t, ['--scrub-hours', '0'], true)
  const pages = fileOf(forum, 'pages')
  const trace = ['-e', 'trace=pread64,preadv', '-e', 'inject=pread64,preadv:error=EIO']
  forum.options = {
    under: ['strace', '-D', '-f', '-qq', '--seccomp-bpf', '-o', '/dev/null', '-P', pages, ...trace],
  }
  await forum.start()
  t.ok((await forum.logged('recovered')).checkpoint as number, 'from the checkpoint')
  t.match(await forum.logged('page_rebuilt'), { file: /\.pages$/ })
  t.equal(await seen(), before)
})
