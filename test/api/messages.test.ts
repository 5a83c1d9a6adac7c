// GET /api/threads/{threadId} and POST …/replies: pages of messages. docs/interface.md,
// "Cursors".

import t from 'tap'
import { type Client, type Message, newKey, publishedThread, startForum } from './harness.ts'

const forum = await startForum(t)
const ana = await forum.identity({ display_name: 'ana' })
const ben = await forum.identity({ display_name: 'ben' })
const absent = `thr_${'0'.repeat(32)}`

/** Publishes a thread of 120 messages, mixed with other threads' messages: its seqs have gaps. */
async function longThread(): Promise<string> {
  const id = await publishedThread(ana, { content: 'message 0' })
  const other = await publishedThread(ben)
  for (let i = 1; i < 120; i++) {
    await (i % 2 === 0 ? ana : ben).reply(id, `message ${i}`)
    if (i % 10 === 0) await ana.reply(other)
  }
  return id
}

const id = await longThread()
const first = (await ana.read(id, '?limit=100')).body
const second = (await ana.read(id, `?after=${first.next_after}`)).body
const all: Message[] = [...first.messages, ...second.messages]

t.test('messages: a long thread: two pages, in the order of publishing', async (t) => {
  t.strictSame([first.messages.length, first.has_more], [100, true])
  t.strictSame([second.messages.length, second.has_more], [20, false])
  t.strictSame(
    all.map(({ content }) => content),
    Array.from({ length: 120 }, (_, i) => `message ${i}`),
  )
  t.equal(first.thread.message_count, 120)
  t.equal(new Set(all.map((message) => message.id)).size, 120)
})

t.test('messages: no limit: fifty from the start', async (t) => {
  const { body } = await ana.read(id)
  t.strictSame(body.messages, all.slice(0, 50))
  t.strictSame([body.next_after, body.has_more], [all[49].seq, true])
})

t.test('messages: pages of any size: together the complete thread', async (t) => {
  for (const limit of [1, 7, 60, 100]) t.strictSame(await walk(ana, limit), all)
})

async function walk(caller: Client, limit: number): Promise<Message[]> {
  const found: Message[] = []
  for (let after = 0, more = true; more; ) {
    const { body } = await caller.read(id, `?after=${after}&limit=${limit}`)
    found.push(...body.messages)
    after = body.next_after
    more = body.has_more
  }
  return found
}

t.test('messages: before: backwards, in pages of any size: the complete thread', async (t) => {
  for (const limit of [1, 7, 60, 100]) {
    const found: Message[] = []
    for (let before: number | string | null = 'end'; before !== null; ) {
      const { body } = await ana.read(id, `?before=${before}&limit=${limit}`)
      t.strictSame(Object.keys(body), [
        ...['thread', 'messages', 'next_after', 'has_more', 'next_before'],
        'content_is_untrusted',
      ])
      t.equal(body.next_after, body.messages.at(-1)?.seq)
      t.equal(body.has_more, body.next_before !== null)
      found.unshift(...body.messages)
      before = body.next_before
    }
    t.strictSame(found, all)
  }
})

t.test('messages: before: the newest; and at or before the first message: none', async (t) => {
  const { body } = await ana.read(id, '?before=end')
  t.strictSame(body.messages, all.slice(-50))
  t.strictSame((await ana.read(id, '?before=9007199254740991')).body, body)
  for (const before of [0, all[0].seq]) {
    const none = (await ana.read(id, `?before=${before}`)).body
    t.match(none, { messages: [], next_after: 0, next_before: null, has_more: false })
  }
  t.equal((await ana.read(absent, '?before=end')).status, 404)
})

t.test('messages: before: what is no position, or beside after or wait: refused', async (t) => {
  for (const before of ['', 'End', 'endx', '-1', '1.5', '9007199254740992']) {
    const { status, body } = await ana.read(id, `?before=${before}`)
    t.equal(`${status} ${body.error}`, '400 invalid_number', before)
  }
  for (const other of ['after=0', 'after=5', 'wait=0', 'wait=5', 'after=0&wait=1', 'after=x']) {
    for (const query of [`before=end&${other}`, `${other}&before=3`]) {
      const { status, body } = await ana.read(id, `?${query}`)
      t.equal(`${status} ${body.error}`, '400 invalid_query', query)
    }
  }
})

t.test('reply: published: the complete answer', async (t) => {
  const { status, body } = await ben.reply(await publishedThread(ana))
  t.equal(status, 201)
  t.match(body, {
    thread_id: /^thr_[a-f0-9]{32}$/,
    message_id: /^msg_[a-f0-9]{32}$/,
    author_id: ben.id,
    read_url: `/api/threads/${body.thread_id}`,
    published: true,
    replayed: false,
    follow_up: { optional: true },
  })
})

t.test('reply: invalid content: invalid_field, the thread is unchanged', async (t) => {
  const own = await publishedThread(ana)
  const path = `/api/threads/${own}/replies`
  for (const content of [undefined, null, 1, [], {}, '', ' \n', 'x'.repeat(8001)]) {
    const { status, body } = await ben.post(path, { content }, { 'idempotency-key': newKey() })
    t.equal(`${status} ${body.error}`, '400 invalid_field')
  }
  for (const content of ['x'.repeat(8000), '😀'.repeat(8000)]) {
    t.equal((await ben.reply(own, content)).status, 201)
  }
  t.equal((await ana.read(own)).body.thread.message_count, 3)
})

t.test('thread id: percent-encoded: the same thread (RFC 3986, 6.2.2.2)', async (t) => {
  const { status, text } = await ana.read(`%74hr_${id.slice(4)}`)
  t.equal(status, 200)
  t.equal(text, (await ana.read(id)).text)
})

t.test('thread id: absent: not_found; of the wrong shape: invalid_id', async (t) => {
  const hex = id.slice(4)
  const calls = (thread: string) => [ana.read(thread), ana.reply(thread), ana.subscribe(thread)]
  for (const { status, body } of await Promise.all(calls(absent))) {
    t.equal(`${status} ${body.error}`, '404 not_found')
  }
  const wrong = [
    'x',
    hex,
    `msg_${hex}`,
    `thr_${hex.slice(1)}`,
    `thr_${hex}0`,
    `thr_${hex.toUpperCase().replace(/^./, 'F')}`,
    `thr_${hex.slice(1)}g`,
    `thr_${hex}%0a`,
    `%2574hr_${hex}`,
    '%20',
  ]
  for (const thread of wrong) {
    for (const { status, body } of await Promise.all([...calls(thread), ana.unsubscribe(thread)])) {
      t.equal(`${status} ${body.error}`, '400 invalid_id', thread)
    }
  }
})
