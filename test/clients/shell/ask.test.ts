// agent-forum ask: which message counts as the answer, and what a second run with its key does.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { startForum } from '../../api/harness.ts'
import { program } from '../../api/process.ts'
import { until } from '../../until.ts'
import { Person } from './person.ts'

/** A node with two people, and a command that ana has running. */
async function scene(t: Parameters<typeof startForum>[0]) {
  const forum = await startForum(t)
  const at = { AGENT_FORUM_URL: forum.url }
  const [ana, ben] = [new Person(t, at), new Person(t, at)]
  await Promise.all([
    ana.get(['register', '--name', 'ana']),
    ben.get(['register', '--name', 'ben']),
  ])
  return { forum, ana, ben, idOf: async (person: Person) => (await person.json(['whoami']))[0].id }
}

/** Begins a command of a person; resolves when the question has been published. */
async function asking(person: Person, args: readonly string[]) {
  const child = spawn(process.execPath, [program, 'ask', ...args], {
    env: person.environment,
    cwd: person.home,
  })
  const printed = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    printed.stderr += text
  })
  child.stdin.end()
  const ended = once(child, 'close').then(([code]) => ({ code, ...printed }))
  const asked = /asked in (thr_\w+); waiting/
  await until('the question to be published', () => asked.test(printed.stderr))
  return { thread: asked.exec(printed.stderr)![1], ended, child }
}

t.test('ask: a new thread: prints the first message by somebody else', async (t) => {
  const { ana, ben } = await scene(t)
  const { thread, ended } = await asking(ana, ['--title', 'Flaky test', 'Who has seen E42?'])
  await ana.get(['reply', thread, 'It came again.'])
  await ben.get(['reply', thread, 'Clear the cache.'])
  await ben.get(['reply', thread, 'Then restart.'])
  const { code, stdout } = await ended
  t.equal(code, 0)
  t.match(stdout, /^#\d+ [\d-]+ [\d:]+ agt_\w+ ben\n {2}Clear the cache\.\n$/)
})

t.test('ask: a thread with messages, and --mention: only whom it names answers', async (t) => {
  const { ana, ben, idOf, forum } = await scene(t)
  const cyn = new Person(t, { AGENT_FORUM_URL: forum.url })
  await cyn.get(['register', '--name', 'cyn'])
  const thread = await ben.get(['post', 'Release', 'Before the question, and so no answer.'])
  const args = [thread, 'May I merge?', '--mention', `${await idOf(cyn)}`]
  const { ended } = await asking(ana, args)
  await ben.get(['reply', thread, 'I think so.'])
  await cyn.get(['reply', thread, 'no'])
  const { code, stdout } = await ended
  t.equal(code, 0)
  t.match(stdout, / cyn\n {2}no\n$/)
})

t.test(
  'ask: nobody answers: 75; again with its key: the answer, and no new question',
  async (t) => {
    const { ana, ben } = await scene(t)
    const args = ['ask', '--title', 'Q', 'Anybody?', '--key', 'ask-again-1', '--seconds', '1']
    const first = await ana.run(args)
    t.strictSame([first.code, first.stdout], [75, ''])
    const thread = /nobody has answered in 1 s; the thread is (thr_\w+)\n$/.exec(first.stderr)![1]
    await ben.get(['reply', thread, 'Me.'])
    const second = await ana.run(args)
    t.equal(second.code, 0)
    t.match(second.stdout, / ben\n {2}Me\.\n$/)
    t.equal((await ana.json(['threads'])).length, 1)
  },
)

t.test('ask: a question far back in a long thread is found by its key', async (t) => {
  const { ana, ben } = await scene(t)
  const thread = await ben.get(['post', 'Long', 'Begin.'])
  const args = ['ask', thread, 'Anybody?', '--key', 'ask-long-1', '--seconds', '1']
  t.equal((await ana.run(args)).code, 75)
  const mine = (await ana.json(['read', thread])).at(-1)!
  for (let i = 0; i < 3; i++) await ana.get(['reply', thread, `More ${i}.`])
  await ben.get(['reply', thread, 'Yes.'])
  const { code, stdout } = await ana.run([...args, '--json'])
  t.equal(code, 0)
  const answer = JSON.parse(stdout)
  t.ok(answer.seq > (mine.seq as number))
  t.equal(answer.content, 'Yes.')
})

t.test('ask: flags and words that cannot be used: 64, and nothing is published', async (t) => {
  const { ana } = await scene(t)
  const mistakes = [['ask'], ['ask', '--title', 'T', 'a', 'b'], ['ask', 'thr_x', 'a']]
  const ranges = [['ask', '--title', 'T', 'a', '--seconds', '0']]
  for (const args of [...mistakes, ...ranges]) {
    const { code, stderr } = await ana.run(args)
    t.equal(code, 64, stderr)
  }
  t.same(await ana.json(['threads']), [])
})
