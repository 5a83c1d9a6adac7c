// Goal:   each act of an operator takes effect for every way of reading, on the running node and on
//         one that starts after SIGKILL, from its log, from checkpoints, or from a backup. The text
//         of a removed message has left every file when the command reports so.
// Method: the real programs. For each command of `agent-forum admin` there is a thread with a reply
//         by an agent of its own, which has a webhook and a waiting poll. The commands are given
//         while the node serves; then every way of reading is tried for every command, on every
//         node.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type ModerationCommand, moderationCommands } from '../../src/forum/moderation/commands.ts'
import type { ActJson } from '../../src/operators/admin/protocol.ts'
import {
  Client,
  type Forum,
  newKey,
  publishedThread,
  startForum,
  startForumOn,
} from '../api/harness.ts'
import { run } from '../api/process.ts'
import { lab, newReceiver, woken } from '../api/webhook-lab.ts'
import { timeoutMs } from '../depth.ts'
import type { Receiver } from '../forum/webhooks/receiver.ts'
import { textsOf, visit } from '../people/browser.ts'

t.setTimeout(timeoutMs)

/** The content of the reply in each thread; only that of `remove-message` is removed. */
const contentOf = (command: string) => `what the agent of ${command} has said`

/** The objects that one command acts on. */
interface Case {
  command: ModerationCommand
  thread: string
  /** The author of the reply, which was posted with `key`. */
  agent: Client
  reply: string
  key: string
  receiver: Receiver
}

const isLocked = ({ command }: Case) => command === 'lock-thread'
const isRemoved = ({ command }: Case) => command === 'remove-message'
const isBlocked = ({ command }: Case) => command === 'block-identity'

/** The agent `owner` writes all threads and follows them; everybody follows the thread `news`. */
interface Scene {
  owner: Client
  news: string
  cases: Case[]
}

async function newCase(owner: Client, news: string, command: ModerationCommand): Promise<Case> {
  const agent = await owner.forum.identity({ kind: 'persistent' })
  const [receiver, thread, key] = [await newReceiver(), await publishedThread(owner), newKey()]
  await woken(agent, receiver)
  await agent.subscribe(news)
  const { body } = await agent.reply(thread, contentOf(command), { 'idempotency-key': key })
  await owner.reply(thread, 'for the feed of the agent')
  return { command, thread, agent, reply: body.message_id, key, receiver }
}

type Way = (t: Test, on: Case, owner: Client) => Promise<void>

/** The ways of reading, each with the result that it must find. */
const ways: Record<string, Way> = {
  async 'thread page'(t, on, { forum }) {
    const { body } = await forum.anonymous.read(on.thread)
    t.equal(body.thread.locked, isLocked(on) || undefined)
    const { seq, id, created_at, ...found } = body.messages[1]!
    t.ok(id === on.reply && seq > 0 && created_at > 0)
    t.match(found, {
      author_id: on.agent.id,
      display_name: 'Anonymous agent',
      kind: 'persistent',
      content: isRemoved(on) ? '[removed]' : contentOf(on.command),
    })
    t.equal(found.removed, isRemoved(on) || undefined)
    const short = (await forum.anonymous.read(on.thread, '?content_chars=0')).body.messages[1]!
    t.equal(short.content, isRemoved(on) ? '[removed]' : '')
  },

  async 'list of threads'(t, on, { forum }) {
    const { body } = await forum.anonymous.get('/api/threads?limit=50')
    const listed = body.threads.find(({ id }) => id === on.thread)!
    t.equal(listed.locked, isLocked(on) || undefined)
  },

  async feed(t, on, owner) {
    const own = await on.agent.feed('?limit=100')
    if (isBlocked(on)) t.same([own.status, own.body.error], [403, 'identity_blocked'])
    else t.ok(own.body.notifications.some(({ thread_id }) => thread_id === on.thread))
    const { notifications } = (await owner.feed('?limit=100')).body
    t.ok(notifications.some(({ message_id }) => message_id === on.reply))
  },

  async 'waiting poll'(t, on) {
    const { status, body } = await on.agent.read(on.thread, '?after=1000000&wait=1')
    if (isBlocked(on)) t.same([status, body.error], [403, 'identity_blocked'])
    else t.same([status, body.messages], [200, []])
  },

  async 'HTML pages'(t, on, { forum }) {
    const page = await visit(forum, `/t/${on.thread}`)
    const words = textsOf(page, 'p').join(' ').split(/\W+/)
    t.equal(words.includes('locked'), isLocked(on))
    t.equal(words.includes('blocked'), isBlocked(on))
    const author = await visit(forum, `/agents/${on.agent.id}`)
    for (const { status, text } of [page, author]) {
      t.equal(status, 200)
      t.equal(text.includes(contentOf(on.command)), !isRemoved(on))
    }
  },

  async 'replay of the key'(t, on) {
    const headers = { 'idempotency-key': on.key }
    const { status, body } = await on.agent.reply(on.thread, contentOf(on.command), headers)
    if (isBlocked(on)) t.same([status, body.error], [403, 'identity_blocked'])
    else t.match([status, body], [200, { replayed: true, message_id: on.reply }])
  },

  async 'new reply'(t, on) {
    const { status, body } = await on.agent.reply(on.thread)
    if (isBlocked(on)) t.same([status, body.error], [403, 'identity_blocked'])
    else if (isLocked(on)) t.same([status, body.error], [403, 'thread_locked'])
    else t.equal(status, 201)
  },
}

