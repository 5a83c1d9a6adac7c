// The documents of the project as a node serves them: whole, under their names, with links that
// lead to one another.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { markdownOf } from '../../src/forum/manual/routes.ts'
import { type Forum, startForum } from './harness.ts'

const top = join(import.meta.dirname, '../../..')
const asBrowser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const sources = new Map<string, string>([
  ...readdirSync(join(top, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => [name, `docs/${name}`] as const),
  ['changelog.md', 'CHANGELOG.md'],
  ['security.md', 'SECURITY.md'],
])

let forum: Forum

/** Fetches a path; the documents are not JSON, which the client of the other tests expects. */
async function get(path: string, headers: Record<string, string> = {}, from = forum) {
  const answer = await fetch(`http://127.0.0.1:${from.port}${path}`, { headers })
  const text = await answer.text()
  return { status: answer.status, text, headers: Object.fromEntries(answer.headers) }
}

t.before(async () => {
  forum = await startForum(t, ['--members-only'])
})

/** Returns the targets of links in Markdown that lead to other documents. */
function targetsIn(markdown: string): string[] {
  return [...markdown.matchAll(/\]\((?:\/docs\/)?([\w-]+\.md)(?:#[\w-]+)?\)/g)].map(
    ([, name]) => name!,
  )
}

/** Returns a document without links, pictures, marks of generated tables and line breaks. */
const proseOf = (text: string) =>
  text
    .replace(/^<!--.*$/gm, '')
    .replace(/!\[([^\]]*)\]\([^)]*\)/g, '*(picture: $1)*')
    .replace(/\[([^\]]+)\]\([^)\s]+\)/g, '$1')
    .replace(/\s+/g, ' ')
    .trim()

t.test('/docs/: anybody, also with --members-only: every document, as it is written', async (t) => {
  const index = await get('/docs/')
  t.match(index.headers, { 'content-type': 'text/markdown; charset=utf-8', vary: 'Accept' })
  t.same(targetsIn(index.text), [...sources.keys()].sort())
  for (const [name, path] of sources) {
    const { status, text, headers } = await get(`/docs/${name}`)
    t.equal(status, 200, name)
    t.equal(headers['content-type'], 'text/markdown; charset=utf-8')
    const title = /^# (.+)$/m.exec(text)![1]!
    t.match(index.text, `- [${title}](/docs/${name}): `, `${name} is listed under its title`)
    t.equal(proseOf(text), proseOf(readFileSync(join(top, path), 'utf8')), name)
    for (const target of targetsIn(text)) t.ok(sources.has(target), `${name} leads to ${target}`)
    t.equal((await get(`/docs/${name.slice(0, -3)}`)).text, text)
  }
})

t.test('/docs/: a browser: pages whose links lead to a heading', async (t) => {
  const pages = new Map<string, string>()
  for (const name of ['', ...sources.keys()]) {
    const { status, text, headers } = await get(`/docs/${name}`, asBrowser)
    t.equal(status, 200, name)
    t.match(headers, { 'content-type': 'text/html; charset=utf-8', vary: /Accept/ })
    t.equal([...text.matchAll(/<h1\b/g)].length, 1, name)
    t.notMatch(text, /<img|<!--|endorsed/, name)
    pages.set(name, text)
  }
  for (const [name, text] of pages) {
    for (const [, to, anchor] of text.matchAll(
      /href="(?:\/docs\/)?([\w-]+\.md)?(?:#([\w-]+))?"/g,
    )) {
      const page = pages.get(to ?? name)
      if (page === undefined) t.fail(`${name} leads to ${to}`)
      else if (anchor !== undefined && !page.includes(`id="${anchor}"`)) {
        t.fail(`${name}: ${to ?? name} has no heading #${anchor}`)
      }
    }
  }
})

t.test('/docs/: fetched again with its ETag: 304 without a body', async (t) => {
  for (const accept of [{}, asBrowser]) {
    for (const path of ['/docs/', '/docs/interface.md']) {
      const { headers } = await get(path, accept)
      const known = { 'if-none-match': headers.etag!, ...accept }
      const again = await get(path, known)
      t.strictSame([again.status, again.text, again.headers.etag], [304, '', headers.etag], path)
      const other = await get(path, { ...known, 'if-none-match': '"other"' })
      t.equal(other.status, 200)
    }
  }
})

t.test('/docs/: another name: 404, or 400 for what cannot be one', async (t) => {
  const refused = async (path: string, headers = {}) => (await get(path, headers)).status
  t.equal(await refused('/docs/no-such.md'), 404)
  t.equal(await refused('/docs/no-such.md', asBrowser), 404)
  t.equal(await refused('/docs/constructor'), 404)
  t.equal(await refused('/docs/index.json'), 400)
  t.equal(await refused('/docs/..%2findex'), 400)
})

t.test('documents: a file that an upgrade has removed: is not there', async (t) => {
  const gone = { name: 'gone', path: 'docs/gone.md', title: '', about: '', digest: '0' }
  t.equal(markdownOf(gone), null)
})

t.test('/docs/: with --no-pages: Markdown also for a browser', async (t) => {
  const bare = await startForum(t, ['--no-pages'])
  const { headers, text } = await get('/docs/shell.md', asBrowser, bare)
  t.equal(headers['content-type'], 'text/markdown; charset=utf-8')
  t.match(text, /^# The shell\n/)
})

t.test('guides: an agent that reads one of them first: finds the documents', async (t) => {
  for (const path of ['/', '/llms.txt', '/.well-known/agent-forum.json']) {
    t.match((await get(path)).text, /http:\S+\/docs\/(?![\w<])/, path)
  }
})
