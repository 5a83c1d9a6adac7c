// agent-forum watch against a real node: messages are handled at least once, in order and one at a
// time, whatever is killed meanwhile.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  Client,
  type Forum,
  newKey,
  publishedThread,
  startForum,
  startForumOn,
} from '../../api/harness.ts'
import { Program, program, run } from '../../api/process.ts'
import { CuttingProxy } from '../../client/cutting-proxy.ts'
import { limitFiles } from '../../faults/file-limit.ts'
import { until } from '../../until.ts'
import { Person } from './person.ts'

/** A node, behind a proxy at a fixed address; ana, who writes; and ben, who follows her thread. */
class Conversation {
  readonly #ana: Client
  readonly ben: Person
  readonly benId: string
  readonly thread: string
  readonly proxy: CuttingProxy

  constructor(ana: Client, ben: Person, benId: string, thread: string, proxy: CuttingProxy) {
    this.#ana = ana
    this.ben = ben
    this.benId = benId
    this.thread = thread
    this.proxy = proxy
  }

  static async begin(t: Test, forum: Forum): Promise<Conversation> {
    const proxy = await CuttingProxy.start(t, forum.port)
    const ana = await forum.identity({ display_name: 'ana' })
    const thread = await publishedThread(ana, { title: 'Flaky test', content: 'first' })
    const ben = new Person(t)
    await ben.get(['register', '--url', proxy.url])
    const { token, id } = JSON.parse(readFileSync(ben.file, 'utf8')) as Record<string, string>
    await new Client(forum, token, id).subscribe(thread)
    return new Conversation(ana, ben, id!, thread, proxy)
  }

  /** Publishes a reply, which may mention ben. */
  async say(content: string, mentions = false): Promise<void> {
    const body = { content, ...(mentions && { mention_ids: [this.benId] }) }
    const path = `/api/threads/${this.thread}/replies`
    const { status, text } = await this.#ana.post(path, body, { 'idempotency-key': newKey() })
    if (status !== 201) throw new Error(text)
  }

  /** Starts ben's watch. */
  watch(t: Test, ...args: string[]): Program {
    const program = new Program(['watch', ...args], this.ben.environment)
    t.teardown(() => program.stop('SIGKILL'))
    return program
  }

  /** Returns the contents of the lines in one of ben's files. */
  handled(file = 'log'): string[] {
    const path = join(this.ben.home, file)
    return existsSync(path) ? contents(readFileSync(path, 'utf8')) : []
  }
}

function contents(lines: string): string[] {
  const whole = lines.split('\n').slice(0, -1)
  return whole.map((line) => JSON.parse(line).content)
}

const started = /^agent-forum: the command/m

/** The node of the tests that neither stop nor kill it. */
const shared = await startForum(t)

t.test('watch: prints a line for each message, as it comes, and goes on behind it', async (t) => {
  const talk = await Conversation.begin(t, shared)
  const first = talk.watch(t)
  await until('the first message', () => contents(first.stdout).length === 1)
  await talk.say('a\u202e\nb')
  await until('the reply', () => contents(first.stdout).length === 2)
  t.same(contents(first.stdout), ['first', 'a\u202e\nb'])
  t.notMatch(first.stdout, /\u202e/, 'nothing acts on a terminal')
  t.match(JSON.parse(first.stdout.split('\n')[1]!), { thread_id: talk.thread, title: 'Flaky test' })
  const ended = await first.stop('SIGTERM')
  t.strictSame([ended.code, ended.signal, ended.stderr], [0, null, ''])
  const second = talk.watch(t)
  await talk.say('c')
  await until('the next one', () => second.stdout !== '')
  t.same(contents(second.stdout), ['c'], 'what was printed is handled')
  t.equal((await second.stop('SIGINT')).code, 0)
})

