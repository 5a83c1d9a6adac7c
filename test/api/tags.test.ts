// Tags of threads: docs/interface.md, "Tags".

import t from 'tap'
import { type Answer, type Client, newKey, publishedThread, startForum } from './harness.ts'
import { run } from './process.ts'

const forum = await startForum(t)
const json = { 'content-type': 'application/json' }

const setTags = (by: Client, id: string, tags: unknown) =>
  by.send('PUT', `/api/threads/${id}/tags`, json, JSON.stringify({ tags }))
const idsOf = ({ threads }: Answer['body']) => threads.map(({ id }) => id)
const list = async (by: Client, query: string) => idsOf((await by.get(`/api/threads${query}`)).body)
const both = ['order=created', 'order=activity'] as const

t.test('tags: of a thread: shown wherever it is, and absent when none', async (t) => {
  const ana = await forum.identity()
  const id = await publishedThread(ana, { tags: ['shown', 'a.b_c:d-e', '9'] })
  const other = await publishedThread(ana, { tags: [] })
  t.strictSame((await ana.read(id)).body.thread.tags, ['shown', 'a.b_c:d-e', '9'])
  t.notOk('tags' in (await ana.read(other)).body.thread)
  for (const order of both) {
    const { threads } = (await ana.get(`/api/threads?${order}`)).body
    t.strictSame(threads.find((each) => each.id === id)!.tags, ['shown', 'a.b_c:d-e', '9'], order)
    t.notOk('tags' in threads.find((each) => each.id === other)!)
  }
  t.equal((await ana.get('/api/status')).body.capabilities.tags, true)
})

t.test('tags: that no thread may have: 400, and nothing changes', async (t) => {
  const ana = await forum.identity()
  const id = await publishedThread(ana, { tags: ['kept'] })
  const nine = Array.from({ length: 9 }, (_, i) => `t${i}`)
  const wrong = [['A'], [''], ['_a'], ['a b'], ['é'], ['a'.repeat(41)], ['a', 'a'], nine, 'a', [1]]
  for (const tags of wrong) {
    const what = JSON.stringify(tags)
    t.match(await ana.thread({ tags }), { status: 400, body: { error: 'invalid_field' } }, what)
    t.match(await setTags(ana, id, tags), { status: 400, body: { error: 'invalid_field' } }, what)
  }
  t.match(await setTags(ana, id, undefined), { status: 400 })
  t.strictSame((await ana.read(id)).body.thread.tags, ['kept'])
  t.equal((await ana.thread({ tags: nine.slice(1) })).status, 201)
})

t.test('tags: a key used again: those of the creation count, whatever came later', async (t) => {
  const ana = await forum.identity()
  const headers = { 'idempotency-key': newKey() }
  const { body } = await ana.thread({ tags: ['x', 'y'] }, headers)
  await setTags(ana, body.thread_id, ['z'])
  const statuses: number[] = []
  for (const tags of [['x', 'y'], ['y', 'x'], ['x'], ['z'], []]) {
    statuses.push((await ana.thread({ tags }, headers)).status)
  }
  t.strictSame(statuses, [200, 409, 409, 409, 409])
})

t.test('tags: changed: by the author alone, and at once everywhere', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  const id = await publishedThread(ana, { tags: ['old', 'both'] })
  const secret = await publishedThread(ana, { visibility: 'private', tags: ['old'] })
  t.match(await setTags(ben, id, ['x']), { status: 403, body: { error: 'not_author' } })
  t.match(await setTags(ben, secret, ['x']), { status: 404, body: { error: 'not_found' } })
  t.match(await setTags(forum.anonymous, id, ['x']), { status: 401 })
  const { status, body } = await setTags(ana, id, ['both', 'new'])
  t.strictSame([status, body], [200, { thread_id: id, tags: ['both', 'new'] }])
  t.strictSame((await ben.read(id)).body.thread.tags, ['both', 'new'])
  t.equal((await setTags(ana, secret, ['both', 'new'])).status, 200)
  for (const [tag, found] of [
    ['old', []],
    ['both', [id]],
    ['new', [id]],
  ] as const) {
    t.strictSame(await list(ben, `?tag=${tag}`), found, tag)
  }
  const { position } = (await ana.get('/api/status')).body
  t.equal((await setTags(ana, id, ['both', 'new'])).status, 200)
  t.equal((await ana.get('/api/status')).body.position, position, 'nothing changes: no record')
  t.equal((await setTags(ana, id, [])).status, 200)
  t.notOk('tags' in (await ben.read(id)).body.thread)
  const locked = await run(['admin', 'lock-thread', id, '--data', forum.data])
  t.equal(locked.code, 0, locked.stderr)
  t.match(await setTags(ana, id, ['x']), { status: 403, body: { error: 'thread_locked' } })
})

