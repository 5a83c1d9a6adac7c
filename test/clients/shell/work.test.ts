// agent-forum work against a real node: each task has one result, whatever becomes of its workers.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { publishedThread, startForum } from '../../api/harness.ts'
import { Program, run } from '../../api/process.ts'
import { scriptedNode } from '../../client/scripted-node.ts'
import { freePort } from '../../free-port.ts'
import { until } from '../../until.ts'
import { Person } from './person.ts'

/** The node of all tests. The tasks of each have a tag of their own. */
const forum = await startForum(t)

/** Ana, who posts tasks with this tag, and workers. */
async function scene(t: Test, tag: string, count: number) {
  const ana = await forum.identity({ display_name: 'ana' })
  const worker = async () => {
    const { token } = await forum.identity({ kind: 'persistent' })
    return new Person(t, { AGENT_FORUM_URL: forum.url, AGENT_FORUM_TOKEN: token })
  }
  const workers = await Promise.all(Array.from({ length: count }, worker))
  const post = (content: string, tags = [tag]) => publishedThread(ana, { content, tags })
  const results = async (thread: string) => {
    const { body } = await ana.read(thread, '?type=result')
    return body.messages.map(({ content }) => content)
  }
  const start = (worker: Person, exec: string, ...flags: string[]) => {
    const args = ['work', '--tag', tag, '--exec', exec, ...flags]
    const program = new Program(args, { ...worker.environment })
    t.teardown(() => program.stop('SIGKILL'))
    return program
  }
  return { workers, post, results, start }
}

/**
 * Appends the task to the log, and prints its content in capitals. Unless it is the first task, the
 * command makes a file in the worker's home, and waits for the gate.
 */
const capitals = (log: string, gate: string) => `cd "$HOME"; cat >task
  if [ -s '${log}' ]; then
    touch waits; while [ -e waits ] && [ ! -e '${gate}' ]; do sleep 0.05; done
  fi
  cat task >>'${log}'; jq -r '.messages[0].content | ascii_upcase' task`

t.test('work: several workers: each task is done once, oldest first', async (t) => {
  const { workers, post, results, start } = await scene(t, 'several', 3)
  const { home } = workers[0]!
  const [log, gate] = [join(home, 'log'), join(home, 'gate')]
  writeFileSync(log, '')
  const tasks: string[] = []
  for (const text of ['a', 'b', 'c', 'd', 'e', 'f']) tasks.push(await post(text))
  const other = await post('not a task', ['other'])
  const done = async () => (await Promise.all(tasks.map(results))).flat()
  const programs = [start(workers[0]!, capitals(log, gate))]
  await until('the first result', async () => (await done()).length > 0)
  t.same(await results(tasks[0]!), ['A'])
  for (const worker of workers.slice(1)) programs.push(start(worker, capitals(log, gate)))
  await until('each to have a task', () => {
    return workers.every(({ home }) => existsSync(join(home, 'waits')))
  })
  writeFileSync(gate, '')
  await until('all results', async () => (await done()).length === tasks.length)
  t.same((await done()).sort(), ['A', 'B', 'C', 'D', 'E', 'F'])
  const lines = readFileSync(log, 'utf8').trim().split('\n')
  t.equal(lines.length, tasks.length, 'no command was run twice')
  t.same(await results(other), [])
  for (const program of programs) {
    program.child.kill('SIGTERM')
    t.equal((await program.ended).code, 0)
  }
})

t.test('work: a worker is killed: its claim expires, and another has the task', async (t) => {
  const { workers, post, results, start } = await scene(t, 'killed', 2)
  const task = await post('hard')
  const [killed, next] = workers
  const began = join(killed!.home, 'began')
  // It outlives its worker, whose pipes it must not hold open.
  const program = start(killed!, `touch '${began}'; exec sleep 30 >&- 2>&-`, '--seconds', '3')
  await until('the command to begin', () => existsSync(began))
  program.child.kill('SIGKILL')
  start(next!, 'echo mine', '--seconds', '3')
  await until('the result', async () => (await results(task)).length > 0)
  t.same(await results(task), ['mine'])
})

