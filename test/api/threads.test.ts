// POST /api/threads, and the visibility of threads: docs/interface.md, "Threads and messages".

import t from 'tap'
import { type Client, publishedThread, startForum } from './harness.ts'

const forum = await startForum(t)
const { anonymous } = forum
const ana = await forum.identity({ display_name: 'ana' })
const ben = await forum.identity({ display_name: 'ben', kind: 'persistent' })
const eve = await forum.identity({ display_name: 'eve' })

t.test('thread: title and content: published, everyone reads the same', async (t) => {
  const before = Date.now()
  const { status, body } = await ana.thread({ title: 'hello', content: 'world' })
  t.equal(status, 201)
  t.match(body, {
    thread_id: /^thr_[a-f0-9]{32}$/,
    message_id: /^msg_[a-f0-9]{32}$/,
    author_id: ana.id,
    read_url: `/api/threads/${body.thread_id}`,
    published: true,
    replayed: false,
    follow_up: { optional: true, poll_after_seconds: 60 },
  })
  t.ok(body.created_at >= before && body.created_at <= Date.now())

  const read = await anonymous.get(body.read_url)
  t.equal(read.status, 200)
  t.match(read.body, { next_after: read.body.messages[0].seq, has_more: false })
  t.match(JSON.parse(read.text).content_is_untrusted, true)
  t.strictSame(read.body.thread, {
    id: body.thread_id,
    author_id: ana.id,
    title: 'hello',
    visibility: 'public',
    created_at: body.created_at,
    display_name: 'ana',
    message_count: 1,
  })
  t.strictSame(read.body.messages, [
    {
      seq: read.body.next_after,
      id: body.message_id,
      author_id: ana.id,
      display_name: 'ana',
      kind: 'guest',
      content: 'world',
      created_at: body.created_at,
    },
  ])
  t.equal((await ben.get(body.read_url)).text, read.text)
})

t.test('thread: by a persistent identity: its kind is shown', async (t) => {
  const { body } = await ben.read(await publishedThread(ben))
  t.match(body, { thread: { display_name: 'ben' }, messages: [{ kind: 'persistent' }] })
})

t.test('thread: ids and unknown fields in the body: ignored', async (t) => {
  const { status, body } = await ana.thread({
    id: 'thr_1',
    seq: 4,
    author_id: ben.id,
    x: { y: [] },
  })
  t.equal(status, 201)
  t.equal(body.author_id, ana.id)
})

const emoji = '😀'
const texts: [string, string, string, number][] = [
  ['title', 'one character', 'x', 201],
  ['title', '160 characters', 'x'.repeat(160), 201],
  ['title', '161 characters', 'x'.repeat(161), 400],
  ['title', '160 emoji', emoji.repeat(160), 201],
  ['title', '161 emoji', emoji.repeat(161), 400],
  ['title', '160 control characters', '\u0007'.repeat(160), 201],
  ['title', 'no character', '', 400],
  ['title', 'white space', ' \n\t\u2028\ufeff', 400],
  ['content', 'one character', 'x', 201],
  ['content', '8000 characters', 'x'.repeat(8000), 201],
  ['content', '8001 characters', 'x'.repeat(8001), 400],
  ['content', '8000 emoji', emoji.repeat(8000), 201],
  ['content', '8001 emoji', emoji.repeat(8001), 400],
  ['content', 'no character', '', 400],
  ['content', 'white space', '\r\n \u00a0\u2003', 400],
]
for (const [field, what, text, expected] of texts) {
  t.test(`thread: ${field} of ${what}: ${expected}`, async (t) => {
    const { status, body } = await ana.thread({ [field]: text })
    t.equal(status, expected)
    if (expected === 400) t.equal(body.error, 'invalid_field')
  })
}

t.test('thread: title or content missing or not a string: invalid_field', async (t) => {
  for (const wrong of [undefined, null, 7, ['x'], { x: 1 }, false]) {
    for (const field of ['title', 'content']) {
      const { status, body } = await ana.thread({ [field]: wrong })
      t.equal(`${status} ${body.error}`, '400 invalid_field', `${field} ${JSON.stringify(wrong)}`)
    }
  }
})

t.test('thread: visibility that is neither public nor private: invalid_visibility', async (t) => {
  for (const visibility of ['secret', 'Public', '', null, 1, ['public']]) {
    const { status, body } = await ana.thread({ visibility })
    t.equal(`${status} ${body.error}`, '400 invalid_visibility', JSON.stringify(visibility))
  }
})

t.test('thread: visibility with another value: the message lists the values', async (t) => {
  const { body } = await ana.thread({ visibility: 'secret' })
  t.equal(body.message, 'visibility must be public or private.')
})

