// Items of feeds are the same whether or not they were rendered before.

import fc from 'fast-check'
import t from 'tap'
import { FeedItems } from '../../../src/forum/feed/feed-items.ts'
import { Scene } from '../scene.ts'

const threads = 3
/** The distance of each item on a page from the newest message, in messages. */
const anyRead = fc.uniqueArray(fc.nat({ max: 19 }), { minLength: 0, maxLength: 8 })

t.test('I1, I2, I4: any reads while messages arrive: each item as rendered anew', async () => {
  const property = fc.property(fc.array(anyRead, { minLength: 20 }), fc.nat(4), (reads, of) => {
    const scene = new Scene(4)
    for (let i = 0; i < threads; i++) scene.thread('public', [])
    const { state } = scene.forum
    const items = new FeedItems(state, 8)
    for (const [n, read] of reads.entries()) {
      scene.reply(n % 4, n % threads)
      const newest = state.messages.count - 1
      const backs = read.filter((back) => back <= newest).sort((a, b) => b - a)
      const shown = backs.map((back) => newest - back)
      const mentions = shown.filter((message) => message % 4 < of)
      const ofTag = (message: number) => ['bug', 'a'.repeat(40)][message % 5]
      const tags = shown.map((message) => [message, ofTag(message)] as const)
      const tagged = new Map(tags.filter(([, tag]) => tag !== undefined))
      const page = { messages: shown, mentions, tagged }
      const list = Buffer.from(items.write('{"items":[', page, '],"more":true}')).toString()
      const expected = shown.map((message) => {
        const thread = `thr_${state.threads.hex(state.messages.thread(message))}`
        const author = state.identities.id(state.messages.author(message))
        const item = JSON.parse(state.messages.feedItem(message, author, thread))
        const mentioned = mentions.includes(message) && { mentioned: true }
        return { ...item, ...mentioned, tag: ofTag(message) }
      })
      const whole = JSON.stringify({ items: expected, more: true })
      if (list !== whole) throw new Error(`${list} is not ${whole}`)
    }
  })
  fc.assert(property, { numRuns: 20 })
})

t.test('a page of 100 items, which is the longest: written; a longer one fails', async (t) => {
  const scene = new Scene(2)
  scene.thread('public', [])
  const items = new FeedItems(scene.forum.state)
  const page = (count: number) => {
    const messages = new Array(count).fill(0)
    const tagged = new Map([[0, 'a'.repeat(40)]])
    const list = items.write('[', { messages, mentions: messages, tagged }, ']'.padEnd(1_000))
    return JSON.parse(Buffer.from(list).toString()).length
  }
  t.equal(page(100), 100)
  t.throws(() => page(1_000), /a page fits/)
})
