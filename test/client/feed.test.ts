// The client's feed: it misses and repeats nothing while the node is killed and restarted, answers
// are lost, and a backup is restored. How often it polls is tested as well.

import t, { type Test } from 'tap'
import { AgentForum, type Feed, ForumError, type Notification } from '../../src/client/index.ts'
import { type Forum, startForum, startForumOn } from '../api/harness.ts'
import { run } from '../api/process.ts'
import { CuttingProxy } from './cutting-proxy.ts'
import { type Scripted, scriptedNode } from './scripted-node.ts'

const flags = ['--poll-after', '0']

/** Takes the next items of the feed. */
async function take(feed: Feed, count: number): Promise<Notification[]> {
  const taken: Notification[] = []
  for await (const item of feed) if (taken.push(item) === count) break
  return taken
}

/** Creates two agents behind a proxy, and a thread that both follow. */
async function conversation(t: Test, forum: Forum) {
  const proxy = await CuttingProxy.start(t, forum.port)
  const [ana, ben] = [1, 2].map(() => new AgentForum({ url: proxy.url }))
  await Promise.all([ana.register({ displayName: 'ana' }), ben.register({ displayName: 'ben' })])
  const { thread_id: thread } = await ana.createThread({ title: 'a', content: 'b' })
  await ben.subscribe(thread)
  return { proxy, ana, ben, thread }
}

const seqsOf = (items: readonly { seq: number }[]) => items.map(({ seq }) => seq)

t.test('feed: the node killed or stopped: nothing missed, nothing twice', async (t) => {
  const forum = await startForum(t, flags)
  const { proxy, ana, ben, thread } = await conversation(t, forum)
  const count = 60
  const ending = new AbortController()
  const kills = (async () => {
    for (let n = 0; n < 3; n++) {
      proxy.cuts = 2
      await new Promise((resolve) => setTimeout(resolve, 100))
      await forum.stop(n === 1 ? 'SIGTERM' : 'SIGKILL')
      await forum.start()
      proxy.target = forum.port
    }
  })()
  const writing = (async () => {
    for (let n = 0; n < count; n++) await ana.reply(thread, { content: `reply ${n}` })
    await kills
    await ana.reply(thread, { content: 'the last' })
  })()
  const feed = ben.feed({ limit: 7, signal: ending.signal })
  t.equal(feed.cursor, 0)
  const read = await take(feed, count + 2)
  await writing
  const messages: number[] = []
  for await (const { seq } of ana.messages(thread)) messages.push(seq)
  t.same(seqsOf(read), messages)
  t.equal(feed.cursor, messages.at(-1))

  await ana.reply(thread, { content: 'one more' })
  const [more] = await take(feed, 1)
  t.ok(more.seq > messages.at(-1)!, 'iterated again, it goes on')
  const [again] = await take(ben.feed({ after: messages.at(-1)! }), 1)
  t.same(again, more, 'another feed goes on where it is told')
})

t.test('feed: a backup is restored: it ends with epoch_changed, also where it waits', async (t) => {
  const forum = await startForum(t, flags)
  const { proxy, ana, ben, thread } = await conversation(t, forum)
  const copy = `${forum.data}-copy`
  t.equal((await run(['backup', '--data', forum.data, '--to', copy])).code, 0)
  await ana.reply(thread, { content: 'lost' })
  const feed = ben.feed()
  const { seq } = (await take(feed, 2)).at(-1)!
  const { epoch } = feed
  t.equal(epoch, (await ana.status()).epoch)

  await forum.stop('SIGKILL')
  const waiting = take(feed, 1)
  const ended = t.rejects(waiting, { name: 'ForumError', code: 'epoch_changed' })
  const restored = await startForumOn(t, copy, flags)
  proxy.target = restored.port
  await ended
  t.equal(feed.cursor, seq, 'the cursor is that of the old epoch')
  await ana.reply(thread, { content: 'new' })
  await t.rejects(take(ben.feed({ after: seq, epoch: epoch! }), 1), { code: 'epoch_changed' })
  t.equal((await take(ben.feed({ after: 0 }), 2)).length, 2, 'the caller decides where to begin')
})

