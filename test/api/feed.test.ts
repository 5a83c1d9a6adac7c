// Subscriptions and the feed: docs/interface.md, "Subscriptions and the feed".

import t from 'tap'
import { type Client, type Notification, publishedThread, startForum } from './harness.ts'

const forum = await startForum(t)

/** Creates two identities for each test, because a feed shows everything its identity follows. */
async function pair() {
  const [ana, ben] = await Promise.all([forum.identity(), forum.identity()])
  return { ana, ben }
}

async function items(caller: Client, query = '?limit=100'): Promise<Notification[]> {
  return (await caller.feed(query)).body.notifications
}

async function threadIds(caller: Client): Promise<string[]> {
  return [...new Set((await items(caller)).map(({ thread_id }) => thread_id))]
}

t.test('feed: of a new identity: empty, with the interval for polling', async (t) => {
  const { ana } = await pair()
  const { status, text } = await ana.feed()
  t.equal(status, 200)
  t.strictSame(JSON.parse(text), {
    notifications: [],
    next_after: 0,
    has_more: false,
    poll_after_seconds: 60,
    webhook_registration: '/api/notifications/webhook',
    webhook_guide: '/notifications.txt',
  })
})

t.test('feed: a reply by another: the message, without its text', async (t) => {
  const { ana, ben } = await pair()
  const id = await publishedThread(ana)
  const { body } = await ben.reply(id)
  const { messages } = (await ana.read(id)).body
  t.strictSame(await items(ana), [
    {
      seq: messages[1].seq,
      message_id: body.message_id,
      author_id: ben.id,
      thread_id: id,
      created_at: body.created_at,
    },
  ])
})

t.test('feed: own messages: never shown, whatever the query', async (t) => {
  const { ana, ben } = await pair()
  const id = await publishedThread(ana)
  for (let i = 0; i < 5; i++) await ana.reply(id)
  t.strictSame(await items(ana), [])
  await ben.reply(id)
  await ana.reply(id)
  t.equal((await items(ana)).length, 1)
  t.equal((await items(ben)).length, 7)
})

t.test(
  'subscribe: a thread of another: older messages are shown; twice changes nothing',
  async (t) => {
    const { ana, ben } = await pair()
    const id = await publishedThread(ana)
    for (let i = 0; i < 2; i++) {
      const { status, body } = await ben.subscribe(id)
      t.equal(status, 200)
      t.match(body, {
        thread_id: id,
        subscribed: true,
        notifications: '/api/notifications?after=0',
        delivery: 'poll',
        follow_up: { polling: '/api/notifications?after=0' },
      })
      t.equal((await items(ben)).length, 1)
    }
  },
)

t.test('unsubscribe: its messages leave the feed, and return with a subscription', async (t) => {
  const { ana, ben } = await pair()
  const [kept, left] = [await publishedThread(ana), await publishedThread(ana)]
  await Promise.all([ben.subscribe(kept), ben.subscribe(left)])
  t.strictSame(await threadIds(ben), [kept, left])
  for (let i = 0; i < 2; i++) {
    const { status, body } = await ben.unsubscribe(left)
    t.equal(status, 200)
    t.strictSame(body, { thread_id: left, subscribed: false })
  }
  await ana.reply(left)
  t.strictSame(await threadIds(ben), [kept])
  await ben.subscribe(left)
  t.equal((await items(ben)).filter(({ thread_id }) => thread_id === left).length, 2)
})

t.test('unsubscribe: absent, foreign, never subscribed: the same answer', async (t) => {
  const { ana, ben } = await pair()
  const foreign = await publishedThread(ana, { visibility: 'private' })
  for (const id of [`thr_${'0'.repeat(32)}`, foreign, await publishedThread(ana)]) {
    const { status, body } = await ben.unsubscribe(id)
    t.equal(status, 200)
    t.strictSame(body, { thread_id: id, subscribed: false })
  }
})

t.test('feed: many threads at once: ordered by seq, each message once', async (t) => {
  const { ana, ben } = await pair()
  const ids = await Promise.all(Array.from({ length: 8 }, () => publishedThread(ana)))
  await Promise.all(ids.map((id) => ben.subscribe(id)))
  await Promise.all(Array.from({ length: 72 }, (_, i) => ana.reply(ids[(i * 5) % 8])))
  const all = await items(ben)
  t.equal(all.length, 80)
  t.strictSame(
    all.map(({ seq }) => seq),
    [...new Set(all.map(({ seq }) => seq))].toSorted((a, b) => a - b),
  )

  t.equal((await items(ben, '')).length, 50)
  for (const limit of [1, 7, 40, 79, 80]) t.strictSame(await walk(ben, limit), all)
})

async function walk(caller: Client, limit: number): Promise<Notification[]> {
  const found: Notification[] = []
  for (let after = 0, more = true; more; ) {
    const { body } = await caller.feed(`?after=${after}&limit=${limit}`)
    found.push(...body.notifications)
    if (body.notifications.length > 0 && body.next_after !== body.notifications.at(-1)!.seq) {
      throw new Error('next_after is not the last seq')
    }
    after = body.next_after
    more = body.has_more
  }
  return found
}

t.test('feed: poll_after_seconds: as the flag says, in every answer', async (t) => {
  const other = await startForum(t, ['--poll-after', '5'])
  const ana = await other.identity()
  const answers = [
    await ana.feed(),
    await ana.thread(),
    await ana.reply(await publishedThread(ana)),
  ]
  for (const { text } of answers) t.match(text, '"poll_after_seconds":5')
})
