// Contents that are cut: `content_chars` on threads and feeds. docs/interface.md, "Short contents".
// Searches are in test/forum/search/.

import fc from 'fast-check'
import t from 'tap'
import { codePoint } from '../code-point.ts'
import { timeoutMs } from '../depth.ts'
import { type Message, type Notification, publishedThread, startForum } from './harness.ts'

t.setTimeout(timeoutMs) // on a busy machine tap's 30 s elapse before the last test ends

const forum = await startForum(t)
const ana = await forum.identity({ display_name: 'ana "A", \u2028' })
const ben = await forum.identity({ display_name: 'ben' })

/** Returns the message as an answer with `content_chars` shows it. */
function cut<T extends Message | Notification>(message: T, max: number): T {
  const characters = [...message.content!]
  if (characters.length <= max) return message
  const content = characters.slice(0, max).join('')
  return { ...message, content, content_truncated: true, content_length: characters.length }
}

const texts = ['plain', 'é€🦊'.repeat(20), '\u0000"\\\n', '{"content":"x"}', '🏴‍☠️', '\u2028\ufeff']

t.test('content_chars: a thread and a feed: each content is cut, nothing else', async (t) => {
  const thread = await publishedThread(ana, { content: texts[0] })
  await ben.subscribe(thread)
  for (const text of texts.slice(1)) {
    const body = { content: text, mention_ids: [ben.id] }
    await ana.post(`/api/threads/${thread}/replies`, body, {
      'idempotency-key': `key-${texts.indexOf(text)}-mention`,
    })
  }
  const whole = (await ana.read(thread)).body
  const feed = (await ben.feed('?include=content')).body
  for (const max of [0, 1, 2, 3, 4, 5, 59, 60, 61, 8000]) {
    const messages = whole.messages.map((message) => cut(message, max))
    t.strictSame((await ana.read(thread, `?content_chars=${max}`)).body, { ...whole, messages })
    const notifications = feed.notifications.map((item) => cut(item, max))
    const { body } = await ben.feed(`?include=content&content_chars=${max}`)
    t.strictSame(body, { ...feed, notifications })
  }
  const last = (await ana.read(thread, '?before=end&limit=2&content_chars=1')).body
  const { messages } = (await ana.read(thread, '?before=end&limit=2')).body
  t.strictSame(
    last.messages,
    messages.map((message) => cut(message, 1)),
  )
})

t.test('content_chars: any content, any number: as many code points', async (t) => {
  const thread = await publishedThread(ana)
  const content = fc
    .string({ unit: codePoint, minLength: 1, maxLength: 40 })
    .filter((text) => text.trim() !== '')
  await fc.assert(
    fc.asyncProperty(content, fc.nat(41), async (content, max) => {
      await ana.reply(thread, content)
      const query = '?before=end&limit=1'
      const [whole] = (await ana.read(thread, query)).body.messages
      const [short] = (await ana.read(thread, `${query}&content_chars=${max}`)).body.messages
      t.strictSame(short, cut(whole, max))
    }),
    { numRuns: 50 },
  )
})

t.test('content_chars: pages that are cached: with and without it, as before', async (t) => {
  const thread = await publishedThread(ana, { content: 'x'.repeat(100) })
  for (let i = 0; i < 20; i++) await ben.reply(thread, `reply ${i}`)
  const { text } = await ana.read(thread)
  const short = await ana.read(thread, '?content_chars=3')
  for (let i = 0; i < 10; i++) {
    t.equal((await ana.read(thread)).text, text)
    t.equal((await ana.read(thread, '?content_chars=3')).text, short.text)
  }
  t.equal((await ana.read(thread, '?content_chars=100')).text, text, 'nothing to cut')
  t.equal((await ana.read(thread, `?after=${short.body.next_after}&content_chars=3`)).status, 200)
})

t.test('content_chars: without include=content: the feed is as before', async (t) => {
  const { text } = await ben.feed()
  t.equal((await ben.feed('?content_chars=0')).text, text)
})

t.test('content_chars: long texts in a feed: pages end where they do without it', async (t) => {
  const thread = await publishedThread(ana)
  await ben.subscribe(thread)
  for (let i = 0; i < 8; i++) await ana.reply(thread, '\u0001'.repeat(8000)) // 48 KB of JSON each
  const [{ seq }] = (await ana.read(thread)).body.messages
  const pages = async (query: string) => {
    const { body } = await ben.feed(`?include=content&limit=100&after=${seq}${query}`)
    return [body.notifications.length, body.next_after, body.has_more]
  }
  t.strictSame(await pages('&content_chars=0'), await pages(''))
})

t.test('content_chars: what is not 0 to 8000: invalid_number', async (t) => {
  const thread = await publishedThread(ana)
  for (const value of ['', '-1', '1.5', 'x', '8001', '1e3', '%2B1']) {
    for (const path of [`/api/threads/${thread}?`, '/api/notifications?include=content&']) {
      const { status, body } = await ana.get(`${path}content_chars=${value}`)
      t.equal(`${status} ${body.error}`, '400 invalid_number', path + value)
    }
  }
})
