// GET /api/threads: order, pages and cursors. docs/interface.md, "Cursors" and "Unknown fields and
// parameters".

import t from 'tap'
import type { ListedThread } from '../../src/client/types.ts'
import { type Client, publishedThread, startForum } from './harness.ts'

const forum = await startForum(t)
const ana = await forum.identity({ display_name: 'ana' })
const ben = await forum.identity({ display_name: 'ben' })

/** Resolves to the ids on all pages, and the number of threads on each page. */
async function walk(
  caller: Client,
  limit: number,
  between?: () => Promise<unknown>,
  order = 'created',
) {
  const ids: string[] = []
  const sizes: number[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const { body } = await caller.get(`/api/threads?limit=${limit}&order=${order}${after}`)
    ids.push(...body.threads.map(({ id }) => id))
    sizes.push(body.threads.length)
    cursor = body.next_cursor
    await between?.()
  }
  return { ids, sizes }
}

/** Creates public and private threads alternately, and returns them newest first. */
async function mixed(author: Client, participant: Client, count: number) {
  const all: { id: string; visibility: string }[] = []
  for (let i = 0; i < count; i++) {
    const visibility = i % 3 === 1 ? 'private' : 'public'
    const fields = { title: `thread ${i}`, visibility, participant_ids: [participant.id] }
    all.unshift({ id: await publishedThread(author, fields), visibility })
  }
  return all
}

const all = await mixed(ana, ben, 60)
const publicIds = all.filter(({ visibility }) => visibility === 'public').map(({ id }) => id)

t.test('list: anonymous and strangers: the public threads, newest first', async (t) => {
  const eve = await forum.identity()
  for (const caller of [forum.anonymous, eve]) {
    t.strictSame((await walk(caller, 50)).ids, publicIds)
  }
})

t.test('list: no limit: twenty; an entry equals the thread as it is read', async (t) => {
  const { body } = await ana.get('/api/threads')
  t.equal(body.threads.length, 20)
  t.strictSame(body.threads[0], (await ana.read(all[0].id)).body.thread)
})

t.test('list: new threads arrive between pages: none repeated, none left out', async (t) => {
  const carl = await forum.identity()
  const before = (await walk(forum.anonymous, 50)).ids
  const arrive = () => Promise.all([carl.thread(), carl.thread({ visibility: 'private' })])
  t.strictSame((await walk(forum.anonymous, 9, arrive)).ids, before)
})

t.test('list: order=activity: by the newest message, each caller its own threads', async (t) => {
  const before = (await walk(ben, 50)).ids
  t.strictSame((await walk(ben, 50, undefined, 'activity')).ids, before, 'without replies')
  const [moved, hidden] = [
    publicIds[20],
    all.find(({ visibility }) => visibility === 'private')!.id,
  ]
  await ben.reply(moved)
  await ben.reply(hidden)
  const rest = before.filter((id) => id !== moved && id !== hidden)
  for (const limit of [1, 7, 50]) {
    t.strictSame((await walk(ben, limit, undefined, 'activity')).ids, [hidden, moved, ...rest])
  }
  const others = (await walk(forum.anonymous, 50)).ids.filter((id) => id !== moved)
  t.strictSame((await walk(forum.anonymous, 7, undefined, 'activity')).ids, [moved, ...others])
  t.strictSame((await walk(ben, 50)).ids, before, 'the list by creation is as it was')
  const { body } = await ben.get('/api/threads?order=activity&limit=1')
  t.strictSame(Object.keys(body), ['threads', 'next_cursor', 'content_is_untrusted'])
})

const texts = [
  'short',
  '"quotes", \\ and \u0000\n',
  '\u0001'.repeat(300),
  '\\"'.repeat(200),
  '🦊é€'.repeat(100),
  `${'x'.repeat(239)}🦊 more`,
]
for (const content of texts) {
  t.test(`list: include=excerpt: ${JSON.stringify(content.slice(0, 20))}`, async (t) => {
    const eve = await forum.identity({ display_name: 'é "quoted", 🦊' })
    const id = await publishedThread(eve)
    await ana.reply(id, content)
    const byActivity = '/api/threads?order=activity&limit=1'
    const [thread] = (await ana.get(`${byActivity}&include=excerpt`)).body.threads as ListedThread[]
    const { messages, thread: read } = (await ana.read(id)).body
    const { seq, author_id, display_name, created_at } = messages.at(-1)!
    const newest = { seq, author_id, display_name, created_at }
    const excerpt = [...content].slice(0, 240).join('')
    t.strictSame(thread, { ...read, newest: { ...newest, excerpt } })
    t.strictSame((await ana.get(byActivity)).body.threads, [{ ...read, newest }])
    await eve.reply(id, 'by another')
    const [later] = (await ana.get(byActivity)).body.threads as ListedThread[]
    t.match(later.newest, { author_id: eve.id, display_name: 'é "quoted", 🦊' })
  })
}

t.test('list: include: another value, or the order by creation: refused', async (t) => {
  for (const query of ['order=activity&include=content', 'include=excerpt', 'include=']) {
    const { status, body } = await ana.get(`/api/threads?${query}`)
    t.equal(`${status} ${body.error}`, '400 invalid_query', query)
  }
  t.match((await ana.get('/api/threads?include=excerpt')).body.message, 'order=activity')
})

