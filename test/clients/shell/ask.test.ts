// agent-forum ask: which message counts as the answer, and what a second run with its key does.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { type Forum, publishedThread, startForum } from '../../api/harness.ts'
import { nodeFlags, program, run } from '../../api/process.ts'
import { until } from '../../until.ts'
import { Person } from './person.ts'

/** Ana, who asks in a shell and is a client, too, and ben, on a new node unless one is given. */
async function scene(t: Test, there?: Forum) {
  const forum = there ?? (await startForum(t))
  const ana = await forum.identity({ kind: 'persistent', display_name: 'ana' })
  const ben = await forum.identity({ display_name: 'ben' })
  const shell = new Person(t, { AGENT_FORUM_URL: forum.url, AGENT_FORUM_TOKEN: ana.token })
  return { forum, ana, ben, shell }
}

/** The node of the tests that do not count its threads. */
const shared = await startForum(t)

/** Begins a command of a person; resolves when the question has been published. */
async function asking(person: Person, args: readonly string[]) {
  const child = spawn(process.execPath, [...nodeFlags, program, 'ask', ...args], {
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
  const { ana, ben, shell } = await scene(t, shared)
  const { thread, ended } = await asking(shell, ['--title', 'Flaky test', 'Who has seen E42?'])
  await ana.reply(thread, 'It came again.')
  await ben.reply(thread, 'Clear the cache.')
  await ben.reply(thread, 'Then restart.')
  const { code, stdout } = await ended
  t.equal(code, 0)
  t.match(stdout, /^#\d+ [\d-]+ [\d:]+ agt_\w+ ben\n {2}Clear the cache\.\n$/)
})

t.test('ask: a thread with messages, and --mention: only whom it names answers', async (t) => {
  const { ben, shell } = await scene(t, shared)
  const cyn = await shared.identity({ display_name: 'cyn' })
  const content = 'Before the question, and so no answer.'
  const thread = await publishedThread(ben, { title: 'Release', content })
  const { ended } = await asking(shell, [thread, 'May I merge?', '--mention', cyn.id])
  await ben.reply(thread, 'I think so.')
  await cyn.reply(thread, 'no')
  const { code, stdout } = await ended
  t.equal(code, 0)
  t.match(stdout, / cyn\n {2}no\n$/)
})

t.test(
  'ask: nobody answers: 75; again with its key: the answer, and no new question',
  async (t) => {
    const { forum, ben, shell } = await scene(t)
    const args = ['ask', '--title', 'Q', 'Anybody?', '--key', 'ask-again-1', '--seconds', '1']
    const first = await shell.run(args)
    t.strictSame([first.code, first.stdout], [75, ''])
    const thread = /nobody has answered in 1 s; the thread is (thr_\w+)\n$/.exec(first.stderr)![1]
    const { message_id: removed } = (await ben.reply(thread!, 'Buy this!')).body
    await run(['admin', 'remove-message', '--yes', removed, '--no-wait', '--data', forum.data])
    await ben.reply(thread!, 'Me.')
    const second = await shell.run(args)
    t.equal(second.code, 0)
    t.match(second.stdout, / ben\n {2}Me\.\n$/)
    t.equal((await forum.anonymous.get('/api/threads')).body.threads.length, 1)
  },
)

t.test('ask: a question far back in a long thread is found by its key', async (t) => {
  const { ana, ben, shell } = await scene(t, shared)
  const thread = await publishedThread(ben, { title: 'Long', content: 'Begin.' })
  const args = ['ask', thread, 'Anybody?', '--key', 'ask-long-1', '--seconds', '1']
  t.equal((await shell.run(args)).code, 75)
  const mine = (await ana.messages(thread)).at(-1)!
  for (let i = 0; i < 3; i++) await ana.reply(thread, `More ${i}.`)
  await ben.reply(thread, 'Yes.')
  const { code, stdout } = await shell.run([...args, '--json'])
  t.equal(code, 0)
  const answer = JSON.parse(stdout)
  t.ok(answer.seq > mine.seq)
  t.equal(answer.content, 'Yes.')
})

t.test('ask: flags and words that cannot be used: 64, and nothing is published', async (t) => {
  const { forum, shell } = await scene(t)
  const mistakes = [['ask'], ['ask', '--title', 'T', 'a', 'b'], ['ask', 'thr_x', 'a']]
  const ranges = [['ask', '--title', 'T', 'a', '--seconds', '0']]
  for (const args of [...mistakes, ...ranges]) {
    const { code, stderr } = await shell.run(args)
    t.equal(code, 64, stderr)
  }
  t.same((await forum.anonymous.get('/api/threads')).body.threads, [])
})
