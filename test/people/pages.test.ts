// The pages for people, over HTTP: what they show and to whom, and how browsers cache them.

import { gzipSync } from 'node:zlib'
import t from 'tap'
import { policy, proposed } from '../api/governing.ts'
import { publishedThread, startForum } from '../api/harness.ts'
import { browserAccept, linkOf, seqsOf, textsOf, type Visit, visit } from './browser.ts'

const unknownId = (prefix: string) => `${prefix}_${'0'.repeat(32)}`

/** The forum of the tests that need no empty one, and no flags. */
const forum = await startForum(t)

t.test('/: a browser gets a page; programs get the text as before', async (t) => {
  const ofAccept = async (headers: Record<string, string>, method = 'GET') => {
    const response = await fetch(`${forum.url}/`, { method, headers })
    return `${response.headers.get('content-type')} ${response.headers.get('vary')}`
  }
  const page = 'text/html; charset=utf-8 Accept, Cookie'
  const text = 'text/plain; charset=utf-8 Accept'
  for (const accept of [browserAccept, 'text/html', 'TEXT/PLAIN;q=0.5, text/html;level=1;q=0.6']) {
    t.equal(await ofAccept({ accept }), page, accept)
    t.equal(await ofAccept({ accept }, 'HEAD'), page, accept)
  }
  for (const accept of ['*/*', 'text/*', 'application/json', 'text/plain, text/html;q=0.9']) {
    t.equal(await ofAccept({ accept }), text, accept)
  }
  for (const accept of ['text/html;q=0', 'text/html;q=x', 'text/htmlx', '']) {
    t.equal(await ofAccept({ accept }), text, accept)
  }
  t.match((await forum.anonymous.get('/')).text, /^Agent Forum: /)
})

t.test('/: newest threads first, older ones behind links, never private ones', async (t) => {
  const forum = await startForum(t)
  t.match((await visit(forum, '/')).text, 'There are no public threads yet')
  const ana = await forum.identity({ display_name: 'ana' })
  for (let n = 1; n <= 25; n++) {
    const visibility = n % 5 === 0 ? 'private' : 'public'
    await publishedThread(ana, { title: `thread ${n}`, visibility })
  }
  const shown: string[] = []
  const start = '/?limit=9&order=created'
  let path: string | null = start
  let page: Visit | null = null
  for (; path !== null; path = linkOf(page, 'Older')) {
    page = await visit(forum, path)
    const titles = page.elements.filter(({ attributes }) => attributes.class === 'title')
    shown.push(...titles.map(({ text }) => text))
    t.equal(linkOf(page, 'Newest'), path === start ? null : '/?order=created')
  }
  const expected = Array.from({ length: 25 }, (_, i) => 25 - i).filter((n) => n % 5 !== 0)
  t.same(
    shown,
    expected.map((n) => `thread ${n}`),
  )
  t.equal((await visit(forum, '/?cursor=x')).status, 404)
})

t.test('/: by activity: a reply moves a thread to the top, with its author', async (t) => {
  const forum = await startForum(t)
  const ana = await forum.identity({ display_name: 'ana' })
  const ben = await forum.identity({ display_name: 'ben <b>' })
  const ids: string[] = []
  for (const title of ['one', 'two', 'three']) ids.push(await publishedThread(ana, { title }))
  const titles = ({ elements }: Visit) =>
    elements.filter(({ attributes }) => attributes.class === 'title').map(({ text }) => text)
  t.same(titles(await visit(forum, '/')), ['three', 'two', 'one'])
  await ben.reply(ids[0]!, 'back to this')
  const page = await visit(forum, '/')
  t.same(titles(page), ['one', 'three', 'two'])
  t.match(
    textsOf(page, 'li')[0],
    /^\none\nana\n1 reply\nben <b> \d\d? [A-Z][a-z]{2} \d{4}, \d\d:\d\d$/,
  )
  t.equal(linkOf(page, 'ben <b>'), `/agents/${ben.id}`)
  t.same(titles(await visit(forum, linkOf(page, 'Newest thread')!)), ['three', 'two', 'one'])
  const second = await visit(forum, linkOf(await visit(forum, '/?limit=1'), 'Older')!)
  t.same([titles(second), linkOf(second, 'Newest')], [['three'], '/'])
  await ana.reply(ids[2]!, 'and to that')
  const third = await visit(forum, linkOf(second, 'Older')!)
  t.same(titles(third), ['two'], 'a page in between has lost a thread to the first one')
})

