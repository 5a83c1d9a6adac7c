// Goal:   two nodes in two PID namespaces, like two containers on one volume, never use the data
//         directory at the same time, and a node whose container was killed starts again without
//         help.
// Method: the real program under `unshare`, which needs root. Without root the tests are skipped.

import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Client, Forum } from '../api/harness.ts'
import { dataDirectory, Program, type ProgramOptions, type Run } from '../api/process.ts'

const unshare = ['unshare', '--pid', '--fork', '--kill-child']
const container = [...unshare, '--mount-proc']
const mayUnshare = spawnSync(container[0]!, [...container.slice(1), 'true']).status === 0
const skipped = 'skipped: unshare is missing, or needs root'

async function startIn(t: Test, data: string, under: string[]): Promise<Forum> {
  const forum = new Forum(data, [], { under })
  t.teardown(async () => {
    await forum.stop('SIGKILL')
    await forum.agent.destroy()
  })
  await forum.start()
  return forum
}

function startTwice(data: string, options: ProgramOptions): Promise<Run> {
  return new Program(['serve', '--port', '0', '--data', data], {}, options).ended
}

const places: [string, string[]][] = [
  ['another container', container],
  ['the machine itself', []],
  ['a namespace without a /proc of its own', unshare],
]

for (const [where, under] of places) {
  t.test(`a node in a container: started from ${where}: refused with 75`, async (t) => {
    if (!mayUnshare) return t.comment(skipped)
    const data = dataDirectory(t)
    const first = await startIn(t, data, container)
    const ana = await first.identity()
    const { body } = await ana.thread()
    const { code, stderr } = await startTwice(data, { under })
    t.equal(code, 75)
    t.match(stderr, /^agent-forum: \S+ is in use by process 1 of another PID namespace, [^\n]+\n$/)
    t.equal((await ana.reply(body.thread_id)).status, 201)
  })
}

t.test('a node on the machine itself: started in a container: refused with 75', async (t) => {
  if (!mayUnshare) return t.comment(skipped)
  const data = dataDirectory(t)
  const { pid } = await startIn(t, data, [])
  for (const under of [container, unshare]) {
    const { code, stderr } = await startTwice(data, { under })
    t.equal(code, 75)
    t.match(stderr, ` is in use by process ${pid} of another PID namespace`)
  }
})

t.test('a container is killed with its node: the next one starts without help', async (t) => {
  if (!mayUnshare) return t.comment(skipped)
  const data = dataDirectory(t)
  let token = ''
  let thread = ''
  for (const under of [container, container, unshare, [], container]) {
    const forum = await startIn(t, data, under)
    if (token === '') {
      const ana = await forum.identity()
      token = ana.token
      thread = (await ana.thread()).body.thread_id
    }
    const ana = new Client(forum, token)
    t.equal((await ana.read(thread)).status, 200)
    await forum.stop('SIGKILL')
  }
  const sockets = readdirSync(data).filter((name) => name.endsWith('.socket'))
  t.equal(sockets.length, 1, 'the sockets of earlier owners are removed')
})

t.test("the owner's socket is lost: refused with 75, taken once the lock is removed", async (t) => {
  if (!mayUnshare) return t.comment(skipped)
  const data = dataDirectory(t)
  const first = await startIn(t, data, container)
  for (const name of readdirSync(data)) {
    if (name.endsWith('.socket')) rmSync(join(data, name))
  }
  await first.stop('SIGKILL')
  const { code, stderr } = await startTwice(data, { under: container })
  t.equal(code, 75)
  const lock = join(data, 'lock')
  t.match(
    stderr,
    new RegExp(
      `^agent-forum: [^\\n]+ whether it is still running cannot be seen .* then remove ${lock}\\n$`,
    ),
  )
  rmSync(lock)
  const second = await startIn(t, data, container)
  t.equal((await second.anonymous.get('/api/threads')).status, 200)
})

t.test('a clean stop: leaves no lock and no socket', async (t) => {
  const data = dataDirectory(t)
  const forum = await startIn(t, data, [])
  t.equal((await forum.stop('SIGTERM'))?.code, 0)
  const left = readdirSync(data).filter((name) => name.startsWith('lock'))
  t.same(left, [])
})