t.test('tag=: lists in both orders: all tags must be there, in pages', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  const ids: string[] = []
  for (const tags of [['l1'], ['l1', 'l2'], ['l2'], ['l2', 'l1', 'l3'], []]) {
    ids.push(await publishedThread(ana, { tags }))
  }
  const hidden = await publishedThread(ana, { visibility: 'private', tags: ['l1', 'l2'] })
  await ben.reply(ids[0]!)
  t.strictSame(await list(ben, '?tag=l1'), [ids[3], ids[1], ids[0]])
  t.strictSame(await list(ben, '?tag=l1&order=activity'), [ids[0], ids[3], ids[1]])
  t.strictSame(await list(ana, '?tag=l1'), [hidden, ids[3], ids[1], ids[0]])
  t.strictSame(await list(ana, '?order=activity&tag=l1'), [ids[0], hidden, ids[3], ids[1]])
  for (const order of both) {
    t.strictSame(await list(ben, `?tag=l1&tag=l2&${order}`), [ids[3], ids[1]])
    t.strictSame(await list(ben, `?tag=l3&tag=l2&tag=l1&${order}`), [ids[3]])
    t.strictSame(await list(ben, `?tag=l1&tag=unknown&${order}`), [])
    const paged: string[] = []
    for (let query: string | null = `?limit=1&tag=l2&${order}`; query !== null; ) {
      const { body } = await ana.get(`/api/threads${query}`)
      paged.push(...idsOf(body))
      const { next_cursor: next } = body
      query = next === null ? null : `?limit=1&tag=l2&${order}&cursor=${next}`
    }
    t.strictSame(paged, [hidden, ids[3], ids[2], ids[1]], order)
    for (const wrong of ['tag=', 'tag=A', 'tag=a&tag=B', `tag=a${'&tag=a'.repeat(8)}`]) {
      const { status, body } = await ana.get(`/api/threads?${wrong}&${order}`)
      t.strictSame([status, body.error], [400, 'invalid_query'], wrong)
    }
  }
})

t.test('tag=: the feed: only of such threads, as they are tagged now', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  const [one, two] = [await publishedThread(ana, { tags: ['f1'] }), await publishedThread(ana)]
  for (const id of [one, two, one]) await ben.reply(id)
  const mention = { tags: ['f1', 'f2'], mention_ids: [ana.id] }
  const third = await publishedThread(ben, mention)
  const feed = async (query: string) => {
    const { notifications } = (await ana.feed(query)).body
    return notifications.map(({ thread_id }) => thread_id)
  }
  t.strictSame(await feed('?tag=f1'), [one, one, third])
  t.strictSame(await feed('?tag=f1&tag=f2&only=mentions'), [third])
  await setTags(ana, one, [])
  await setTags(ana, two, ['f1'])
  t.strictSame(await feed('?tag=f1'), [two, third])
  t.match(await ana.feed('?tag=F'), { status: 400, body: { error: 'invalid_query' } })
})

interface Tag {
  tag: string
  threads: number
}

t.test('tags in use: counted for each caller, by prefix, in pages', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  const first = await publishedThread(ana, { tags: ['p:a', 'p:b'] })
  await publishedThread(ana, { tags: ['p:b', 'p:c'] })
  const to = { visibility: 'private', participant_ids: [ben.id] }
  await publishedThread(ana, { ...to, tags: ['p:b', 'p:secret'] })
  const read = async (by: Client, query: string) => {
    const { status, body } = await by.get(`/api/tags${query}`)
    t.equal(status, 200)
    return body as unknown as { tags: Tag[]; next_after: string | null; has_more: boolean }
  }
  const counts = async (by: Client) =>
    (await read(by, '?prefix=p:')).tags.map(({ tag, threads }) => `${tag} ${threads}`)
  const open = ['p:a 1', 'p:b 2', 'p:c 1']
  t.strictSame(await counts(forum.anonymous), open)
  t.strictSame(await counts(await forum.identity()), open)
  for (const member of [ana, ben]) {
    t.strictSame(await counts(member), ['p:a 1', 'p:b 3', 'p:c 1', 'p:secret 1'])
  }
  const paged: string[] = []
  for (let after = '', more = true; more && paged.length < 9; ) {
    const page = await read(ben, `?prefix=p:&limit=1&after=${after}`)
    t.equal(page.tags.length, 1, 'a next page that is promised has something')
    paged.push(...page.tags.map(({ tag }) => tag))
    t.equal(page.next_after, page.has_more ? page.tags[0]!.tag : null)
    more = page.has_more
    after = page.next_after ?? ''
  }
  t.strictSame(paged, ['p:a', 'p:b', 'p:c', 'p:secret'])
  await setTags(ana, first, ['p:d'])
  t.strictSame(await counts(forum.anonymous), ['p:b 1', 'p:c 1', 'p:d 1'])
  t.match(await ana.get('/api/tags?limit=101'), { status: 400, body: { error: 'invalid_number' } })
})

t.test('tags: after a restart: as before', async (t) => {
  const ana = await forum.identity()
  const [one, two] = [
    await publishedThread(ana, { tags: ['r1', 'r2'] }),
    await publishedThread(ana),
  ]
  await setTags(ana, one, ['r2', 'r3'])
  await setTags(ana, two, ['r3'])
  const queries = [
    '/api/threads?tag=r3',
    '/api/threads?tag=r3&order=activity',
    '/api/tags?prefix=r',
  ]
  const answers = () => Promise.all(queries.map(async (path) => (await ana.get(path)).text))
  const before = await answers()
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    await forum.stop(signal)
    await forum.start()
    t.strictSame(await answers(), before, signal)
  }
  await setTags(ana, one, [])
  t.strictSame(await list(ana, '?tag=r3'), [two])
})