t.test('/m: a message alone: its source, its id, its place; never a private one', async (t) => {
  const ana = await forum.identity({ display_name: 'ana' })
  const content = '*a* <b>\n\n- b'
  const open = await publishedThread(ana, { title: 'open', content })
  const hidden = await publishedThread(ana, { visibility: 'private' })
  const [{ id, seq }] = await ana.messages(open)
  const path = linkOf(await visit(forum, `/t/${open}`), 'Source')!
  t.equal(path, `/m/${id}`)
  const page = await visit(forum, path)
  t.same(textsOf(page, 'h1'), [`Message #${seq}`])
  t.same(textsOf(page, 'code'), [id])
  t.same(textsOf(page, 'div')[0], content)
  t.equal(linkOf(page, 'open'), `/t/${open}?after=${seq - 1}#m${seq}`)
  const [{ id: secret }] = await ana.messages(hidden)
  for (const absent of [secret, unknownId('msg'), 'x']) {
    t.equal((await visit(forum, `/m/${absent}`)).status, 404, absent)
  }
})

t.test('ids in a text: links to public threads, messages, agents and proposals', async (t) => {
  const [ana, silent] = [await forum.identity(), await forum.identity()]
  const open = await publishedThread(ana)
  const hidden = await publishedThread(ana, { visibility: 'private' })
  const [{ id: message }] = await ana.messages(open)
  const known = [open, message, ana.id]
  const unknown = [hidden, silent.id, unknownId('thr'), unknownId('agt'), unknownId('gov')]
  await ana.reply(open, [...known, ...unknown].join(' '))
  const page = await visit(forum, `/t/${open}`)
  t.same(
    known.map((id) => linkOf(page, id)),
    [`/t/${open}`, `/m/${message}`, `/agents/${ana.id}`],
  )
  for (const id of unknown) t.equal(linkOf(page, id), null)
})

t.test('thread: a message that mentions somebody: with links to them', async (t) => {
  const ana = await forum.identity()
  const ben = await forum.identity({ display_name: 'ben' })
  const id = await publishedThread(ana, { mention_ids: [ben.id] })
  const before = await visit(forum, `/t/${id}`)
  t.equal(linkOf(before, 'ben'), null, 'there is no page of ben yet')
  t.ok(textsOf(before, 'p').includes(`To ben ${ben.id.slice(0, 12)}`))
  await ben.reply(id)
  const { text, elements } = await visit(forum, `/t/${id}`)
  const links = elements.filter(({ attributes }) => attributes.href === `/agents/${ben.id}`)
  t.equal(links[0]?.text, 'ben')
  t.equal(text.match(/<p class="about">To/g)?.length, 1, 'the other message mentions nobody')
})

t.test('thread: a message of a type: with it, there and on its own page', async (t) => {
  const ana = await forum.identity()
  const id = await publishedThread(ana, { type: 'bug-report' })
  const [{ id: message }] = (await ana.messages(id)) as unknown as [{ id: string }]
  for (const path of [`/t/${id}`, `/m/${message}`]) {
    t.match((await visit(forum, path)).text, '<span class="pill">bug-report</span>', path)
  }
})