t.test('participants: ten, the author among them: published', async (t) => {
  const others = await Promise.all(Array.from({ length: 9 }, () => forum.identity()))
  const participant_ids = [ana.id, ...others.map(({ id }) => id)]
  for (const visibility of ['public', 'private']) {
    t.equal((await ana.thread({ visibility, participant_ids })).status, 201)
  }
  const eleven = [...participant_ids, ben.id]
  t.equal((await ana.thread({ participant_ids: eleven })).body.error, 'invalid_members')
})

const wrongParticipants: [string, unknown][] = [
  ['an unknown one', [`agt_${'0'.repeat(32)}`]],
  ['a malformed one', ['ana']],
  ['an empty one', ['']],
  ['one in upper case', [ben.id.toUpperCase()]],
  ['the id of a thread', [`thr_${ben.id.slice(4)}`]],
  ['one that is not a string', [7]],
  ['null', null],
  ['a string', ben.id],
  ['an object', { 0: ben.id }],
  ['the same one twice', [ben.id, ben.id]],
  ['the author twice', [ana.id, ana.id]],
  ['one that is right and one that is not', [ben.id, 'agt_x']],
]
for (const [what, participant_ids] of wrongParticipants) {
  t.test(`participants: ${what}: invalid_members, and nothing is published`, async (t) => {
    for (const visibility of ['public', 'private']) {
      const { status, body } = await ana.thread({ title: 'no such', visibility, participant_ids })
      t.equal(`${status} ${body.error}`, '400 invalid_members')
    }
    const { body } = await ana.get('/api/threads?limit=50')
    t.notOk(body.threads.some(({ title }) => title === 'no such'))
  })
}

t.test('participants: of a public thread: subscribed, and nothing else', async (t) => {
  const id = await publishedThread(ana, { participant_ids: [ben.id] })
  t.ok((await ben.feed('?limit=100')).body.notifications.some(({ thread_id }) => thread_id === id))
  t.equal((await eve.read(id)).status, 200)
  t.equal((await eve.reply(id)).status, 201)
})

/** Resolves to the answers to every request for a thread that the caller may not see. */
async function refusals(caller: Client, id: string): Promise<string[]> {
  const answers = [
    await caller.read(id),
    await caller.reply(id),
    await caller.subscribe(id),
    await caller.unsubscribe(id),
  ]
  return answers.map(({ status, text }) => `${status} ${text.replace(id, 'ID')}`)
}

t.test('private thread: for strangers and without a token: like an absent one', async (t) => {
  const id = await publishedThread(ana, { visibility: 'private', participant_ids: [ben.id] })
  const absent = `thr_${'0'.repeat(32)}`
  const expected: [Client, string[]][] = [
    [eve, ['404', '404', '404', '200']],
    [anonymous, ['404', '401', '401', '401']],
  ]
  for (const [stranger, statuses] of expected) {
    const seen = await refusals(stranger, id)
    t.strictSame(seen, await refusals(stranger, absent))
    t.strictSame(
      seen.map((text) => text.slice(0, 3)),
      statuses,
    )
    const { body } = await stranger.get('/api/threads?limit=50')
    t.notOk(body.threads.some((thread) => thread.id === id))
  }
  t.equal((await ana.read(id)).body.thread.message_count, 1)
})

t.test('private thread: author and participants: list, read, reply, subscribe', async (t) => {
  const id = await publishedThread(ana, { visibility: 'private', participant_ids: [ben.id] })
  for (const member of [ana, ben]) {
    const { body } = await member.get('/api/threads?limit=1')
    t.match(body.threads, [{ id, visibility: 'private' }])
    t.equal((await member.reply(id)).status, 201)
    t.equal((await member.subscribe(id)).body.subscribed, true)
  }
  const read = await ben.read(id)
  t.equal(read.body.thread.message_count, 3)
  t.equal(read.text, (await ana.read(id)).text)
})

t.test('private thread: a participant that unsubscribed: still reads and replies', async (t) => {
  const id = await publishedThread(ana, { visibility: 'private', participant_ids: [ben.id] })
  t.equal((await ben.unsubscribe(id)).status, 200)
  t.equal((await ben.read(id)).status, 200)
  t.equal((await ben.reply(id)).status, 201)
})

t.test('private thread: no participants: visible only to its author', async (t) => {
  for (const participant_ids of [undefined, [], [eve.id]]) {
    const id = await publishedThread(eve, { visibility: 'private', participant_ids })
    t.equal((await eve.read(id)).status, 200)
    t.equal((await ana.read(id)).status, 404)
  }
})
