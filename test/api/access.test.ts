// Authorization of callers: bearer tokens and the cross-site rules. docs/interface.md,
// "Authentication" and "Cross-site requests".

import t from 'tap'
import {
  type Client,
  type Forum,
  type Headers,
  newKey,
  publishedThread,
  startForum,
} from './harness.ts'

const forum = await startForum(t)
const { anonymous } = forum
const ana = await forum.identity()
const id = await publishedThread(ana)

type Call = (caller: Client, headers?: Headers) => ReturnType<Client['get']>

const reply = { content: 'a reply' }
const bearer: Record<string, Call> = {
  'create a thread': (caller, headers) => caller.thread({}, headers),
  reply: (caller, headers) =>
    caller.post(`/api/threads/${id}/replies`, reply, { 'idempotency-key': newKey(), ...headers }),
  subscribe: (caller, headers) => caller.send('POST', `/api/threads/${id}/subscribe`, headers),
  unsubscribe: (caller, headers) => caller.del(`/api/threads/${id}/subscribe`, headers),
  'poll the feed': (caller, headers) => caller.get('/api/notifications', headers),
}
const optional: Record<string, Call> = {
  'list threads': (caller, headers) => caller.get('/api/threads', headers),
  'read a thread': (caller, headers) => caller.get(`/api/threads/${id}`, headers),
}
const open: Record<string, Call> = {
  'read the status': (caller, headers) => caller.get('/api/status', headers),
  'create an identity': (caller, headers) => caller.post('/api/identities', {}, headers),
}

const malformed = [
  'Bearer',
  'Bearer ',
  'Basic YTpi',
  `Bearer a b`,
  ana.token,
  `Token ${ana.token}`,
  'x',
]
const unknown = [
  'Bearer x',
  `Bearer aic_${'0'.repeat(64)}`,
  `Bearer ${ana.token.slice(0, -1)}`,
  `Bearer ${ana.token}0`,
  `Bearer ${ana.token.toUpperCase()}`,
  `Bearer ${ana.id}`,
]

for (const [what, call] of Object.entries(bearer)) {
  t.test(`${what}: without a token, or a wrong one: 401`, async (t) => {
    const { status, body } = await call(anonymous)
    t.equal(`${status} ${body.error}`, '401 authentication_required')
    for (const authorization of malformed) {
      const { status, body } = await call(anonymous, { authorization })
      t.equal(`${status} ${body.error}`, '401 authentication_required', authorization)
    }
    for (const authorization of unknown) {
      const { status, body } = await call(anonymous, { authorization })
      t.equal(`${status} ${body.error}`, '401 invalid_token', authorization)
    }
  })
}

for (const [what, call] of Object.entries(optional)) {
  t.test(`${what}: anonymous is served, a wrong token is still 401`, async (t) => {
    t.equal((await call(anonymous)).status, 200)
    t.equal((await call(ana)).status, 200)
    for (const authorization of malformed) {
      const { status, body } = await call(anonymous, { authorization })
      t.equal(`${status} ${body.error}`, '401 authentication_required', authorization)
    }
    for (const authorization of unknown) {
      const { status, body } = await call(anonymous, { authorization })
      t.equal(`${status} ${body.error}`, '401 invalid_token', authorization)
    }
  })
}

t.test('401: WWW-Authenticate names the scheme, and what is wrong with a token', async (t) => {
  const challenge = async (path: string, headers: Record<string, string>) => {
    const response = await fetch(`${forum.url}${path}`, { headers })
    t.equal(response.status, 401)
    return response.headers.get('www-authenticate')
  }
  const unknownToken = { authorization: unknown[0] }
  t.equal(await challenge('/api/notifications', {}), 'Bearer')
  t.equal(await challenge('/api/threads', { authorization: 'Basic YTpi' }), 'Bearer')
  t.equal(await challenge('/api/threads', unknownToken), 'Bearer error="invalid_token"')
  const { headers } = await fetch(`${forum.url}/api/threads/x`)
  t.notOk(headers.has('www-authenticate'))
})

for (const [what, call] of Object.entries(open)) {
  t.test(`${what}: tokens are ignored`, async (t) => {
    for (const authorization of [...malformed, ...unknown]) {
      t.ok((await call(anonymous, { authorization })).status < 300)
    }
  })
}

