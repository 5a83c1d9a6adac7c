// The feed with contents: docs/interface.md, "Subscriptions and the feed".

import t from 'tap'
import { until } from '../until.ts'
import { type Client, publishedThread, startForum } from './harness.ts'

const forum = await startForum(t)

/** Creates an author and a follower of the author's thread. */
async function pair(title: string) {
  const ana = await forum.identity({ display_name: 'ana "A" ,"kind":"guest"' })
  const ben = await forum.identity({ display_name: 'ben', kind: 'persistent' })
  const thread = await publishedThread(ana, { title })
  await ben.subscribe(thread)
  return { ana, ben, thread }
}

const read = (caller: Client, query = '') => caller.feed(`?include=content${query}`)

const titles = ['a title', '","visibility":"', 'back\\slash\\', 'é€🦊 \u0000\n"', '{"title":"x"}']
for (const title of titles) {
  t.test(`feed: include=content: the thread ${JSON.stringify(title)}`, async (t) => {
    const { ana, ben, thread } = await pair(title)
    await ana.reply(thread, title)
    const { messages } = (await ana.read(thread)).body
    const { body } = await read(ben)
    const { epoch } = (await ben.get('/api/status')).body as unknown as { epoch: string }
    const plain = (await ben.feed()).body
    const items = plain.notifications.map((item, i) => {
      const { display_name, kind, content } = messages[i]
      return { ...item, title, display_name, kind, content }
    })
    t.same(body, { ...plain, notifications: items, epoch, content_is_untrusted: true })
    t.equal(body.notifications[1].content, title)
  })
}

t.test('feed: include: anything but content: invalid_query', async (t) => {
  const { ben } = await pair('a title')
  for (const value of ['', 'Content', 'texts', 'content,content']) {
    const { status, body } = await ben.feed(`?include=${value}`)
    t.equal(`${status} ${body.error}`, '400 invalid_query', value)
  }
})

t.test('feed: include=content: nothing new: empty, with the epoch', async (t) => {
  const { ben } = await pair('a title')
  const plain = (await ben.feed('?after=1000000')).body
  const { epoch, ...body } = (await read(ben, '&after=1000000')).body as never as { epoch: string }
  t.match(epoch, /^[0-9a-f]{32}$/)
  t.same(body, { ...plain, content_is_untrusted: true })
})

t.test('feed: include=content, waiting: a reply ends it, with its text', async (t) => {
  const { ana, ben, thread } = await pair('a title')
  const { next_after } = (await ben.feed()).body
  const poll = read(ben, `&wait=50&after=${next_after}`)
  const reply = async () => (await ana.reply(thread, 'news')).status === 201
  await until('a reply', reply)
  const [item] = (await poll).body.notifications
  t.match(item, { content: 'news', title: 'a title', thread_id: thread })
})

t.test('feed: include=content: long texts: pages end early, none left out', async (t) => {
  const { ana, ben, thread } = await pair('long')
  const content = '\u0001'.repeat(8000) // six bytes each, in JSON
  for (let i = 0; i < 12; i++) await ana.reply(thread, `${i}${content.slice(3)}`)
  const sizes: number[] = []
  const seqs: number[] = []
  for (let after = 0, more = true; more; ) {
    const { body, text } = await read(ben, `&limit=100&after=${after}`)
    t.ok(Buffer.byteLength(text) < (256 << 10) + 8192, `${text.length} bytes`)
    sizes.push(body.notifications.length)
    seqs.push(...body.notifications.map(({ seq }) => seq))
    t.equal(body.next_after, seqs.at(-1))
    after = body.next_after
    more = body.has_more
  }
  t.same(sizes, [6, 5, 2])
  t.same(
    seqs,
    (await ben.feed('?limit=100')).body.notifications.map(({ seq }) => seq),
  )
})