t.test('list: order=activity: a thread moves between pages: it is not shown again', async (t) => {
  const before = (await walk(forum.anonymous, 50, undefined, 'activity')).ids
  const last = before.at(-1)!
  const move = async () => void (await ana.reply(last))
  const { ids } = await walk(forum.anonymous, 9, move, 'activity')
  t.strictSame(ids, before.slice(0, -1), 'it went to the front, behind the reader')
  t.equal((await walk(forum.anonymous, 9, undefined, 'activity')).ids[0], last)
})

t.test('list: another order, and a cursor of the other one: refused', async (t) => {
  for (const order of ['', 'newest', 'Activity', 'created,activity']) {
    const { status, body } = await ana.get(`/api/threads?order=${order}`)
    t.equal(`${status} ${body.error}`, '400 invalid_query', order)
  }
  const cursor = async (order: string) =>
    (await ana.get(`/api/threads?limit=3&order=${order}`)).body.next_cursor
  for (const [one, other] of [
    ['created', 'activity'],
    ['activity', 'created'],
  ]) {
    const { status, body } = await ana.get(
      `/api/threads?order=${one}&cursor=${await cursor(other)}`,
    )
    t.equal(`${status} ${body.error}`, '400 invalid_cursor')
  }
})

t.test("list: another caller's cursor: shows only what the caller may see", async (t) => {
  const { body } = await ana.get('/api/threads?limit=1')
  const { threads } = (await forum.anonymous.get(`/api/threads?cursor=${body.next_cursor}`)).body
  t.ok(threads.every(({ visibility }) => visibility === 'public'))
})

t.test('list: a cursor that was never issued: invalid_cursor', async (t) => {
  const { next_cursor } = (await ana.get('/api/threads?limit=3')).body
  const wrong = [
    '',
    'x',
    '0',
    '-1',
    'null',
    '%00',
    `${next_cursor}!`,
    `${next_cursor}=`,
    next_cursor!.slice(1),
    next_cursor!.toUpperCase(),
    Buffer.from('t1.-5').toString('base64url'),
    Buffer.from('t1.1e3').toString('base64url'),
    Buffer.from('t1.0').toString('base64url'),
    Buffer.from('t1.99999999999999999999').toString('base64url'),
    'x'.repeat(2000),
  ]
  for (const cursor of wrong) {
    const { status, body } = await ana.get(`/api/threads?cursor=${cursor}`)
    t.equal(`${status} ${body.error}`, '400 invalid_cursor', cursor)
  }
})

t.test('list: a parameter of the search: refused, and told where to search', async (t) => {
  for (const query of ['q=word', 'limit=2&query=a%20word', 'search=', '%71=x']) {
    const { status, body } = await ana.get(`/api/threads?${query}`)
    t.equal(`${status} ${body.error}`, '400 invalid_query', query)
    t.match(body.message, 'GET /api/search?q=')
  }
  t.equal((await ana.get('/api/threads?quiz=1&limit=1&other=q')).status, 200, 'others are ignored')
})

const wrongNumbers = [
  '',
  '-1',
  '+1',
  '1.5',
  '1.0',
  '1e2',
  '0x1',
  ' 1',
  '%201',
  '1%20',
  'one',
  'NaN',
]
const largeNumbers = ['9007199254740992', '99999999999999999999999', '1'.repeat(400)]
const pages: [string, string, number][] = [
  ['the list', '/api/threads', 50],
  ['a thread', `/api/threads/${all[0].id}`, 100],
  ['the feed', '/api/notifications', 100],
]
for (const [what, path, max] of pages) {
  t.test(`query: limit of ${what}: 1 to ${max}, all else invalid_number`, async (t) => {
    for (const limit of ['1', '01', '%31', `${max}`]) {
      t.equal((await ana.get(`${path}?limit=${limit}`)).status, 200, limit)
    }
    for (const limit of ['0', '00', `${max + 1}`, ...wrongNumbers, ...largeNumbers]) {
      const { status, body } = await ana.get(`${path}?limit=${limit}`)
      t.equal(`${status} ${body.error}`, '400 invalid_number', limit)
    }
    const { status } = await ana.get(`${path}?limit`)
    t.equal(status, 400)
  })
}

for (const [what, path] of pages.slice(1)) {
  t.test(`query: after of ${what}: 0 to 2^53 - 1, all else invalid_number`, async (t) => {
    for (const after of ['0', '9007199254740991']) {
      const { status, body } = await ana.get(`${path}?after=${after}`)
      t.equal(status, 200)
      if (after !== '0') t.equal(body.next_after, Number(after), 'an empty page keeps the cursor')
    }
    for (const after of [...wrongNumbers, ...largeNumbers]) {
      const { status, body } = await ana.get(`${path}?after=${after}`)
      t.equal(`${status} ${body.error}`, '400 invalid_number', after)
    }
  })
}

t.test('query: unknown parameters: ignored', async (t) => {
  for (const [, path] of pages) {
    const page = await ana.get(`${path}?limit=2&x=1&limitx=0&__proto__=1&=&&a=b=c&%zz=%zz`)
    t.equal(page.status, 200)
    t.equal(page.text, (await ana.get(`${path}?limit=2`)).text)
  }
})

t.test('list: a second forum, no thread yet: empty, and knows no token of the first', async (t) => {
  const other = await startForum(t)
  t.strictSame(JSON.parse((await other.anonymous.get('/api/threads')).text), {
    threads: [],
    next_cursor: null,
    content_is_untrusted: true,
  })
  const { status, body } = await other.anonymous.get('/api/threads', {
    authorization: `Bearer ${ana.token}`,
  })
  t.equal(`${status} ${body.error}`, '401 invalid_token')
})
