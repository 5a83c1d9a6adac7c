// `/search`: the box at the top of every page, and what it finds: public messages, shown as text.

import t, { type Test } from 'tap'
import { type Client, type Forum, publishedThread, startForum } from '../api/harness.ts'
import { run } from '../api/process.ts'
import { indexed, searchedForum } from '../forum/search/forum.ts'
import { until } from '../until.ts'
import { linkOf, seqsOf, textsOf, type Visit, visit } from './browser.ts'
import { hostileTexts, shown } from './hostile.ts'

const searched = (q: string, more = '') => `/search?q=${encodeURIComponent(q)}${more}`

/** Returns the content of the box, or null if the page has none. */
function boxOf({ elements }: Visit): string | null {
  const [form] = elements.filter(({ name }) => name === 'form')
  const [box] = elements.filter(({ name }) => name === 'input')
  if (form === undefined) return null
  const { role, action } = form.attributes
  if (role !== 'search' || action !== '/search' || box!.attributes.name !== 'q') return null
  return box!.attributes.value!
}

const titlesOf = ({ elements }: Visit) =>
  elements.filter(({ attributes }) => attributes.class === 'title').map(({ text }) => text)

/** Returns the title, the excerpt and the marked words of each result. */
function resultsOf({ elements }: Visit): { title: string; excerpt: string; marks: string[] }[] {
  const found: { title: string; excerpt: string; marks: string[] }[] = []
  for (const { name, attributes, text } of elements) {
    if (attributes.class === 'title') found.push({ title: text, excerpt: '', marks: [] })
    if (attributes.class?.startsWith('excerpt')) found.at(-1)!.excerpt = text
    if (name === 'mark') found.at(-1)!.marks.push(text)
  }
  return found
}

/** Returns the paths of every kind of page that has something to show. */
async function pathsOf(ana: Client): Promise<string[]> {
  const thread = await publishedThread(ana, { content: 'a word' })
  return ['/', `/t/${thread}`, `/agents/${ana.id}`, '/governance', '/search?q=word', '/nothing']
}

/** The forum of the tests that need no flags. Each searches for words of its own. */
const forum = await searchedForum(t)

t.test('search page: on every page: a box; without a search: none', async (t) => {
  const forum = await searchedForum(t)
  const ana = await forum.identity()
  const paths = await pathsOf(ana)
  await indexed(forum)
  const etags = new Map<string, string>()
  for (const path of paths) {
    const page = await visit(forum, path)
    t.equal(boxOf(page), path.includes('word') ? 'word' : '', path)
    etags.set(path, page.headers.get('etag') ?? '')
  }
  t.equal((await visit(forum, '/?limit=x')).status, 400)
  t.equal(boxOf(await visit(forum, '/?limit=x')), '')

  await forum.stop()
  forum.flags.push('--no-search')
  forum.environment.AGENT_FORUM_NO_SEARCH = 'on'
  await forum.start()
  for (const path of paths) {
    const page = await visit(forum, path, { 'if-none-match': etags.get(path)! })
    const isThere = !/search|nothing/.test(path)
    t.equal(page.status, isThere ? 200 : 404, `${path}: not what the browser has`)
    t.equal(boxOf(page), null, path)
  }
})

t.test('search page: no words, or none that could be found: what to do', async (t) => {
  await publishedThread(await forum.identity(), { content: 'a word' })
  await indexed(forum)
  for (const path of ['/search', '/search?q=', '/search?q=+%20']) {
    const page = await visit(forum, path)
    t.equal(page.status, 200, path)
    t.match(page.text, 'found by their words')
  }
  for (const q of ['-word', '"', '?!', '-"a word" -x']) {
    const page = await visit(forum, searched(q))
    t.equal(page.status, 400, q)
    t.equal(boxOf(page), q)
    t.match(page.text, 'Type one that a message must have')
  }
  const none = await visit(forum, searched('nowhere'))
  t.match(textsOf(none, 'p'), ['No public message has all of these words.'])
  t.match(none.text, /Only whole words match/)
  t.match(textsOf(await visit(forum, '/search?q=word&before=1'), 'p'), [/no older messages/])
  const long = await visit(forum, searched('x'.repeat(501)))
  t.match([long.status, long.text], [400, /q must be a text of at most 500 characters/])
  t.equal((await visit(forum, '/search?q=word&before=x')).status, 400)
})

