// What a tool leaves out where its result would be too long, and what it says of it.

import fc from 'fast-check'
import t from 'tap'
import { AgentForum } from '../../../src/client/index.ts'
import { fitted, listings } from '../../../src/clients/mcp/fitting.ts'
import { enclosed } from '../../../src/clients/mcp/untrusted.ts'
import { startForum } from '../../api/harness.ts'
import { connected, stdio } from './connected.ts'

const lengthOf = (page: object) => enclosed(page).join('').length

interface FeedPage {
  notifications: { seq: number; content: string; content_length?: number }[]
  next_after: number
  has_more: boolean
  left_out?: string
}

t.test('mcp: any page, any length: it fits, and its cursor leads to what is left out', async () => {
  const contents = fc.array(fc.string({ minLength: 1, maxLength: 900, size: 'max' }), {
    minLength: 1,
    maxLength: 40,
  })
  const property = fc.property(contents, fc.integer({ min: 1000, max: 40_000 }), (all, max) => {
    const notifications = all.map((content, i) => ({ seq: i + 1, content }))
    const page: FeedPage = { notifications, next_after: all.length, has_more: false }
    const short = fitted(page, listings.feed, max)
    if (lengthOf(page) <= max) {
      if (short !== page) throw new Error('it fits, and is changed')
      return
    }
    if (lengthOf(short) > max) throw new Error(`${lengthOf(short)} characters`)
    if (short.left_out === undefined) throw new Error('it does not say what is left out')
    const { length } = short.notifications
    if (short.next_after !== length) throw new Error(`it goes on after ${short.next_after}`)
    if (short.has_more !== length < all.length) throw new Error('wrong has_more')
    for (const { seq, content, content_length } of short.notifications) {
      const whole = all[seq - 1]!
      if (!whole.startsWith(content)) throw new Error(`another content: ${content}`)
      const cut = content === whole ? undefined : [...whole].length
      if (content_length !== cut) throw new Error(`wrong length: ${content_length}`)
      if (length > 1 && [...content].length < Math.min(200, [...whole].length)) {
        throw new Error('items are left out before contents are cut further')
      }
    }
  })
  fc.assert(property, { numRuns: 50 })
})

t.test('mcp: a thread of 3,500 messages: one call, within max_chars, sums it up', async (t) => {
  const { url } = await startForum(t)
  const ops = new AgentForum({ url })
  await ops.register({ displayName: 'ops', kind: 'persistent' })
  const content = 'The gateway reports 502 for 3 % of the requests to checkout. '.repeat(20)
  const { thread_id } = await ops.createThread({ title: 'Alert: checkout', content })
  const messages = 3_500
  for (let n = 1; n < messages; n += 100) {
    const reply = (_: unknown, i: number) =>
      ops.reply(thread_id, { content: `${n + i}: ${content}` })
    await Promise.all(Array.from({ length: Math.min(100, messages - n) }, reply))
  }
  const agent = await connected(t, stdio, ['--url', url])
  for (const max_chars of [undefined, 4000, 1_000_000]) {
    const given = { thread_id, overview: true, ...(max_chars && { max_chars }) }
    const { texts, body } = await agent.call('read_thread', given)
    const { length } = texts.join('')
    t.comment(`max_chars ${max_chars}: ${length} characters, ${body.messages.length} messages`)
    t.ok(length <= (max_chars ?? 12_000), `${length} characters`)
    const [first, second] = body.messages
    t.ok(content.startsWith(first.content), 'how it began')
    t.equal(body.next_before, second.seq)
    const between = messages - body.messages.length
    t.match(
      body.left_out,
      `${between} messages after the first one left out: last, with before ${second.seq}`,
    )
    const newest = await agent.get('read_thread', { thread_id, last: 1 })
    t.equal(body.messages.at(-1).seq, newest.messages[0].seq, 'how it stands')
  }

  // Read on from where a page was shortened, forwards and backwards.
  const page = await agent.get('read_thread', { thread_id, limit: 100 })
  t.ok(page.messages.length < 100)
  t.match(page, { has_more: true, next_after: page.messages.at(-1).seq })
  t.match(page.left_out, `${100 - page.messages.length} messages of this page left out`)
  const next = await agent.get('read_thread', { thread_id, after: page.next_after })
  const all = (await ops.messages(thread_id, { limit: 100 })).messages.map(({ seq }) => seq)
  const seen = [...page.messages, ...next.messages].map(({ seq }: { seq: number }) => seq)
  t.same(seen, all.slice(0, seen.length))
  const whole = await agent.get('read_thread', { thread_id, after: all[0], limit: 1 })
  t.notOk('left_out' in whole, 'one message is whole')
  const end = await agent.get('read_thread', { thread_id, last: 100 })
  const before = await agent.get('read_thread', { thread_id, last: 1, before: end.next_before })
  t.equal(before.next_after, before.messages[0].seq)
  t.ok(before.messages[0].seq < end.messages[0].seq)
  for (const more of [{ last: 3 }, { type: 'result' }]) {
    t.match(await agent.call('read_thread', { thread_id, overview: true, ...more }), {
      isError: true,
    })
  }
})

t.test('mcp: a feed that is shortened: the next call goes on after what was shown', async (t) => {
  const { url } = await startForum(t)
  const [ana, ben] = [1, 2].map(() => new AgentForum({ url }))
  await ana!.register({ displayName: 'ana' })
  const { token } = await ben!.register({ displayName: 'ben' })
  const { thread_id } = await ana!.createThread({ title: 'a', content: 'first' })
  await ben!.subscribe(thread_id)
  const count = 40
  for (let n = 1; n < count; n++)
    await ana!.reply(thread_id, { content: `${n} ${'x'.repeat(500)}` })
  const agent = await connected(t, stdio, ['--url', url], { AGENT_FORUM_TOKEN: token })
  const seen: string[] = []
  for (let hasMore = true; hasMore; ) {
    const page = await agent.get('check_feed', { max_chars: 5000 })
    t.ok(JSON.stringify(page).length <= 5000)
    seen.push(
      ...page.notifications.map(({ content }: { content: string }) => content.split(' ')[0]),
    )
    hasMore = page.has_more
  }
  t.same(seen, ['first', ...Array.from({ length: count - 1 }, (_, i) => `${i + 1}`)])

  const threads: string[] = []
  for (let n = 0; n < 30; n++)
    await ana!.createThread({ title: `${n} ${'t'.repeat(150)}`, content: 'x' })
  for (let cursor: string | null = null; ; ) {
    const given = { max_chars: 4000, limit: 50, ...(cursor !== null && { cursor }) }
    const page = await agent.get('list_threads', given)
    t.ok(JSON.stringify(page).length <= 4000)
    threads.push(...page.threads.map(({ id }: { id: string }) => id))
    if (page.next_cursor === null) break
    cursor = page.next_cursor
  }
  t.equal(new Set(threads).size, 31)
  t.equal(threads.length, 31)
})
