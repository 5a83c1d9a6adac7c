// Goal:   errors for which libuv has no name are recognized by their number: an exhausted quota
//         (EDQUOT) is a lack of space, and a damaged file system (EUCLEAN) is a storage failure. A
//         sandbox that refuses a system call does not end the search.
// Method: the real program under strace, which makes system calls on one file fail with that error,
//         always or once in each thread. Its answers, log and readiness are observed from outside.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Client, Forum } from '../api/harness.ts'
import { ask, sample } from '../api/operators.ts'
import { dataDirectory, Program } from '../api/process.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'

// Fault injection needs strace and the permission to trace, which not every machine has.
const isTraceable = spawnSync('strace', ['-D', '-f', '-qq', '-o', '/dev/null', 'true']).status === 0
const withoutStrace = 'skipped: strace is missing, or may not trace'
const content = 'x'.repeat(8000)
const args = (data: string) => ['serve', '--port', '0', '--segment-mb', '1', '--data', data]

/** Returns the command under which a call on `path` or its parity fails. */
function failing(call: string, path: string, error: string, when: 'once' | 'always'): string[] {
  const fault = `inject=${call}:error=${error}${when === 'once' ? ':when=1' : ''}`
  const paths = ['-P', path, '-P', path.replace('.pages', '.parity')]
  const options = ['-D', '-f', '-qq', '--seccomp-bpf', '-o', '/dev/null', ...paths]
  return ['strace', ...options, '-e', `trace=${call}`, '-e', fault]
}

/** Starts a node with segments of 1 MiB that takes a checkpoint after each MiB of log. */
async function traced(t: Test, data: string, under: string[]) {
  const opsPort = await freePort()
  const flags = ['--segment-mb', '1', '--checkpoint-mb', '1', '--ops-port', `${opsPort}`]
  const forum = new Forum(data, flags, { under })
  t.teardown(async () => {
    await forum.stop('SIGKILL')
    await forum.agent.destroy()
  })
  await forum.start()
  return { forum, opsPort }
}

t.test('quota: no next segment: warned and degraded at once, storage_full later', async (t) => {
  if (!isTraceable) return t.comment(withoutStrace)
  const data = dataDirectory(t)
  const under = failing('pwrite64', join(data, '0000000002.wal.tmp'), 'EDQUOT', 'always')
  const { forum, opsPort } = await traced(t, data, under)
  const why = 'EDQUOT: disk quota exceeded, write'
  const warning = { level: 40, segment: '0000000002.wal', why }
  t.match(await forum.logged('storage_full'), warning)
  const sentence = `storage: the next segment: ${why}`
  t.equal((await ask(opsPort, '/readyz')).text, `degraded: ${sentence}\n`)
  const verbose = (await ask(opsPort, '/readyz?verbose')).text
  t.match(verbose, '[+] storage: ok\n')
  t.match(verbose, `\n[-] ${sentence}\n`)
  const ana = await forum.identity()
  const { status, body } = await ana.thread()
  t.equal(status, 201, 'the present segment has room')
  await until('storage_full', async () => {
    const reply = await ana.reply(body.thread_id, content)
    return reply.status === 503 && reply.body.error === 'storage_full'
  })
  t.equal((await ana.read(body.thread_id)).status, 200)
  t.equal((await forum.stop('SIGTERM'))?.code, 0)
})

t.test('quota: raised while the node runs: writes resume by themselves', async (t) => {
  if (!isTraceable) return t.comment(withoutStrace)
  const data = dataDirectory(t)
  const under = failing('pwrite64', join(data, '0000000002.wal.tmp'), 'EDQUOT', 'once')
  const { forum, opsPort } = await traced(t, data, under)
  await forum.logged('storage_full')
  t.match(await forum.logged('storage_available'), { segment: '0000000002.wal' })
  t.equal((await ask(opsPort, '/readyz')).text, 'ok\n')
})

for (const error of ['EDQUOT', 'EUCLEAN']) {
  t.test(`${error} while a checkpoint is taken: it is abandoned, the log goes on`, async (t) => {
    if (!isTraceable) return t.comment(withoutStrace)
    const data = dataDirectory(t)
    const under = failing('pwrite64', join(data, '0000000001.pages.tmp'), error, 'always')
    const { forum, opsPort } = await traced(t, data, under)
    const ana = await forum.identity()
    const { body } = await ana.thread()
    for (let n = 0; n < 150; n++) await ana.reply(body.thread_id, content)
    const { why } = await forum.logged('checkpoint_failed')
    t.match(why, `cannot take a checkpoint in ${data}: ${error}: `)
    t.equal(await sample(opsPort, 'agent_forum_checkpoint_failures_total'), 1)
    t.equal((await ana.reply(body.thread_id)).status, 201)
    t.equal((await forum.stop('SIGTERM'))?.code, 0)
  })
}

t.test('EUCLEAN while the next segment is made: final, exit 74, the error is named', async (t) => {
  if (!isTraceable) return t.comment(withoutStrace)
  const data = dataDirectory(t)
  const under = failing('pwrite64', join(data, '0000000002.wal.tmp'), 'EUCLEAN', 'always')
  const { code, stderr } = await new Program(args(data), {}, { under }).ended
  t.equal(code, 74)
  t.match(stderr, /^agent-forum: cannot make the segment after [^\n]+: EUCLEAN: [^\n]+\n$/)
})

t.test('EUCLEAN from a page of the checkpoint: put aside, and the log is replayed', async (t) => {
  if (!isTraceable) return t.comment(withoutStrace)
  const data = dataDirectory(t)
  const before = await traced(t, data, [])
  const ana = await before.forum.identity()
  const { body } = await ana.thread()
  for (let n = 0; n < 150; n++) await ana.reply(body.thread_id, content)
  await before.forum.logged('checkpoint_taken')
  const { messages } = (await ana.read(body.thread_id)).body
  await before.forum.stop('SIGKILL')
  const under = failing('pread64', join(data, '0000000001.pages'), 'EUCLEAN', 'always')
  const { forum } = await traced(t, data, under)
  t.match(await forum.logged('checkpoint_put_aside'), { level: 40, why: /0000000001\.pages/ })
  t.same((await new Client(forum, ana.token).read(body.thread_id)).body.messages, messages)
})

t.test('search: a sandbox refuses its priority: it indexes all the same', async (t) => {
  if (!isTraceable) return t.comment(withoutStrace)
  const fault = ['-e', 'trace=setpriority', '-e', 'inject=setpriority:error=EPERM']
  const under = ['strace', '-D', '-f', '-qq', '--seccomp-bpf', '-o', '/dev/null', ...fault]
  const forum = new Forum(dataDirectory(t), [], { under })
  forum.environment.AGENT_FORUM_NO_SEARCH = 'off'
  t.teardown(async () => {
    await forum.stop('SIGKILL')
    await forum.agent.destroy()
  })
  await forum.start()
  const ana = await forum.identity()
  await ana.thread({ title: 'Found', content: 'an ornithopter' })
  await until('the word to be found', async () => {
    const { text } = await forum.anonymous.get('/api/search?q=ornithopter')
    return text.includes('an ornithopter')
  })
})