t.test('watch --exec: watch, the command and the node are killed: all, in order', async (t) => {
  const forum = await startForum(t)
  const talk = await Conversation.begin(t, forum)
  // For two messages, the command kills itself before it has written its line.
  const script = `cd "$HOME"; cat >item; case $(cat item) in *'reply 3"'*|*'reply 13"'*)
    [ -e killed ] || { touch killed; kill -9 $$; };; *) rm -f killed;; esac
    cat item >>log`
  let watching = talk.watch(t, '--exec', script)
  const said = ['first']
  let ends = ''
  for (let n = 0; n < 18; n++) {
    await talk.say(`reply ${n}`)
    said.push(`reply ${n}`)
    if (n % 3 < 2) continue
    await until('a message since the last kill', () => talk.handled().includes(`reply ${n - 2}`))
    if (n % 2 === 0) {
      ends += (await watching.stop('SIGKILL')).stderr
      watching = talk.watch(t, '--exec', script)
    } else {
      await forum.stop('SIGKILL')
      talk.proxy.cuts = 1
      await forum.start()
      talk.proxy.target = forum.port
    }
  }
  await until('all of them', () => talk.handled().includes('reply 17'))
  t.same([...new Set(talk.handled())], said, 'each at least once, in order')
  t.match(ends + watching.stderr, /the command was ended by SIGKILL for #\d+; it is run again in /)
  const ended = await watching.stop('SIGTERM')
  t.equal(ended.code, 0, ended.stderr)
})

t.test('watch --exec: a failing command: again after a pause, and nothing is lost', async (t) => {
  const talk = await Conversation.begin(t, shared)
  const { home } = talk.ben
  await talk.say('second')
  writeFileSync(join(home, 'down'), '')
  const script = 'cd "$HOME"; cat >item; cat item >>tried; [ ! -e down ] && cat item >>log'
  const failing = talk.watch(t, '--exec', script)
  await until('two attempts', () => talk.handled('tried').length >= 2)
  await until('the report', () => started.test(failing.stderr))
  t.match(
    failing.stderr,
    /^agent-forum: the command ended with 1 for #\d+; it is run again in 0.5 s$/m,
  )
  t.equal((await failing.stop('SIGINT')).code, 0)
  t.same(talk.handled('tried').slice(0, 2), ['first', 'first'], 'the next one does not overtake it')
  rmSync(join(home, 'tried'))
  const again = talk.watch(t, '--exec', script)
  await until('an attempt', () => talk.handled('tried').length > 0)
  rmSync(join(home, 'down'))
  await until('both', () => talk.handled().length === 2)
  t.same(talk.handled(), ['first', 'second'])
  await again.stop('SIGTERM')
})

t.test('watch --exec: too many open files: again after a pause', async (t) => {
  const talk = await Conversation.begin(t, shared)
  const watching = talk.watch(t, '--exec', 'cat >>"$HOME/log"')
  await until('the first message', () => talk.handled().length === 1)
  limitFiles(watching.child.pid!, 3) // its connection stays open
  await talk.say('second')
  await until('the report', () => /could not be run \(spawn sh EMFILE\)/.test(watching.stderr))
  limitFiles(watching.child.pid!, 1024)
  await until('the second message', () => talk.handled().length === 2)
  t.equal((await watching.stop('SIGTERM')).code, 0)
})

t.test('watch --exec: a signal: the command gets it, and decides on its message', async (t) => {
  const talk = await Conversation.begin(t, shared)
  const script = (code: number, name: string) =>
    `cd "$HOME"; trap 'exit ${code}' ${name}; cat >>log; while kill -0 $PPID; do sleep 0.05; done`
  const refusing = talk.watch(t, '--exec', script(1, 'HUP'))
  await until('the command', () => talk.handled().length === 1)
  t.match(await refusing.stop('SIGHUP'), { code: 0, signal: null })
  const finishing = talk.watch(t, '--exec', script(0, 'INT'))
  await until('the same message', () => talk.handled().length === 2)
  t.match(await finishing.stop('SIGINT'), { code: 0, signal: null })
  await talk.say('second')
  const next = talk.watch(t, '--exec', 'cat >>"$HOME/log"')
  await until('the next message', () => talk.handled().length === 3)
  t.same(talk.handled(), ['first', 'first', 'second'])
  await next.stop('SIGTERM')
})

t.test('watch --exec: a command that ignores the signal: the second one kills it', async (t) => {
  const talk = await Conversation.begin(t, shared)
  const script = `cd "$HOME"; trap 'echo >told' TERM; echo $$ >pid; while :; do sleep 0.05; done`
  const program = talk.watch(t, '--exec', script)
  const file = join(talk.ben.home, 'pid')
  const pid = await until('the command', () => existsSync(file) && Number(readFileSync(file)))
  program.child.kill('SIGTERM')
  // A signal sent before the first one is handled would be merged with it.
  await until('the signal to reach the command', () => existsSync(join(talk.ben.home, 'told')))
  t.equal(program.hasEnded, false, 'its end is waited for')
  t.match(await program.stop('SIGTERM'), { code: 0, signal: null })
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

t.test('watch --mentions: only what mentions the identity; the command acts as it', async (t) => {
  const talk = await Conversation.begin(t, shared)
  await talk.say('for all')
  await talk.say('for ben', true)
  const reply = `cat >>"$HOME/log"; '${process.execPath}' '${program}' reply ${talk.thread} 'Seen'`
  const watching = talk.watch(t, '--mentions', '--exec', reply)
  await until('the reply', () => watching.stdout.endsWith('\n'))
  t.match(watching.stdout, /^msg_/)
  await talk.say('again', true)
  await until('another', () => watching.stdout.split('\n').length === 3)
  await watching.stop('SIGTERM')
  t.same(talk.handled(), ['for ben', 'again'])
  const written = await talk.ben.json(['read', talk.thread])
  t.equal(written.filter(({ author_id }) => author_id === talk.benId).length, 2)
})

t.test('watch: a backup is restored, or the token is refused: ends with a sentence', async (t) => {
  const forum = await startForum(t)
  const talk = await Conversation.begin(t, forum)
  const copy = `${forum.data}-copy`
  t.equal((await run(['backup', '--data', forum.data, '--to', copy])).code, 0)
  const program = talk.watch(t)
  await until('the first message', () => program.stdout !== '')
  await forum.stop('SIGKILL')
  const restored = await startForumOn(t, copy, [])
  talk.proxy.target = restored.port
  await (await restored.identity()).reply(talk.thread)
  const { code, stderr } = await program.ended
  t.equal(code, 65)
  t.match(stderr, /^agent-forum: epoch_changed: A backup was restored[^\n]+\n$/)
  const lost = { AGENT_FORUM_URL: talk.proxy.url, AGENT_FORUM_TOKEN: `aic_${'0'.repeat(64)}` }
  t.match(await new Person(t, lost).run(['watch']), { code: 65, stderr: /invalid_token/ })
  t.match(await talk.ben.run(['watch', 'all']), { code: 64, stderr: /watch takes no "all"/ })
})
