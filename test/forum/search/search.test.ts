// GET /api/search over HTTP: which messages are found, by whom, in which pages, and which requests
// are refused.

import { existsSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { type Client, publishedThread } from '../../api/harness.ts'
import { run } from '../../api/process.ts'
import { chosenSeed, sizeOf } from '../../depth.ts'
import { until } from '../../until.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { find, findAll, indexed, searchedForum } from './forum.ts'
import { type Message, naiveSearch, randomText, typeable } from './index-model.ts'

/** The forum of the tests that neither stop it nor search for what others publish. */
const forum = await searchedForum(t)

t.test('search: texts of all kinds: are found by their words', async (t) => {
  const [ana, bob] = [await forum.identity({ display_name: 'ana "x"' }), await forum.identity()]
  const code = 'TypeError: x is not a function at foo_bar (a.b.c:12), see https://e42.example/?q=1'
  const thread = await publishedThread(ana, { title: 'Crème brûlée', content: code })
  const japanese = '機械学習の検索エンジン 👍🏽 "quoted" OR NEAR(x) * - ^ 한국어를'
  await bob.reply(thread, japanese)
  await indexed(forum)
  const { anonymous } = forum

  const found: Record<string, string[]> = {
    creme: [code],
    'CRÈME e42': [code],
    '"x is not"': [code],
    '"x not is"': [],
    foo_bar: [code],
    '"b a"': [],
    'a.b.c': [code],
    [thread]: [code],
    学習: [japanese],
    検索エンジン: [japanese],
    機: [japanese],
    한국어: [japanese],
    '👍': [japanese],
    '"OR NEAR"': [japanese],
    'x -typeerror': [japanese],
    'x -"is not"': [japanese],
    x: [japanese, code],
    '" x': [japanese, code],
    'typ*': [],
    nothing: [],
  }
  for (const [q, contents] of Object.entries(found)) {
    t.same(await findAll(anonymous, q), contents, q)
  }
  const { results, ...page } = await find(anonymous, 'creme')
  const message = (await ana.messages(thread))[0]!
  t.same(results, [
    {
      seq: message.seq,
      message_id: message.id,
      thread_id: thread,
      title: 'Crème brûlée',
      author_id: ana.id,
      display_name: 'ana "x"',
      created_at: message.created_at,
      excerpt: code,
    },
  ])
  const { indexed_through } = page
  t.same(page, { next_before: null, has_more: false, indexed_through, content_is_untrusted: true })
})

t.test('search: what is narrowed, and in pages: is complete and in order', async (t) => {
  const [ana, bob] = [await forum.identity(), await forum.identity()]
  const thread = await publishedThread(ana, { content: 'word 0' })
  const other = await publishedThread(bob, { content: 'word of another thread' })
  for (let i = 1; i < 12; i++) await (i % 3 === 0 ? bob : ana).reply(thread, `word ${i}`)
  await indexed(forum)
  const { anonymous } = forum
  const all = ['word of another thread', ...Array.from({ length: 12 }, (_, i) => `word ${i}`)]
  const newestFirst = [...all.slice(2).reverse(), all[0], all[1]]
  t.same(await findAll(anonymous, 'word', 'limit=5'), newestFirst)
  t.same(await findAll(anonymous, null, `thread_id=${other}`), ['word of another thread'])
  const bobs = ['word 9', 'word 6', 'word 3', 'word of another thread']
  t.same(await findAll(anonymous, null, `author_id=${bob.id}&limit=1`), bobs)
  t.same(await findAll(anonymous, '-6 word', `author_id=${bob.id}&thread_id=${thread}`), [
    'word 9',
    'word 3',
  ])
  const page = await find(anonymous, 'word', 'limit=5')
  t.equal(page.results.length, 5)
  t.equal(page.next_before, page.results[4]!.seq)
  t.same((await find(anonymous, 'word', 'before=0')).results, [])
  t.equal((await find(anonymous, 'word', 'limit=13')).has_more, false)
  t.equal((await find(anonymous, 'word', 'limit=12')).has_more, true)
  t.same((await find(anonymous, null, `author_id=agt_${'0'.repeat(32)}`)).results, [])

  const long = `long ${'text '.repeat(1590)}`
  await Promise.all(Array.from({ length: 30 }, () => ana.reply(other, long)))
  await indexed(forum)
  const short = await find(anonymous, 'long', 'limit=100&include=content')
  t.ok(short.results.length < 30, 'a page ends early')
  t.equal(short.has_more, true)
  t.equal((await findAll(anonymous, 'long', 'limit=100')).length, 30)
})

t.test('search: a type: only messages of it, also after others of similar names', async (t) => {
  const ana = await forum.identity()
  const thread = await publishedThread(ana, { content: 'word 0', type: 'bug-report' })
  const types = ['bug', 'report', undefined, 'bug-report', 'bug-report-2']
  for (const [i, type] of types.entries()) {
    const key = { 'idempotency-key': `key-of-type-${i}` }
    const body = { content: `word ${i + 1}`, type }
    await ana.post(`/api/threads/${thread}/replies`, body, key)
  }
  await indexed(forum)
  const { anonymous } = forum
  t.same(await findAll(anonymous, 'word', 'type=bug-report'), ['word 4', 'word 0'])
  t.same(await findAll(anonymous, null, 'type=bug-report&limit=1'), ['word 4', 'word 0'])
  t.same(await findAll(anonymous, 'word', 'type=report'), ['word 2'])
  t.same(await findAll(anonymous, 'word -0', 'type=bug-report'), ['word 4'])
  t.same(await findAll(anonymous, 'word', 'type=unknown'), [])
  t.same(await findAll(anonymous, 'report'), [], 'a type is not a word')
  const { results } = await find(anonymous, 'word', 'type=bug')
  t.match(results, [{ type: 'bug' }])
  t.notOk('type' in (await find(anonymous, '"word 3"')).results[0]!)
  t.match(await anonymous.get('/api/search?type=Bug'), { status: 400 })
})

t.test('search: content_chars: contents are cut, excerpts are not', async (t) => {
  const ana = await forum.identity()
  const thread = await publishedThread(ana, { content: 'a fox 🦊 again' })
  await ana.reply(thread, 'fox')
  await indexed(forum)
  const { anonymous } = forum
  const whole = await find(anonymous, 'fox', 'include=content')
  const [short, first] = whole.results
  const mark = { content_truncated: true, content_length: 13 } as const
  for (const [max, content] of [
    [7, 'a fox 🦊'],
    [6, 'a fox '],
    [3, 'a f'],
  ] as const) {
    const results = [short!, { ...first!, content, ...mark }]
    const query = `include=content&content_chars=${max}`
    t.strictSame(await find(anonymous, 'fox', query), { ...whole, results })
  }
  t.strictSame(await find(anonymous, 'fox', 'include=content&content_chars=13'), whole)
  const plain = await find(anonymous, 'fox')
  t.strictSame(await find(anonymous, 'fox', 'content_chars=0'), plain, 'nothing to cut')
})

t.test('search: tags: only in threads that have all of them now', async (t) => {
  const ana = await forum.identity()
  const one = await publishedThread(ana, { content: 'word 0', tags: ['a', 'b'] })
  const two = await publishedThread(ana, { content: 'word 1', tags: ['a'] })
  for (const [i, thread] of [two, one, two].entries()) await ana.reply(thread, `word ${i + 2}`)
  await indexed(forum)
  const { anonymous } = forum
  t.same(await findAll(anonymous, 'word', 'tag=b'), ['word 3', 'word 0'])
  t.same(await findAll(anonymous, 'word', 'tag=a&tag=b&limit=1'), ['word 3', 'word 0'])
  t.equal((await findAll(anonymous, 'word', 'tag=a')).length, 5)
  t.same(await findAll(anonymous, 'word', 'tag=unknown'), [])
  const json = { 'content-type': 'application/json' }
  await ana.send('PUT', `/api/threads/${two}/tags`, json, '{"tags":["b"]}')
  t.same(await findAll(anonymous, 'word', 'tag=a'), ['word 3', 'word 0'])
  t.same(await findAll(anonymous, 'word -0', 'tag=b'), ['word 4', 'word 3', 'word 2', 'word 1'])
  t.match(await anonymous.get('/api/search?tag=a'), { status: 400 }, 'a tag is not enough')
})

/** Returns different words for a query. */
function words(count: number, between = '%20'): string {
  return Array.from({ length: count }, (_, i) => `w${i}`).join(between)
}

t.test('search: requests that cannot be answered: are refused', async (t) => {
  const { anonymous } = forum
  const refused: Record<string, string> = {
    '': 'invalid_query',
    'q=': 'invalid_query',
    'q=-x': 'invalid_query',
    'q=%22%22': 'invalid_query',
    [`q=${'x'.repeat(501)}`]: 'invalid_query',
    'q=!%3F': 'invalid_query',
    [`q=-x&author_id=agt_${'0'.repeat(32)}`]: 'invalid_query',
    [`q=${words(33)}`]: 'invalid_query',
    [`q=${words(33, '.')}`]: 'invalid_query',
    [`q=${words(16)}%20-x${words(17, '%20-x')}`]: 'invalid_query',
    [`q=%22${words(17)}%22`]: 'invalid_query',
    [`q=x%20-${words(17, '_')}`]: 'invalid_query',
    'q=x&author_id=ana': 'invalid_id',
    'q=x&thread_id=agt_1': 'invalid_id',
    'q=x&limit=0': 'invalid_number',
    'q=x&limit=101': 'invalid_number',
    'q=x&before=-1': 'invalid_number',
    'q=x&include=all': 'invalid_query',
    'q=x&content_chars=8001': 'invalid_number',
  }
  for (const [query, error] of Object.entries(refused)) {
    t.match(await anonymous.get(`/api/search?${query}`), { status: 400, body: { error } }, query)
  }
  for (const query of [words(32), `%22${words(16)}%22%20%22x${words(16, '_')}%22`]) {
    t.match(await anonymous.get(`/api/search?q=${query}`), { status: 200 }, query)
  }
  t.match(await anonymous.get(`/api/search?q=${words(33)}`), {
    body: { message: /at most 32 words, and at most 16 in a phrase/ },
  })
  t.match(await anonymous.get(`/api/search?q=${'%F0%9F%91%8D'.repeat(500)}`), { status: 200 })
  t.match(await anonymous.post('/api/search', {}), { status: 405 })
})

t.test(
  'search: random messages in public and private threads: each finds what it may read',
  async (t) => {
    const seed = chosenSeed
    const random = seededRandom(seed)
    t.comment(`TEST_SEED=${seed}`)
    const forum = await searchedForum(t)
    const callers = [await forum.identity(), await forum.identity(), await forum.identity()]
    const threads: { id: string; members: number[] | null; title: string }[] = []
    const messages: (Message & { id: string })[] = []
    const add = (author: number, thread: number, texts: string[], id: string) => {
      const number = messages.length
      const { members } = threads[thread]!
      messages.push({ number, texts, author, thread, members, isRemoved: false, id })
    }
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < sizeOf('SEARCH_MESSAGES'); i++) {
        const author = Math.floor(random() * 3)
        const text = randomText(random, messages.length).slice(0, 2000)
        const client = callers[author]!
        const mine = threads.flatMap(({ members }, n) =>
          members?.includes(author) === false ? [] : [n],
        )
        if (mine.length === 0 || random() < 0.2) {
          const other = Math.floor(random() * 3)
          const isPrivate = random() < 0.5
          const title = `${randomText(random, messages.length)} `.slice(0, 160)
          const visibility = isPrivate ? 'private' : 'public'
          const participant_ids = isPrivate ? [callers[other]!.id] : []
          const { body } = await client.thread({
            title,
            content: text,
            visibility,
            participant_ids,
          })
          threads.push({ id: body.thread_id, members: isPrivate ? [author, other] : null, title })
          add(author, threads.length - 1, [title, text, body.thread_id], body.message_id)
        } else {
          const thread = mine[Math.floor(random() * mine.length)]!
          const { body } = await client.reply(threads[thread]!.id, text)
          add(author, thread, [text], body.message_id)
        }
      }
      const removed = messages[Math.floor(random() * messages.length)]!
      removed.isRemoved = true
      const done = await run(['admin', 'remove-message', '--yes', removed.id, '--data', forum.data])
      t.equal(done.code, 0, done.stderr)
      if (round === 1) {
        await forum.stop()
        await forum.start()
      }
      await indexed(forum)
      for (let i = 0; i < 60; i++) {
        const pick = () => typeable[Math.floor(random() ** 2 * typeable.length)]!
        const all = Array.from({ length: 1 + Math.floor(random() * 3) }, pick)
        const none = random() < 0.3 ? [pick()] : []
        const caller = Math.floor(random() * 4) - 1
        const author = random() < 0.2 ? Math.floor(random() * 3) : undefined
        const q = [...all.map((text) => `"${text}"`), ...none.map((text) => `-"${text}"`)].join(' ')
        const client = caller === -1 ? forum.anonymous : callers[caller]!
        const narrow = author === undefined ? '' : `&author_id=${callers[author]!.id}`
        const { results } = await find(client, q, `limit=100${narrow}`)
        const limits = {
          before: messages.length,
          limit: 100,
          ...(author !== undefined && { author }),
        }
        const expected = naiveSearch(messages, { all, none, caller, ...limits })
        const found = results.map(({ message_id }) => message_id)
        const ids = expected.map((number) => messages[number]!.id)
        if (`${found}` !== `${ids}`) t.same(found, ids, `${q} by ${caller}, seed ${seed}`)
      }
    }
  },
)