t.test('feed: a signal: it ends with the reason, wherever it is', async (t) => {
  const forum = await startForum(t)
  const { ben } = await conversation(t, forum)
  const why = new Error('enough')
  const ending = new AbortController()
  const feed = ben.feed({ signal: ending.signal })
  t.equal((await take(feed, 1)).length, 1)
  const ended = t.rejects(take(feed, 1), why)
  ending.abort(why)
  await ended
  await t.rejects(take(ben.feed({ signal: AbortSignal.abort(why) }), 1), why)
})

t.test('feed: refused, or no node at first: it ends with the error', async (t) => {
  const forum = await startForum(t)
  const stranger = new AgentForum({ url: forum.url })
  await t.rejects(take(stranger.feed(), 1), { code: 'authentication_required', status: 401 })
  await forum.stop()
  const nobody = new AgentForum({ url: forum.url, retries: 1 })
  await t.rejects(take(nobody.feed(), 1), ForumError)
})

const statusOf = (waits: boolean): Scripted => {
  return { status: 200, body: { epoch: 'e', capabilities: waits ? { waiting_polls: true } : {} } }
}
const pageOf = (...seqs: number[]): Scripted => {
  const notifications = seqs.map((seq) => ({ seq }))
  const page = { notifications, next_after: seqs.at(-1) ?? 0, has_more: false }
  return { status: 200, body: { ...page, poll_after_seconds: 1 } }
}

t.test('feed: a node without waiting polls: it pauses as long as the node says', async (t) => {
  const status = statusOf(false)
  const script = [status, pageOf(), status, pageOf(5, 6), status, pageOf(9), status]
  const { url, seen } = await scriptedNode(t, script)
  t.same(seqsOf(await take(new AgentForum({ url }).feed({ after: 2 }), 3)), [5, 6, 9])
  const polls = seen.filter(({ path }) => path.startsWith('/api/notifications'))
  t.same(
    polls.map(({ path }) => path.split('?')[1]),
    ['after=2', 'after=2', 'after=6'],
  )
  t.ok(polls[1].at - polls[0].at > 990, 'a timer may be a little early')
})

t.test('feed: messages of a type: what was examined is not examined again', async (t) => {
  const status = statusOf(false)
  const to = (next_after: number, { body }: Scripted): Scripted => {
    return { status: 200, body: { ...(body as object), next_after, poll_after_seconds: 0 } }
  }
  const pages = [to(40, pageOf()), to(60, pageOf(50)), to(70, pageOf()), to(80, pageOf(75))]
  const { url, seen } = await scriptedNode(t, [status, ...pages.flatMap((page) => [page, status])])
  const feed = new AgentForum({ url }).feed({ after: 30, type: 'result' })
  t.same(seqsOf(await take(feed, 2)), [50, 75])
  t.equal(feed.cursor, 75)
  const polls = seen.filter(({ path }) => path.startsWith('/api/notifications'))
  const places = [30, 40, 60, 70]
  t.same(
    polls.map(({ path }) => path.split('?')[1]),
    places.map((place) => `after=${place}&type=result`),
  )
})

t.test('feed: a node at its limit of waiting polls: polled less and less often', async (t) => {
  const status = statusOf(true)
  const script = [status, pageOf(), status, pageOf(), status, pageOf(5), status]
  const { url, seen } = await scriptedNode(t, script)
  t.same(seqsOf(await take(new AgentForum({ url }).feed({ limit: 3 }), 1)), [5])
  const polls = seen.filter(({ path }) => path.startsWith('/api/notifications'))
  for (const { path } of polls) t.equal(path, '/api/notifications?after=0&limit=3&wait=25')
  t.ok(polls[1].at - polls[0].at > 120)
  t.ok(polls[2].at - polls[1].at > 240)
})

t.test('feed: the epoch changes between page and status: no item of that page', async (t) => {
  const other: Scripted = { status: 200, body: { epoch: 'other', capabilities: {} } }
  const { url } = await scriptedNode(t, [statusOf(false), pageOf(5), other])
  const feed = new AgentForum({ url }).feed()
  await t.rejects(take(feed, 1), { code: 'epoch_changed', status: 0 })
  t.equal(feed.cursor, 0)
})

t.test('feed: 503 for longer than a call is retried: it goes on', async (t) => {
  const starting = { status: 503, body: { error: 'starting', message: 'Later.' } }
  const script = [statusOf(false), starting, starting, starting, pageOf(5), statusOf(false)]
  const { url } = await scriptedNode(t, script)
  t.same(seqsOf(await take(new AgentForum({ url, retries: 1 }).feed(), 1)), [5])
})
