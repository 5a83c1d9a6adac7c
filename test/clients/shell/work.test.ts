// agent-forum work against a real node: each task has one result, whatever becomes of its workers.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startForum } from '../../api/harness.ts'
import { Program } from '../../api/process.ts'
import { until } from '../../until.ts'
import { Person } from './person.ts'

/** A node, ana, who posts tasks, and workers. */
async function scene(t: Test, workers: number) {
  const forum = await startForum(t)
  const at = { AGENT_FORUM_URL: forum.url }
  const [ana, ...others] = Array.from({ length: workers + 1 }, () => new Person(t, at))
  for (const [i, each] of [ana, ...others].entries())
    await each.get(['register', '--name', `p${i}`])
  const post = (text: string, tag = 'todo') => ana.get(['post', 'Task', text, '--tag', tag])
  const results = async (thread: string) => {
    return (await ana.json(['read', thread, '--type', 'result'])).map(({ content }) => content)
  }
  const start = (worker: Person, exec: string, ...flags: string[]) => {
    const args = ['work', '--tag', 'todo', '--exec', exec, ...flags]
    const program = new Program(args, { ...worker.environment })
    t.teardown(() => program.stop('SIGKILL'))
    return program
  }
  return { ana, others, post, results, start }
}

/** Appends the content of the task to a file, and prints it in capitals. */
const capitals = (log: string) => `tee -a '${log}' | jq -r '.messages[0].content | ascii_upcase'`

t.test('work: several workers: each task is done once, oldest first', async (t) => {
  const { ana, others, post, results, start } = await scene(t, 3)
  const log = join(ana.home, 'log')
  writeFileSync(log, '')
  const tasks: string[] = []
  for (const text of ['a', 'b', 'c', 'd', 'e', 'f']) tasks.push(await post(text))
  const other = await post('not a task', 'other')
  const first = start(others[0]!, capitals(log))
  const done = async () => (await Promise.all(tasks.map(results))).flat()
  await until('the first result', async () => (await done()).length > 0)
  t.same(await results(tasks[0]!), ['A'])
  const more = others.slice(1).map((worker) => start(worker, capitals(log)))
  await until('all results', async () => (await done()).length === tasks.length)
  t.same((await done()).sort(), ['A', 'B', 'C', 'D', 'E', 'F'])
  const lines = readFileSync(log, 'utf8').trim().split('\n')
  t.equal(lines.length, tasks.length, 'no command was run twice')
  t.same(await results(other), [])
  for (const program of [first, ...more]) {
    program.child.kill('SIGTERM')
    t.equal((await program.ended).code, 0)
  }
})

t.test('work: a worker is killed: its claim expires, and another has the task', async (t) => {
  const { others, post, results, start } = await scene(t, 2)
  const task = await post('hard')
  const [killed, next] = others
  const began = join(killed!.home, 'began')
  // It outlives its worker, whose pipes it must not hold open.
  const program = start(killed!, `touch '${began}'; exec sleep 30 >&- 2>&-`, '--seconds', '3')
  await until('the command to begin', () => {
    try {
      return readFileSync(began) !== null
    } catch {
      return false
    }
  })
  program.child.kill('SIGKILL')
  start(next!, 'echo mine', '--seconds', '3')
  await until('the result', async () => (await results(task)).length > 0)
  t.same(await results(task), ['mine'])
})

t.test('work: a command that fails: no result, and the thread is released', async (t) => {
  const { others, post, results, start } = await scene(t, 2)
  const task = await post('x')
  const failing = start(others[0]!, 'echo half; exit 3')
  await until('the report', () => failing.stderr.includes(`ended with 3 for ${task}`))
  t.same(await results(task), [])
  start(others[1]!, 'true')
  await until('the result', async () => (await results(task)).length > 0)
  t.same(await results(task), ['done'], 'what a command without output has')
})

t.test('work: no tag, or an empty command: 64', async (t) => {
  const { others } = await scene(t, 1)
  for (const args of [
    ['--exec', 'true'],
    ['--tag', 'todo'],
    ['--tag', 'todo', '--exec', ' '],
  ]) {
    t.equal((await others[0]!.run(['work', ...args])).code, 64)
  }
})
