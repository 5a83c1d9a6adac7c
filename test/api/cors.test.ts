// Requests from pages of other origins, as browsers send them: --cors. docs/interface.md, "CORS".

import t from 'tap'
import { type Answer, type Forum, type Headers, newKey, startForum } from './harness.ts'

const page = 'https://app.example'
const other = 'https://elsewhere.example'
const preflight = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type,idempotency-key',
}

/** Returns the headers that a browser evaluates. */
function corsOf({ headers }: Answer): Headers {
  const names = Object.keys(headers).filter((name) => /^access-control-|^vary$/.test(name))
  return Object.fromEntries(names.map((name) => [name, headers[name]]))
}

/** Creates an identity and a thread as a page of this origin would. Resolves to both answers. */
async function write(forum: Forum, origin: string): Promise<Answer[]> {
  // The browser marks the request as cross-site.
  const headers = { origin, 'sec-fetch-site': 'cross-site' }
  const created = await forum.anonymous.post('/api/identities', {}, headers)
  const authorization = `Bearer ${created.body.token}`
  const body = { title: 'T', content: 'C' }
  const all = { ...headers, authorization, 'idempotency-key': newKey() }
  return [created, await forum.anonymous.post('/api/threads', body, all)]
}

const exposed = { 'access-control-expose-headers': 'ETag, Preference-Applied, Retry-After' }
const forPage = { vary: 'Origin', 'access-control-allow-origin': page, ...exposed }
const forAll = { 'access-control-allow-origin': '*', ...exposed }

t.test('without --cors: no page of another origin reads or writes', async (t) => {
  const forum = await startForum(t)
  for (const answer of await write(forum, page)) {
    t.equal(`${answer.status} ${answer.body.error}`, '403 cross_origin')
    t.same(corsOf(answer), {})
  }
  const answer = await forum.anonymous.send('OPTIONS', '/api/threads', {
    origin: page,
    ...preflight,
  })
  t.same(corsOf(answer), {})
  t.same(corsOf(await forum.anonymous.get('/api/threads', { origin: page })), {})
})

t.test('--cors with origins: their pages read and write, others do not', async (t) => {
  const forum = await startForum(t, ['--cors', `https://first.example,${page}`])
  for (const answer of await write(forum, page)) {
    t.equal(answer.status, 201)
    t.same(corsOf(answer), forPage)
  }
  for (const origin of [other, 'null', `${page}.example`, page.replace('https', 'http')]) {
    for (const answer of await write(forum, origin)) {
      t.equal(`${answer.status} ${answer.body.error}`, '403 cross_origin', origin)
      t.same(corsOf(answer), { vary: 'Origin' }, origin)
    }
  }
  const refused = await forum.anonymous.get('/nowhere', { origin: page })
  t.same([refused.status, corsOf(refused)], [404, forPage], 'a page can read refusals, too')
  const image = { 'sec-fetch-site': 'cross-site' }
  const ticket = await forum.anonymous.get('/api/compat/ticket', image)
  t.equal(ticket.body.error, 'cross_site', 'a request without an origin is not allowed')
})

t.test('--cors with origins: a preflight: answered for these origins only', async (t) => {
  const forum = await startForum(t, ['--cors', page])
  const ask = (path: string, headers: Headers) => forum.anonymous.send('OPTIONS', path, headers)
  const allowed = await ask('/api/threads', { origin: page, ...preflight })
  t.equal(allowed.status, 204)
  t.same(corsOf(allowed), {
    ...forPage,
    'access-control-allow-methods': 'GET, POST, HEAD, OPTIONS',
    'access-control-allow-headers':
      'Authorization, Content-Type, Idempotency-Key, If-None-Match, Prefer',
    'access-control-max-age': '7200',
  })
  t.equal(allowed.headers['access-control-allow-credentials'], undefined)
  t.same(corsOf(await ask('/api/threads', { origin: other, ...preflight })), { vary: 'Origin' })
  t.same(corsOf(await ask('/api/threads', { origin: page })), forPage, 'OPTIONS alone is none')
})

t.test('--cors *: pages of every origin read and write, never with credentials', async (t) => {
  const forum = await startForum(t, ['--cors', '*'])
  for (const origin of [page, other, 'null']) {
    for (const answer of await write(forum, origin)) {
      t.equal(answer.status, 201)
      t.same(corsOf(answer), forAll)
    }
  }
  const answer = await forum.anonymous.send('OPTIONS', '/api/threads', {
    origin: page,
    ...preflight,
  })
  t.match(corsOf(answer), { ...forAll, 'access-control-allow-methods': /POST/ })
  t.equal(answer.headers['access-control-allow-credentials'], undefined)
})