t.test('search: a private thread: leaves no trace in what others find', async (t) => {
  const [ana, bob, eve] = [await forum.identity(), await forum.identity(), await forum.identity()]
  await publishedThread(eve, { visibility: 'private', content: 'something of eve' })
  for (let i = 0; i < 6; i++) await publishedThread(ana, { content: `treasure ${i}` })
  await indexed(forum)
  const looks = async (client: Client) => {
    const pages = []
    for (const query of ['limit=2', 'limit=6', 'limit=100', `author_id=${ana.id}`]) {
      const { indexed_through: _, ...page } = await find(client, 'treasure', query)
      pages.push(page)
    }
    return pages
  }
  const before = [await looks(forum.anonymous), await looks(eve)]
  const fields = { visibility: 'private', participant_ids: [bob.id] }
  const secret = await publishedThread(ana, {
    ...fields,
    title: 'treasure',
    content: 'treasure map',
  })
  for (let i = 0; i < 5; i++) await ana.reply(secret, 'treasure treasure')
  await indexed(forum)
  t.same([await looks(forum.anonymous), await looks(eve)], before, 'for others nothing changes')
  for (const client of [ana, bob]) {
    t.equal((await findAll(client, 'treasure')).length, 12)
    t.equal((await findAll(client, secret)).length, 1)
  }
  const absent = `thread_id=thr_${'0'.repeat(32)}`
  for (const client of [forum.anonymous, eve]) {
    const [there, notThere] = [
      await find(client, 'treasure', `thread_id=${secret}`),
      await find(client, 'treasure', absent),
    ]
    t.same(there, notThere, 'private and absent are the same')
    t.same(await findAll(client, secret), [])
  }
})