async function tryAll(t: Test, { owner, news, cases }: Scene): Promise<void> {
  for (const [name, way] of Object.entries(ways)) {
    await t.test(name, async (t) => {
      const each = (on: Case) => t.test(on.command, (t) => way(t, on, owner))
      await Promise.all(cases.map(each))
    })
  }
  await t.test(
    'webhooks: a message in a thread that all follow: all but the blocked',
    async (t) => {
      const called = cases.map(({ receiver }) => receiver.wakeups.length)
      await owner.reply(news)
      for (const [i, on] of cases.entries()) {
        if (!isBlocked(on)) await on.receiver.until(() => on.receiver.wakeups.length > called[i]!)
      }
      const blocked = cases.findIndex(isBlocked)
      t.equal(
        cases[blocked]!.receiver.wakeups.length,
        called[blocked],
        'a blocked one is not called',
      )
    },
  )
  await t.test('agent-forum admin list: what has effect, and why', async (t) => {
    const { acts } = JSON.parse(await admin(owner.forum, 'list', '--json')) as { acts: ActJson[] }
    const found = acts.map(({ kind, id, reason }) => `${kind} ${id}: ${reason}`).sort()
    const [locked, removed, blocked] = [isLocked, isRemoved, isBlocked].map((is) => cases.find(is)!)
    t.same(found, [
      `blocked ${blocked!.agent.id}: because of block-identity`,
      `locked ${locked!.thread}: because of lock-thread`,
      `removed ${removed!.reply}: because of remove-message`,
    ])
  })
}

/** Runs the command, which must exit with 0, and returns its output. */
async function admin(forum: Forum, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(['admin', ...args, '--data', forum.data])
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
  return stdout
}

function idFor({ command, thread, reply, agent }: Case): string {
  return command.endsWith('thread') ? thread : command.endsWith('message') ? reply : agent.id
}

/** Returns the names of the files that contain the text of the removed message. */
function filesWithText(dir: string): string[] {
  const files = readdirSync(dir).filter((name) => !/\.sock(?:et)?$/.test(name))
  return files.filter((name) => readFileSync(join(dir, name)).includes(contentOf('remove-message')))
}

t.test('moderation: every command, every way of reading, every kind of start', async (t) => {
  const forum = await startForum(t, ['--checkpoint-mb', '0', ...lab])
  const owner = await forum.identity()
  const news = await publishedThread(owner)
  const commands = Object.keys(moderationCommands) as ModerationCommand[]
  const cases = await Promise.all(commands.map((command) => newCase(owner, news, command)))
  const scene = { owner, news, cases }
  const polls = cases.map(({ agent, thread }) => {
    const poll = { isOver: false, answer: agent.read(thread, '?after=1000000&wait=50') }
    poll.answer.then(() => Object.assign(poll, { isOver: true })).catch(() => {})
    return poll
  })

  const give = async (on: Case, command = on.command) => {
    const reason = ['--reason', `because of ${command}`, ...(isRemoved(on) ? ['--yes'] : [])]
    const args = [command, idFor(on), ...reason, '--data', forum.data]
    return run(['admin', ...args])
  }
  await Promise.all(
    cases.map(async (on) => {
      const { command } = on
      if (command.startsWith('un')) await give(on, command.slice(2) as ModerationCommand)
      const { code, stderr, stdout } = await give(on)
      // Without checkpoints the text stays on disk, and the command must not report otherwise.
      t.equal(code, isRemoved(on) ? 65 : 0, `${command}: ${stderr}`)
      t.match(stdout, new RegExp(`^${idFor(on)} (?:\\(#\\d+ in [^)]+\\) )?is `))
    }),
  )
  for (const [i, { command }] of cases.entries()) {
    if (!command.endsWith('identity')) t.notOk(polls[i]!.isOver, `${command}: the poll goes on`)
    else t.match(await polls[i]!.answer, { status: 403, body: { error: 'identity_blocked' } })
  }

  await t.test('every way: while it runs', (t) => tryAll(t, scene))

  t.ok(filesWithText(forum.data).length > 0, 'the text is on disk')
  await forum.stop('SIGKILL')
  forum.flags.splice(0, 2)
  await forum.start()
  t.equal((await forum.logged('recovered')).checkpoint, 0)
  await t.test('every way: after SIGKILL, from the log alone', (t) => tryAll(t, scene))

  const { reply } = cases.find(isRemoved)!
  t.match(
    await admin(forum, 'remove-message', '--yes', reply),
    /already.*\n.*has left the page files, the log and the search/,
  )
  t.same(filesWithText(forum.data), [], 'the text is in no file')
  await forum.stop('SIGKILL')
  await forum.start()
  t.ok(Number((await forum.logged('recovered')).checkpoint) > 0)
  await t.test('every way: after SIGKILL, from checkpoints', (t) => tryAll(t, scene))

  const copy = `${forum.data}-copy`
  const backup = await run(['backup', '--data', forum.data, '--to', copy])
  t.equal(backup.code, 0, backup.stderr)
  t.same(filesWithText(copy), [])
  t.notOk(readdirSync(copy).includes('admin.sock'))
  await forum.stop('SIGKILL')
  const restored = await startForumOn(t, copy, lab)
  const on = ({ token, id }: Client) => new Client(restored, token, id)
  const moved = cases.map((each) => ({ ...each, agent: on(each.agent) }))
  await t.test('every way: from a backup', (t) =>
    tryAll(t, { owner: on(owner), news, cases: moved }),
  )
})
