// A restarted node has everything that was acknowledged. docs/faults.md, rows 1 and 27. Killing a
// process tests the restart and not the sync, because the kernel still holds what was written.

import assert from 'node:assert/strict'
import t, { type Test } from 'tap'
import {
  type Answer,
  type Client,
  type Forum,
  newKey,
  publishedThread,
  startForum,
} from './harness.ts'

interface Callers {
  ana: Client
  ben: Client
  eve: Client
}

/** Resolves to everything that callers can read, as bytes. */
async function view(forum: Forum, { ana, ben, eve }: Callers, threads: string[]) {
  const callers = { ana, ben, eve, anonymous: forum.anonymous }
  const seen: Record<string, string> = {}
  for (const [name, caller] of Object.entries(callers)) {
    const paths = ['/api/threads?limit=50', '/api/threads?limit=2', '/api/notifications?limit=100']
    for (const id of threads)
      paths.push(`/api/threads/${id}?limit=100`, `/api/threads/${id}?limit=3`)
    for (const path of paths) {
      const { status, text } = await caller.get(path)
      seen[`${name} ${path}`] = `${status} ${text}`
    }
  }
  return seen
}

/** Creates records of every kind, with texts of every kind. */
async function publish({ ana, ben, eve }: Callers): Promise<string[]> {
  const open = await publishedThread(ana, { title: 'öffentlich 😀\u0000', content: '\u2028\r\n"' })
  const secret = await publishedThread(ben, { visibility: 'private', participant_ids: [ana.id] })
  const left = await publishedThread(eve, { participant_ids: [ben.id, ana.id] })
  const long = '\u0001'.repeat(8000)
  const replies = await Promise.all(Array.from({ length: 30 }, () => ben.reply(open, long)))
  assert.ok(replies.every(({ status }) => status === 201))
  await ana.reply(secret, 'seen by two')
  await eve.subscribe(open)
  await ben.unsubscribe(left)
  await ana.reply(left, 'not in the feed of ben')
  return [open, secret, left]
}

async function callersOf(forum: Forum): Promise<Callers> {
  const ana = await forum.identity({ display_name: 'ana "😀"' })
  const ben = await forum.identity({ display_name: 'ben', kind: 'persistent' })
  const eve = await forum.identity()
  return { ana, ben, eve }
}

function fields({ text }: Answer): unknown {
  const { replayed, ...rest } = JSON.parse(text)
  return rest
}

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  t.test(`restart: after ${signal}`, async (t) => {
    const forum = await startForum(t)
    const callers = await callersOf(forum)
    const { ana, ben } = callers
    const threads = await publish(callers)
    const [forThread, forReply] = [newKey(), newKey()].map((key) => ({ 'idempotency-key': key }))
    const post = { title: 'once', visibility: 'private', participant_ids: [ben.id] }
    const thread = await ana.thread(post, forThread)
    const { thread_id } = thread.body
    const reply = await ben.reply(thread_id, 'once', forReply)
    const before = await view(forum, callers, threads)
    const page = (await ana.get('/api/threads?limit=2')).body

    await forum.stop(signal)
    await forum.start()

    t.test('identities, pages, feeds: read again: the same bytes', async (t) => {
      t.match(before[`anonymous /api/threads/${threads[0]}?limit=100`], '"message_count":31')
      t.match(before[`eve /api/threads/${threads[1]}?limit=100`], '404 {"error":"not_found"')
      t.strictSame(await view(forum, callers, threads), before)
    })

    t.test('a key again: a replay with the same fields', async (t) => {
      t.strictSame([thread.status, reply.status], [201, 201])
      const threadAgain = await ana.thread(post, forThread)
      const replyAgain = await ben.reply(thread_id, 'once', forReply)
      t.strictSame([threadAgain.status, replyAgain.status], [200, 200])
      t.strictSame([threadAgain, replyAgain].map(fields), [thread, reply].map(fields))
    })

    t.test('a key for another request: a conflict; of another identity: new', async (t) => {
      const others = [
        await ana.thread({ ...post, title: 'twice' }, forThread),
        await ana.reply(thread_id, 'once', forThread),
        await ben.reply(thread_id, 'twice', forReply),
      ]
      for (const { body } of others) t.equal(body.error, 'idempotency_conflict')
      t.equal((await ana.reply(thread_id, 'hers', forReply)).status, 201)
    })

    t.test('thread: written after it: seqs and times continue, nothing is repeated', async (t) => {
      const { messages } = (await ana.read(thread_id)).body
      t.strictSame(
        messages.map(({ content }) => content),
        ['first message', 'once', 'hers'],
      )
      for (const [i, message] of messages.slice(1).entries()) {
        t.ok(message.seq > messages[i].seq && message.created_at >= messages[i].created_at)
      }
    })

    t.test('a cursor from before: continues where it was', async (t) => {
      await ana.thread({ title: 'newer' })
      const rest = (await ana.get(`/api/threads?cursor=${page.next_cursor}`)).body
      t.strictSame(
        [...page.threads, ...rest.threads].map(({ id }) => id),
        [thread_id, ...threads.toReversed()],
      )
    })
  })
}

for (const durability of ['always', 'none']) {
  t.test(`restart: killed amid writes, durability ${durability}: none is lost`, async (t) => {
    await killedWhileWriting(t, ['--durability', durability])
  })
}

/**
 * Kills the process while writers are writing. Their acknowledged writes are all there, in order.
 * Only the last write of each writer may be unanswered, and a retry with its key settles its
 * outcome.
 */
async function killedWhileWriting(t: Test, flags: string[]): Promise<void> {
  const forum = await startForum(t, flags)
  const writers = await Promise.all(Array.from({ length: 8 }, () => forum.identity()))
  const id = await publishedThread(writers[0], { content: 'start' })
  const answered = writers.map((): string[] => [])
  const enough = new Promise<void>((resolve) => {
    for (const [w, writer] of writers.entries()) write(writer, w, resolve)
  })
  async function write(writer: Client, w: number, resolve: () => void) {
    for (let i = 0; ; i++) {
      const content = `${w}.${i}`
      const key = { 'idempotency-key': `writer-${content}` }
      const answer = await writer.reply(id, content, key).catch(() => null)
      // A reader that has lost its leader reports it: the outcome is as unknown as without an
      // answer.
      if (answer === null || answer.body.error === 'shutting_down') return
      answered[w].push(content)
      if (i === 40) resolve()
    }
  }
  await enough
  await forum.stop('SIGKILL')
  await forum.start()

  for (const [w, writer] of writers.entries()) {
    const next = `${w}.${answered[w].length}`
    const { status } = await writer.reply(id, next, { 'idempotency-key': `writer-${next}` })
    t.ok(status === 200 || status === 201)
    const contents = (await writer.messages(id)).map(({ content }) => content)
    const kept = contents.filter((content) => content.startsWith(`${w}.`))
    t.strictSame(kept, [...answered[w], next])
  }
}