t.test('work: a command that fails: no result, and the thread is released', async (t) => {
  const { workers, post, results, start } = await scene(t, 'failing', 2)
  const task = await post('x')
  const failing = start(workers[0]!, 'echo half; exit 3')
  await until('the report', () => failing.stderr.includes(`ended with 3 for ${task}`))
  t.same(await results(task), [])
  start(workers[1]!, 'true')
  await until('the result', async () => (await results(task)).length > 0)
  t.same(await results(task), ['done'], 'what a command without output has')
})

t.test('work: a thread expires as soon as it is claimed: the next one is looked for', async (t) => {
  const thread = { id: `thr_${'0'.repeat(32)}` }
  const node = await scriptedNode(t, [
    { status: 200, body: { threads: [thread], next_cursor: null } },
    { status: 201, body: { thread_id: thread.id, fence: 1 } },
    { status: 404, body: { error: 'not_found', message: 'It has expired.' } },
    { status: 200, body: { threads: [], next_cursor: null } },
  ])
  const environment = { AGENT_FORUM_URL: node.url, AGENT_FORUM_TOKEN: 'aic_x' }
  const program = new Program(['work', '--tag', 'todo', '--exec', 'true'], environment)
  t.teardown(() => program.stop('SIGKILL'))
  await until('it to look again', () => node.seen.length >= 5 || program.stderr !== '')
  t.equal(program.stderr, '')
  program.child.kill('SIGTERM')
  t.equal((await program.ended).code, 0)
})

t.test('work: the claim is lost before the result: open again, the task is claimed', async (t) => {
  const thread = { id: `thr_${'0'.repeat(32)}` }
  const list = { status: 200, body: { threads: [thread], next_cursor: null } }
  const page = { status: 200, body: { thread, messages: [], next_after: 0, has_more: false } }
  const node = await scriptedNode(t, [
    ...[list, { status: 201, body: { thread_id: thread.id, fence: 1 } }, page, page],
    { status: 409, body: { error: 'claim_lost', message: 'Another one has it.' } },
    { status: 403, body: { error: 'not_holder', message: 'Another one has it.' } },
    ...[list, { status: 409, body: { error: 'claimed', message: 'It has it still.' } }],
    { status: 200, body: { threads: [], next_cursor: null } },
  ])
  const environment = { AGENT_FORUM_URL: node.url, AGENT_FORUM_TOKEN: 'aic_x' }
  const program = new Program(['work', '--tag', 'todo', '--exec', 'true'], environment)
  t.teardown(() => program.stop('SIGKILL'))
  await until('it to look again', () => node.seen.length >= 8)
  t.match(node.seen[7], { method: 'POST', path: `/api/threads/${thread.id}/claim` })
  program.child.kill('SIGTERM')
  t.equal((await program.ended).code, 0)
})

t.test('work: the oldest thread is locked: the next one is worked on', async (t) => {
  const { workers, post, results, start } = await scene(t, 'locked', 1)
  const [locked, task] = [await post('a'), await post('b')]
  await run(['admin', 'lock-thread', locked, '--data', forum.data])
  const program = start(workers[0]!, 'echo mine')
  await until('the result', async () => program.stderr !== '' || (await results(task)).length > 0)
  t.equal(program.stderr, '')
  t.same(await results(locked), [])
})

t.test('work: a signal while no node answers: ends at once', async (t) => {
  const url = `http://127.0.0.1:${await freePort()}`
  const { environment } = new Person(t, { AGENT_FORUM_URL: url, AGENT_FORUM_TOKEN: 'aic_1' })
  const program = new Program(['work', '--tag', 'todo', '--exec', 'true'], environment)
  t.teardown(() => program.stop('SIGKILL'))
  await until('a report', () => program.stderr.includes('no answer'))
  const at = performance.now()
  program.child.kill('SIGINT')
  t.equal((await program.ended).code, 0)
  t.ok(performance.now() - at < 3_000, 'and not when the calls are no longer retried')
})

t.test('work: no tag, or an empty command: 64', async (t) => {
  const { workers } = await scene(t, 'none', 1)
  for (const args of [
    ['--exec', 'true'],
    ['--tag', 'todo'],
    ['--tag', 'todo', '--exec', ' '],
  ]) {
    t.equal((await workers[0]!.run(['work', ...args])).code, 64)
  }
})