t.test('token: the scheme in any case, more than one space: accepted', async (t) => {
  for (const scheme of ['bearer ', 'BEARER ', 'BeArEr ', 'Bearer   ']) {
    const authorization = `${scheme}${ana.token}`
    t.equal((await anonymous.get('/api/notifications', { authorization })).status, 200, scheme)
  }
})

t.test('token: in the query: ignored', async (t) => {
  const { status } = await anonymous.get(`/api/notifications?token=${ana.token}`)
  t.equal(status, 401)
})

const crossSite: [Headers, string][] = [
  [{ origin: 'https://elsewhere.example' }, 'cross_origin'],
  [{ origin: 'null' }, 'cross_origin'],
  [{ origin: `${forum.url}0` }, 'cross_origin'],
  [{ origin: forum.url.replace('http:', 'https:') }, 'cross_origin'],
  [{ 'sec-fetch-site': 'cross-site' }, 'cross_site'],
  [{ purpose: 'prefetch' }, 'prefetch'],
  [{ 'sec-purpose': 'prefetch' }, 'prefetch'],
  [{ 'sec-purpose': 'prefetch;prerender' }, 'prefetch'],
  [{ 'sec-purpose': 'prerender' }, 'prefetch'],
  [{ purpose: 'Prefetch' }, 'prefetch'],
]
const sameSite: Headers[] = [
  { origin: forum.url },
  { 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'none' },
  { purpose: 'reading' },
]
const { 'poll the feed': feed, ...writes } = { ...bearer, ...open }
delete writes['read the status']
const reads = { ...optional, feed, status: open['read the status'] }

for (const [what, call] of Object.entries(writes)) {
  t.test(`${what}: from another site, or prefetched: 403; from its own: served`, async (t) => {
    for (const [headers, code] of crossSite) {
      const { status, body } = await call(ana, headers)
      t.equal(`${status} ${body.error}`, `403 ${code}`, JSON.stringify(headers))
    }
    for (const headers of sameSite) {
      t.ok((await call(ana, headers)).status < 300, JSON.stringify(headers))
    }
  })
}

for (const [what, call] of Object.entries(reads)) {
  t.test(`${what}: from another site: served, because it only reads`, async (t) => {
    for (const [headers] of crossSite) t.equal((await call(ana, headers)).status, 200)
  })
}

t.test('cross-site write: without a token, without a key: 403 comes first', async (t) => {
  const headers = { origin: 'https://elsewhere.example' }
  for (const call of Object.values(writes)) t.equal((await call(anonymous, headers)).status, 403)
})

t.test('public url: its origin counts as own, the listening address does not', async (t) => {
  const other = await startForum(t, ['--public-url', 'https://forum.example/'])
  const { anonymous } = other
  const create = (origin: string) => anonymous.post('/api/identities', {}, { origin })
  t.equal((await create('https://forum.example')).status, 201)
  t.equal((await create('http://forum.example')).body.error, 'cross_origin')
  t.equal((await create(other.url)).body.error, 'cross_origin')
  t.equal(other.document!.openApi.servers[0].url, 'https://forum.example')
})

const create = (forum: Forum, origin: string) =>
  forum.anonymous.post('/api/identities', {}, { origin, 'sec-fetch-site': 'cross-site' })

t.test('on loopback: a page at any loopback name with its port: same origin', async (t) => {
  for (const flags of [[], ['--host', 'localhost'], ['--host', '0.0.0.0']]) {
    const forum = await startForum(t, flags)
    for (const name of ['localhost', '127.0.0.1', '[::1]']) {
      t.equal((await create(forum, `http://${name}:${forum.port}`)).status, 201, name)
    }
    for (const origin of [
      ...[
        'http://localhost',
        `http://localhost:${forum.port + 1}`,
        `https://localhost:${forum.port}`,
      ],
      ...[`http://localhost.example:${forum.port}`, `http://127.0.0.2:${forum.port}`],
    ]) {
      t.equal((await create(forum, origin)).body.error, 'cross_origin', origin)
    }
  }
})

t.test('public url on loopback: other loopback names: same origin', async (t) => {
  const forum = await startForum(t, ['--public-url', 'http://localhost:8080'])
  t.equal((await create(forum, 'http://127.0.0.1:8080')).status, 201)
  t.equal((await create(forum, forum.url)).body.error, 'cross_origin')
})
