// A node that starts from a checkpoint has everything that was acknowledged, just as after a replay
// of the whole log. docs/faults.md, rows 7 and 8.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../free-port.ts'
import { type Client, type Forum, newKey, publishedThread, startForum } from './harness.ts'
import { ask, sample } from './operators.ts'
import type { LogLine } from './process.ts'

/** Enough replies that a clean stop takes a checkpoint. */
const manyReplies = 40
const long = '😀'.repeat(8_000)

interface Callers {
  ana: Client
  ben: Client
}

/** Resolves to everything that the callers can read, as bytes. */
async function view({ ana, ben }: Callers, thread: string) {
  const paths = [
    '/api/threads?limit=50',
    '/api/notifications?limit=100',
    `/api/threads/${thread}?limit=100`,
    '/api/governance/proposals?limit=20',
    '/api/notifications/webhook',
  ]
  const seen: Record<string, string> = {}
  for (const [name, caller] of Object.entries({ ana, ben })) {
    for (const path of paths) {
      const { status, text } = await caller.get(path)
      assert.ok(status === 200, `${path}: ${text}`)
      seen[`${name} ${path}`] = text
    }
  }
  return seen
}

async function publish(forum: Forum): Promise<Callers & { thread: string }> {
  const ana = await forum.identity({ kind: 'persistent', display_name: 'ana' })
  const ben = await forum.identity({ display_name: 'ben' })
  const thread = await publishedThread(ana)
  await ben.subscribe(thread)
  await publishedThread(ben, { visibility: 'private', participant_ids: [ana.id] })
  const key = { 'idempotency-key': newKey() }
  const hook = { url: 'https://hooks.forum.example/' }
  for (const caller of [ana, ben]) await caller.post('/api/notifications/webhook', hook, key)
  const proposal = { kind: 'policy', title: 'a title', description: 'why' }
  await ana.post('/api/governance/proposals', proposal, { 'idempotency-key': newKey() })
  const replies = Array.from({ length: manyReplies }, () => ana.reply(thread, long))
  for (const { status } of await Promise.all(replies)) assert.equal(status, 201)
  return { ana, ben, thread }
}

/** Returns the newest log line with this message. */
function logged({ log }: Forum, message: string): LogLine | undefined {
  const lines = log.split('\n').filter((line) => line.startsWith('{'))
  return lines.map((line): LogLine => JSON.parse(line)).findLast(({ msg }) => msg === message)
}

t.test('node: stopped cleanly, then killed: starts from its checkpoint, the same', async (t) => {
  const forum = await startForum(t)
  const { thread, ...callers } = await publish(forum)
  const key = { 'idempotency-key': newKey() }
  const before = await view(callers, thread)
  await forum.stop()
  await forum.start()
  const position = logged(forum, 'recovered')!.checkpoint as number
  t.ok(position > manyReplies, 'it started from the checkpoint of the stop')
  t.strictSame(await view(callers, thread), before)

  const { status, body } = await callers.ben.reply(thread, 'after it', key)
  t.equal(status, 201)
  const after = await view(callers, thread)
  await forum.stop('SIGKILL')
  await forum.start()
  t.equal(logged(forum, 'recovered')!.checkpoint, position)
  t.strictSame(await view(callers, thread), after, 'the checkpoint, and the log behind it')
  const again = await callers.ben.reply(thread, 'after it', key)
  t.strictSame(again.body.message_id, body.message_id, 'a key from the log behind it is a replay')
})

t.test('node: a page is damaged and has no parity: reported, the same state', async (t) => {
  const ops = await freePort()
  const forum = await startForum(t, ['--ops-port', `${ops}`])
  const { thread, ...callers } = await publish(forum)
  const before = await view(callers, thread)
  await forum.stop()
  const [pages] = readdirSync(forum.data).filter((name) => name.endsWith('.pages'))
  const path = join(forum.data, pages)
  const bytes = readFileSync(path)
  bytes[bytes.length >> 1] ^= 1
  writeFileSync(path, bytes)
  rmSync(path.replace('.pages', '.parity'))
  await forum.start()
  t.equal(logged(forum, 'recovered')!.checkpoint, 0, 'the log reaches back to the start')
  t.match(logged(forum, 'checkpoint_put_aside'), {
    why: /a page is damaged .*: \d+\.pages at offset/,
  })
  t.strictSame(await view(callers, thread), before)
  const { status, text } = await ask(ops, '/readyz?verbose')
  t.equal(status, 200)
  t.match(text, /\[-\] \d+\.checkpoint is put aside: a page is damaged/)
  t.equal(await sample(ops, 'agent_forum_checkpoint_position'), 0)
})

t.test('node: --checkpoint-mb 0: none is taken, not even at the stop', async (t) => {
  const forum = await startForum(t, ['--checkpoint-mb', '0'])
  const { thread, ...callers } = await publish(forum)
  const before = await view(callers, thread)
  await forum.stop()
  t.strictSame(
    readdirSync(forum.data).filter((name) => /checkpoint|pages|parity/.test(name)),
    [],
  )
  await forum.start()
  t.strictSame(await view(callers, thread), before)
})