t.test(
  'search: a removed message: is found no more at once, and the command waits for the index',
  async (t) => {
    const ana = await forum.identity()
    const thread = await publishedThread(ana, { title: 'kept title', content: 'first secretword' })
    await ana.reply(thread, 'second secretword')
    await indexed(forum)
    t.equal((await findAll(ana, 'secretword')).length, 2)
    const [first] = await ana.messages(thread)
    const command = ['admin', 'remove-message', '--yes', first!.id, '--data', forum.data]
    t.equal((await run([...command, '--no-wait'])).code, 0)
    const page = await find(ana, 'secretword', 'limit=1')
    t.equal(page.results.length, 1)
    t.equal(page.has_more, false, 'not even as a count')
    t.same(await findAll(ana, 'kept'), [])
    const done = await run(command)
    t.match(done.stdout, /search index of/)
    t.same(await findAll(ana, 'secretword'), ['second secretword'])
  },
)

t.test(
  'search: --no-search: its path is unknown, and an index that was there is gone',
  async (t) => {
    const forum = await searchedForum(t)
    const ana = await forum.identity()
    await publishedThread(ana, { content: 'a word' })
    await indexed(forum)
    const capability = async () =>
      JSON.parse((await forum.anonymous.get('/api/status')).text).capabilities.search
    t.equal(await capability(), true)
    t.match((await forum.anonymous.get('/llms.txt')).text, /api\/search/)
    await forum.stop()
    t.ok(existsSync(path.join(forum.data, 'search')))
    forum.flags.push('--no-search')
    forum.environment.AGENT_FORUM_NO_SEARCH = 'on'
    await forum.start()
    t.match(await forum.anonymous.get('/api/search?q=word'), { status: 404 })
    t.equal(await capability(), false)
    t.notMatch((await forum.anonymous.get('/llms.txt')).text, /api\/search/)
    t.notOk(existsSync(path.join(forum.data, 'search')))
  },
)

t.test('search: of readers: each answers from the same index, by its own state', async (t) => {
  const forum = await searchedForum(t, ['--readers', '2'])
  await until('both readers', () => /"serving":2/.test(forum.log))
  const ana = await forum.identity()
  const bob = await forum.identity()
  await publishedThread(ana, { content: 'public word' })
  await publishedThread(ana, { content: 'private word', visibility: 'private' })
  await indexed(forum)
  for (let i = 0; i < 20; i++) {
    t.same(await findAll(bob, 'word'), ['public word'])
    t.same(await findAll(ana, 'word'), ['private word', 'public word'])
  }
})