t.test('search page: results: newest first, marked, in pages, with links', async (t) => {
  const ana = await forum.identity({ display_name: 'ana' })
  const thread = await publishedThread(ana, { title: 'A <b>tale</b>', content: 'word 0' })
  for (let n = 1; n < 45; n++) await ana.reply(thread, `Wörd ${n} & <i>tale</i>`)
  await publishedThread(ana, { title: 'hidden word', content: 'word', visibility: 'private' })
  const far = `${'padding '.repeat(60)}the needle is here ${'padding '.repeat(60)}`
  await ana.reply(thread, far)
  await indexed(forum)

  const pages: Visit[] = []
  let path: string | null = searched('word tale', '')
  for (; path !== null; path = linkOf(pages.at(-1)!, 'Older')) pages.push(await visit(forum, path))
  t.same(
    pages.map((page) => [page.status, titlesOf(page).length]),
    [
      [200, 20],
      [200, 20],
      [200, 5],
    ],
  )
  const results = pages.flatMap(resultsOf)
  const expected = Array.from({ length: 44 }, (_, i) => `Wörd ${44 - i} & <i>tale</i>`)
  t.same(
    results.map(({ excerpt }) => excerpt),
    [...expected, 'word 0'],
  )
  t.same(results[0], {
    title: 'A <b>tale</b>',
    excerpt: 'Wörd 44 & <i>tale</i>',
    marks: ['tale', 'Wörd', 'tale'],
  })
  t.equal(boxOf(pages[2]!), 'word tale')
  t.equal(linkOf(pages[0]!, 'Newest'), null)
  t.equal(linkOf(pages[2]!, 'Newest'), '/search?q=word%20tale')
  t.match(textsOf(pages[0]!, 'title'), ['word tale · Search · Agent Forum'])
  const link = linkOf(pages[1]!, 'A <b>tale</b>')!
  t.equal(`${link}`.split('#m')[1], `${seqsOf(await visit(forum, link))[0]}`)

  const [needle] = resultsOf(await visit(forum, searched('needle')))
  t.match(needle, { excerpt: /padding the needle is here padding/, marks: ['needle'] })
  const cut = (await visit(forum, searched('needle'))).elements
  t.ok(cut.some(({ attributes }) => attributes.class === 'excerpt begun cut'))
  const token = { authorization: `Bearer ${ana.token}` }
  for (const headers of [{}, token]) {
    const page = await visit(forum, searched('hidden'), headers)
    t.match(page.text, 'No public message', 'what is private is on no page')
  }
})

t.test('search page: a message is removed: it is found no more', async (t) => {
  const ana = await forum.identity()
  const thread = await publishedThread(ana, { content: 'first' })
  await ana.reply(thread, 'a secretword')
  await indexed(forum)
  t.equal(titlesOf(await visit(forum, '/search?q=secretword')).length, 1)
  const [, { id }] = (await ana.messages(thread)) as [unknown, { id: string }]
  await run(['admin', 'remove-message', '--yes', id, '--data', forum.data, '--no-wait'])
  t.match((await visit(forum, '/search?q=secretword')).text, 'No public message')
})

/** Searches for the text, and checks that the page shows the query unchanged. */
async function searchFor(t: Test, forum: Forum, text: string): Promise<void> {
  const q = [...text].slice(0, 500).join('')
  const page = await visit(forum, searched(q))
  t.ok([200, 400].includes(page.status), `${page.status}`)
  t.equal(boxOf(page), q, 'what was typed can be edited')
  if (page.status === 200 && q.trim() !== '') {
    t.match(textsOf(page, 'h1'), [`Messages with ${shown(q)}`])
  }
}

t.test('search page: hostile queries, and hits: shown as they are', async (t) => {
  const texts = hostileTexts.map((text) => text.toWellFormed())
  for (const [n, text] of texts.entries()) {
    const author = await forum.anonymous.post('/api/identities', { display_name: text })
    const ana = await forum.identity()
    const title = `${[...text].slice(0, 100).join('')} only${n}`
    const made = await ana.thread({ title, content: `${text} only${n}`.slice(-8000) })
    t.equal(made.status, 201, `${n}`)
    if (author.status !== 201) continue
    const headers = {
      authorization: `Bearer ${author.body.token}`,
      'idempotency-key': `key-${n}-x`,
    }
    await ana.post(`/api/threads/${made.body.thread_id}/replies`, { content: 'hi' }, headers)
  }
  await indexed(forum)
  for (const [n, text] of texts.entries()) {
    await searchFor(t, forum, text)
    const [result] = resultsOf(await visit(forum, searched(`only${n}`)))
    t.same([result!.marks.at(-1), result!.marks.length], [`only${n}`, 2], `${n}`)
  }
})

t.test('search page: for members only: shows a member what all of them may read', async (t) => {
  const forum = await searchedForum(t, ['--members-only'])
  const ana = await forum.identity()
  await publishedThread(ana, { content: 'public word' })
  await publishedThread(ana, { content: 'private word', visibility: 'private' })
  const headers = { authorization: `Bearer ${ana.token}` }
  await until('the index', async () => {
    return resultsOf(await visit(forum, '/search?q=public', headers)).length === 1
  })
  t.equal(resultsOf(await visit(forum, '/search?q=word', headers)).length, 1)
  const stranger = await visit(forum, '/search?q=word')
  t.same([stranger.status, boxOf(stranger)], [401, null])
})

t.test('search page: of a node without pages: not found', async (t) => {
  const forum = await startForum(t, ['--no-pages'])
  t.equal((await fetch(`${forum.url}/search?q=x`)).status, 404)
})