t.test('thread: 50 messages a page, each with its anchor, and links between pages', async (t) => {
  const ana = await forum.identity({ display_name: 'ana', kind: 'persistent' })
  const id = await publishedThread(ana, { title: 'Title & <b>', content: 'the first' })
  await Promise.all(Array.from({ length: 119 }, (_, n) => ana.reply(id, `reply ${n}`)))
  const path = `/t/${id}`
  const messages = [(await ana.read(id, '?limit=100')).body.messages]
  const rest = await ana.read(id, `?after=${messages[0]!.at(-1)!.seq}`)
  messages.push(rest.body.messages)
  const seqs = messages.flat().map(({ seq }) => seq)

  const first = await visit(forum, path)
  t.same(textsOf(first, 'title'), ['Title & <b> · Agent Forum'])
  t.same(textsOf(first, 'h1'), ['Title & <b>'])
  t.match(textsOf(first, 'p'), [/120 messages, begun \d\d? [A-Z][a-z]{2} \d{4}, \d\d:\d\d$/])
  const [{ datetime, title }] = first.elements
    .filter(({ name }) => name === 'time')
    .map(({ attributes }) => attributes)
  t.match(datetime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.equal(title, datetime)
  t.match(
    textsOf(first, 'article')[0],
    /^\s*ana agt_[0-9a-f]{8} · .*:\d\d\s+#\d+ Source\s+the first\s*$/,
  )
  t.same(seqsOf(first), seqs.slice(0, 50))
  t.same(
    ['First', 'Earlier'].map((text) => linkOf(first, text)),
    [null, null],
  )

  const second = await visit(forum, linkOf(first, 'Later')!)
  t.same(seqsOf(second), seqs.slice(50, 100))
  t.same(
    ['First', 'Earlier'].map((text) => linkOf(second, text)),
    [path, path],
  )
  t.ok(textsOf(second, 'span').includes('Messages 51 to 100 of 120'))
  t.equal(first.elements.filter(({ text }) => text === 'Newest').length, 2, 'at both ends')
  const third = await visit(forum, linkOf(second, 'Later')!)
  t.same(seqsOf(third), seqs.slice(100))
  t.same(seqsOf(await visit(forum, linkOf(third, 'Earlier')!)), seqs.slice(50, 100))
  t.same(
    ['Later', 'Newest'].map((text) => linkOf(third, text)),
    [null, null],
  )
  t.same(seqsOf(await visit(forum, linkOf(first, 'Newest')!)), seqs.slice(70))

  const permalink = linkOf(second, `#${seqs[60]}`)!
  t.equal(permalink, `${path}?after=${seqs[60]! - 1}#m${seqs[60]}`)
  t.equal(seqsOf(await visit(forum, permalink))[0], seqs[60])
  const beyond = await visit(forum, `${path}?after=999999`)
  t.same([beyond.status, seqsOf(beyond)], [200, []])
  t.equal(linkOf(beyond, 'First'), path)
})

t.test('private, absent, malformed: the same 404 page, whoever asks', async (t) => {
  const [ana, ben] = [
    await forum.identity({ display_name: 'ana' }),
    await forum.identity({ display_name: 'ben' }),
  ]
  const hidden = await publishedThread(ana, { visibility: 'private', participant_ids: [ben.id] })
  await ben.reply(hidden)
  const token = { authorization: `Bearer ${ana.token}` }
  const absent = await visit(forum, `/t/${unknownId('thr')}`)
  t.match(absent, { status: 404, text: 'Not found' })
  t.equal(absent.headers.get('etag'), null)
  const paths = [
    `/t/${hidden}`,
    `/t/${hidden}?after=1`,
    '/t/x',
    `/t/${hidden.toUpperCase()}`,
    `/agents/${ana.id}`,
    `/agents/${ben.id}`,
    `/agents/${unknownId('agt')}`,
    '/agents/x',
    `/governance/${unknownId('gov')}`,
    '/governance/x',
    '/nothing/here',
    '/t/x/y',
  ]
  const ofConnection = ['date', 'connection', 'keep-alive']
  const bare = ({ headers }: Visit) => [...headers].filter(([name]) => !ofConnection.includes(name))
  for (const path of paths) {
    for (const headers of [{}, token]) {
      const page = await visit(forum, path, headers)
      t.same([page.status, page.text], [404, absent.text], path)
      t.same(bare(page), bare(absent), path)
    }
  }
  const malformed = await visit(forum, `/t/${hidden}?after=abc`)
  t.match(malformed, { status: 400, text: 'after must be a whole number' })
  const head = await visit(forum, `/t/${hidden}`, {}, 'HEAD')
  t.same([head.status, head.text, bare(head)], [404, '', bare(absent)])
  t.notMatch((await visit(forum, '/', token)).text, hidden)
})

t.test('agent: its public messages, newest first, never its private ones', async (t) => {
  const [ana, ben] = [
    await forum.identity({ display_name: 'ana' }),
    await forum.identity({ display_name: 'ben' }),
  ]
  const open = await publishedThread(ben, { title: 'open', content: 'by ben' })
  const hidden = await publishedThread(ana, { visibility: 'private', content: 'a secret' })
  t.equal((await visit(forum, `/agents/${ana.id}`)).status, 404)
  for (let n = 1; n <= 8; n++) {
    await ana.reply(open, `public ${n}`)
    await ana.reply(hidden, `secret ${n}`)
  }
  const first = await visit(forum, `/agents/${ana.id}?limit=5`)
  t.same(textsOf(first, 'h1'), ['ana'])
  const contents = ({ elements }: Visit) =>
    elements.filter(({ name }) => name === 'div').map(({ text }) => text)
  t.same(contents(first), ['public 8', 'public 7', 'public 6', 'public 5', 'public 4'])
  t.equal(linkOf(first, 'open'), `/t/${open}`)
  const second = await visit(forum, linkOf(first, 'Older')!)
  t.same(contents(second), ['public 3', 'public 2', 'public 1'])
  const older = linkOf(first, 'Older')!
  const seq = Number(older.split('=')[1])
  t.same(contents(await visit(forum, `/agents/${ana.id}?before=${seq - 1}`)), contents(second))
  t.same(contents(await visit(forum, `/agents/${ana.id}?before=1`)), [])
  t.same([linkOf(second, 'Older'), linkOf(second, 'Newest')], [null, `/agents/${ana.id}`])
  t.notMatch(first.text + second.text, /secret|by ben/)
  const ofBen = await visit(forum, `/agents/${ben.id}`)
  t.same(contents(ofBen), ['by ben'])
  const begun = async (path: string) => {
    const { elements } = await visit(forum, path)
    return elements.filter(({ attributes }) => attributes.class === 'title').map(({ text }) => text)
  }
  t.same(await begun(`/agents/${ben.id}?show=threads`), ['open'])
  t.same(await begun(`/agents/${ana.id}?show=threads`), [], 'it has only replied')
  for (let n = 1; n <= 3; n++) await publishedThread(ana, { title: `by ana ${n}` })
  const newest = await visit(forum, `/agents/${ana.id}?show=threads&limit=2`)
  t.same(await begun(`/agents/${ana.id}?show=threads&limit=2`), ['by ana 3', 'by ana 2'])
  t.same(await begun(linkOf(newest, 'Older')!), ['by ana 1'])
  await visit(forum, `/agents/${ana.id}?show=threads&limit=3`) // not the older ones
  t.equal(linkOf(await visit(forum, `/agents/${ana.id}?show=threads&limit=4`), 'Older'), null)
})

t.test('entity tag: the page is not sent again until it has changed', async (t) => {
  const ana = await forum.identity({ display_name: 'ana' })
  const id = await publishedThread(ana, {})
  const other = await publishedThread(ana, {})
  for (const path of [`/t/${id}`, `/agents/${ana.id}`, '/', '/governance']) {
    const { headers, text } = await visit(forum, path)
    const etag = headers.get('etag')!
    t.match(etag, /^"[\w.-]+"$/)
    t.notMatch(etag, 'undefined')
    t.equal((await visit(forum, path, {}, 'HEAD')).headers.get('etag'), etag)
    for (const tags of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const same = await visit(forum, path, { 'if-none-match': tags })
      t.same([same.status, same.text, same.headers.get('etag')], [304, '', etag], `${path} ${tags}`)
    }
    if (path === '/governance') continue
    await ana.reply(path.startsWith('/t/') ? id : other, 'news')
    const changed = await visit(forum, path, { 'if-none-match': etag })
    t.equal(changed.status, 200, path)
    t.not(changed.text, text)
  }
})

t.test('thread read often: from the cache: the same page until a reply', async (t) => {
  const ana = await forum.identity({ display_name: 'ana' })
  const id = await publishedThread(ana, { content: 'the first' })
  const read = async () => (await visit(forum, `/t/${id}`)).text
  const texts = [await read(), await read(), await read()]
  t.equal(new Set(texts).size, 1)
  await ana.reply(id, 'a reply')
  t.match([await read(), await read(), await read()], Array(3).fill(/a reply/))
})

t.test('files of pages: a hash in their path, cached forever, and small', async (t) => {
  const { elements } = await visit(forum, '/')
  const paths = elements.flatMap(({ name, attributes: { href, src } }) =>
    name === 'link' ? [href!] : name === 'script' ? [src!] : [],
  )
  const script = 'text/javascript'
  const types = ['text/css', 'image/svg+xml', script, script, script]
  let scriptBytes = 0
  for (const [i, path] of paths.entries()) {
    t.match(path, /^\/page-[0-9a-f]{16}\/[a-z-]+\.(?:css|svg|js)$/)
    const response = await fetch(forum.url + path)
    t.equal(response.headers.get('content-type')!.split(';')[0], types[i])
    t.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    const text = await response.text()
    t.notMatch(text, /@import|url\(|innerHTML|eval/)
    if (types[i] === script) scriptBytes += gzipSync(text).length
  }
  t.equal(paths.length, types.length)
  t.ok(scriptBytes < 3_072, `${scriptBytes} bytes`)
})

t.test('--title: the name of the forum on every page; another name: another page', async (t) => {
  const forum = await startForum(t, ['--title', 'Tiles & <Co>'])
  const ana = await forum.identity({ display_name: 'ana' })
  const id = await publishedThread(ana, { title: 'a thread' })
  const shown = async (path: string) => {
    const page = await visit(forum, path)
    return [textsOf(page, 'title')[0], textsOf(page, 'a')[1]]
  }
  t.same(await shown('/'), ['Tiles & <Co>', 'Tiles & <Co>'])
  t.same(await shown(`/t/${id}`), ['a thread · Tiles & <Co>', 'Tiles & <Co>'])
  const headers = { accept: browserAccept }
  const etag = (await fetch(`${forum.url}/t/${id}`, { headers })).headers.get('etag')!
  await forum.stop()
  forum.flags.splice(0, 2)
  await forum.start()
  t.equal((await visit(forum, `/t/${id}`, { 'if-none-match': etag })).status, 200)
  t.same(await shown(`/t/${id}`), ['a thread · Agent Forum', 'Agent Forum'])
})

t.test('/governance: linked as soon as there is a proposal', async (t) => {
  const ana = await forum.identity()
  const before = await visit(forum, '/')
  t.equal(linkOf(before, 'Proposals'), null)
  await proposed(ana, policy)
  t.equal(linkOf(await visit(forum, '/'), 'Proposals'), '/governance')
})

t.test('--no-pages: their paths are unknown, and / is the text for everybody', async (t) => {
  const forum = await startForum(t, ['--no-pages'])
  const ana = await forum.identity({ display_name: 'ana' })
  const id = await publishedThread(ana, {})
  const accept = { accept: browserAccept }
  for (const path of [`/t/${id}`, `/agents/${ana.id}`, '/governance']) {
    t.match(await forum.anonymous.get(path, accept), { status: 404, body: { error: 'not_found' } })
  }
  const root = await forum.anonymous.get('/', accept)
  t.match(root, { status: 200, text: /^Agent Forum: / })
  t.equal(root.headers.vary, undefined)
})

t.test('tags: of a thread: each a link to the list of those that have it', async (t) => {
  const ana = await forum.identity()
  const id = await publishedThread(ana, { title: 'one', tags: ['a:b', 'infra'] })
  await publishedThread(ana, { title: 'two', tags: ['infra'] })
  await publishedThread(ana, { title: 'three' })
  const titles = async (path: string) => {
    const { elements } = await visit(forum, path)
    return elements.filter(({ attributes }) => attributes.class === 'title').map(({ text }) => text)
  }
  for (const path of ['/', `/t/${id}`]) {
    const link = linkOf(await visit(forum, path), 'a:b')
    t.equal(link, '/?tag=a%3Ab', path)
    t.same(await titles(link!), ['one'])
  }
  t.same(await titles('/?tag=infra&order=created'), ['two', 'one'])
  t.same(await titles('/?tag=infra&tag=a:b'), ['one'])
  const first = await visit(forum, '/?tag=infra&limit=1')
  t.match(first.text, 'Threads with infra')
  const older = await visit(forum, linkOf(first, 'Older')!)
  for (const page of [first, older]) {
    const links = page.elements.map(({ attributes }) => attributes.href ?? '')
    const lists = links.filter((link) => /^\/\?(?:order|cursor)=/.test(link))
    t.equal(lists.length, 3, 'two orders, and the other page')
    for (const link of lists) t.match(link, /&tag=infra$/)
  }
  t.same(await titles(linkOf(first, 'Older')!), ['one'])
  t.equal((await visit(forum, '/?tag=A')).status, 400)
})
