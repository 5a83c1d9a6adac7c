// POST /api/batch: docs/interface.md, "Many at once".

import t from 'tap'
import type { BatchResponse } from '../../src/client/types.ts'
import { answersBytesMax, listBytesMax, requestsMax } from '../../src/edge/api/batch.ts'
import { type Answer, type Client, newKey, publishedThread, startForum } from './harness.ts'

const forum = await startForum(t)
const [ana, ben] = [await forum.identity(), await forum.identity()]

interface Listed {
  method?: unknown
  path?: unknown
  token?: unknown
  key?: unknown
  body?: unknown
}

const status = { method: 'GET', path: '/api/status' }

function post(path: string, body: object, more: Listed = {}): Listed {
  return { method: 'POST', path, key: newKey(), body, ...more }
}

function thread(title: string, more: Listed = {}): Listed {
  return post('/api/threads', { title, content: 'first' }, more)
}

/** Sends a batch that must be answered with 200, and returns its answers. */
async function send(caller: Client, requests: readonly Listed[], more = {}) {
  const answer = await caller.post('/api/batch', { requests }, more)
  t.equal(answer.status, 200, answer.text.slice(0, 300))
  return responsesOf(answer)
}

// The bodies are those of any operation.
function responsesOf({ body }: Answer) {
  return (body as unknown as { responses: (BatchResponse & { body: Answer['body'] })[] }).responses
}

function summary(responses: readonly BatchResponse[]): (number | string)[] {
  return responses.map(({ status, body }) => (status < 400 ? status : `${status} ${body.error}`))
}

t.test('batch: requests of several identities: each has its token, key and answer', async (t) => {
  const threadId = await publishedThread(ana)
  const path = `/api/threads/${threadId}/replies`
  const requests = [
    post(path, { content: 'of ana' }, { token: ana.token }),
    post(path, { content: 'of ben' }, { token: ben.token }),
    post(path, { content: 'of nobody' }),
    post(path, { content: 'of a stranger' }, { token: 'aic_x' }),
    { method: 'GET', path: `/api/threads/${threadId}` },
    { method: 'DELETE', path: `/api/threads/${threadId}/subscribe`, token: ben.token },
    { method: 'PUT', path: '/api/notifications/read', token: ben.token, body: { through: 1 } },
    status,
  ]
  const responses = await send(forum.anonymous, requests)
  const refused = ['401 authentication_required', '401 invalid_token']
  t.same(summary(responses), [201, 201, ...refused, 200, 200, 200, 200])
  const [first, second, , , page] = responses
  t.same([first!.body.author_id, second!.body.author_id], [ana.id, ben.id])
  const contents = page!.body.messages.map(({ content }) => content)
  t.same(contents, ['first message', 'of ana', 'of ben'], 'a read shows the writes before it')
  const again = await send(forum.anonymous, requests.slice(0, 2))
  t.same(summary(again), [200, 200], 'its keys are those of the requests')
  t.same(again[0]!.body.message_id, first!.body.message_id)
})

t.test('batch: its own token: for the requests without one', async (t) => {
  const own = { method: 'GET', path: '/api/identities/me' }
  const me = await send(ana, [own, { ...own, token: ben.token }])
  t.same(
    me.map(({ body }) => body.id),
    [ana.id, ben.id],
  )
  const authorization = 'Bearer aic_unknown'
  const responses = await send(forum.anonymous, [own, { ...own, token: ben.token }, status], {
    authorization,
  })
  t.same(summary(responses), ['401 invalid_token', 200, 200], 'and the batch itself has no caller')
})

t.test('batch: one that prefers short answers: all answers are short', async (t) => {
  const [long] = await send(ana, [thread('long')])
  t.ok('follow_up' in long!.body)
  const requests = [thread('short')]
  const answer = await ana.post('/api/batch', { requests }, { prefer: 'return=minimal' })
  t.equal(answer.headers['preference-applied'], 'return=minimal')
  t.notOk('follow_up' in responsesOf(answer)[0]!.body)
})

const list = (requests: readonly unknown[], more = {}) => JSON.stringify({ requests, ...more })
const poll = { method: 'GET', path: '/api/notifications' }
const good = thread('of a list that is refused', { token: ana.token })
const goodText = JSON.stringify(good)
const withBody = (body: string) => `{"method":"POST","path":"/api/threads","body":${body}}`
const listed = (...texts: string[]) => `{"requests":[${[goodText, ...texts].join(',')}]}`
const refused: [name: string, code: string, body: string, detail?: RegExp][] = [
  ['no requests', 'invalid_field', '{}'],
  ['an empty list', 'invalid_field', list([])],
  ['too many', 'invalid_field', list(Array(requestsMax + 1).fill(good)), /1 to 1000 items/],
  ['what is no request', 'invalid_json', list([good, 7])],
  ['a list in the list', 'invalid_json', list([good, [good]])],
  [
    'another method',
    'invalid_field',
    list([good, { ...good, method: 'PATCH' }]),
    /requests.1.method/,
  ],
  ['a method in small letters', 'invalid_field', list([good, { ...good, method: 'post' }])],
  ['no path', 'invalid_field', list([good, { method: 'GET' }]), /requests.1.path/],
  ['a path elsewhere', 'invalid_field', list([good, { ...status, path: '/llms.txt' }])],
  ['a batch in it', 'invalid_field', list([good, post('/api/batch', {})]), /but not .api.batch/],
  ['a batch with a query', 'invalid_field', list([good, post('/api/batch?a=b', {})])],
  [
    'publishing by GET',
    'invalid_field',
    list([good, { ...status, path: '/api/compat/publish?x' }]),
  ],
  ['an unknown field', 'unknown_field', list([good, { ...status, headers: {} }]), /headers/],
  ['an unknown field of its own', 'unknown_field', list([good], { atomic: true })],
  ['a body that is a text', 'invalid_field', list([good, { ...good, body: 'x' }])],
  ['a body that is a list', 'invalid_field', list([good, { ...good, body: [1] }])],
  ['a body that is null', 'invalid_field', list([good, { ...good, body: null }])],
  ['a list as a field', 'unknown_field', list([good, { ...status, headers: [[1]] }]), /headers/],
  ['a body that is no JSON', 'invalid_json', listed(withBody('{"title":tru}'))],
  ['another end', 'invalid_json', listed(withBody('{"title":"t"]'))],
  ['a missing comma', 'invalid_json', `{"requests":[${goodText}${goodText}]}`],
  ['a comma too many', 'invalid_json', `{"requests":[${goodText},]}`],
  ['only a part', 'invalid_json', listed(withBody('{"title":"t"}')).slice(0, -30)],
  ['a string without end', 'invalid_json', `{"requests":[${goodText},"`],
  ['more after it', 'invalid_json', `${list([good])}}`],
  ['a long head', 'invalid_json', list([good, { ...status, path: `/api/${'x'.repeat(20_000)}` }])],
  ['many fields', 'invalid_json', listed(`{${'"k":1,'.repeat(80_000)}"method":"GET"}`)],
  ['a list elsewhere', 'invalid_json', `{"x":[${goodText}],"requests":[]}`],
  ['a long time to wait', 'invalid_field', list([poll], { wait: 51 })],
  ['time to wait for a write', 'invalid_field', list([poll, good], { wait: 1 })],
  [
    'time to wait for a list',
    'invalid_field',
    list([{ ...poll, path: '/api/threads' }], { wait: 1 }),
  ],
]

for (const [name, code, body, detail = /./] of refused) {
  t.test(`batch: ${name}: refused, and nothing is done`, async (t) => {
    const json = { 'content-type': 'application/json' }
    const before = await ana.get('/api/threads?limit=1')
    const answer = await ana.send('POST', '/api/batch', json, body)
    t.same([answer.status, answer.body.error], [400, code], answer.text)
    t.match(answer.body.message, detail)
    t.same((await ana.get('/api/threads?limit=1')).body, before.body)
  })
}

t.test('batch: no JSON, another origin, too long: refused', async (t) => {
  t.equal((await ana.send('POST', '/api/batch', {}, list([good]))).status, 415)
  const elsewhere = { origin: 'https://elsewhere.example' }
  t.equal(
    (await ana.post('/api/batch', { requests: [good] }, elsewhere)).body.error,
    'cross_origin',
  )
  const json = { 'content-type': 'application/json' }
  const long = list([{ ...status, method: 'GET', path: '/api/status' }])
  const whole = long + ' '.repeat(listBytesMax - long.length)
  t.equal((await ana.send('POST', '/api/batch', json, whole)).status, 400, 'white space to the end')
  const { body } = await ana.send('POST', '/api/batch', json, `${whole} `)
  t.match(body, { error: 'too_large', message: /4 MiB/ })
})

t.test('batch: a body over the limits of one: its request alone is refused', async (t) => {
  const deep = `{"title":${'['.repeat(40)}${']'.repeat(40)}}`
  const many = `{"title":[${'1,'.repeat(3000)}1]}`
  const long = JSON.stringify({ title: 't', content: 'x'.repeat(300_000) })
  const json = { 'content-type': 'application/json' }
  const body = listed(...[deep, many, long, '{}'].map(withBody))
  const answer = await ana.send('POST', '/api/batch', json, body)
  const found = summary(responsesOf(answer))
  const missing = '400 idempotency_required'
  t.same(found, [201, '400 invalid_json', '400 invalid_json', '413 too_large', missing])
})

t.test('batch: two bodies, or one whose name is spelled otherwise: as in any JSON', async (t) => {
  const spelled =
    '{"method":"POST","path":"/api/threads","key":"a-key-of-two","b\\u006fdy":{"title":"t"'
  const two = `${spelled}},"body":{"title":"t","content":"the last one"}}`
  const json = { 'content-type': 'application/json' }
  const answer = await ana.send('POST', '/api/batch', json, listed(`${spelled}}}`, two))
  t.same(summary(responsesOf(answer)).slice(1), ['400 invalid_field', 201])
})

t.test('batch: 4 MiB of bodies in any characters: each is published as it is', async (t) => {
  const threadId = await publishedThread(ana)
  const path = `/api/threads/${threadId}/replies`
  const contents = [
    '"\\{[',
    '\u{1f600}"body":{',
    'ä'.repeat(4000),
    '{}'.repeat(3000),
    '\\"'.repeat(9),
  ]
  const requests = contents.map((content) => post(path, { content }))
  t.same(
    summary(await send(ana, requests)),
    contents.map(() => 201),
  )
  const shown = (await ana.messages(threadId)).map(({ content }) => content)
  t.same(shown.slice(1), contents)
  const most = Array.from({ length: 500 }, () => post(path, { content: 'z'.repeat(8000) }))
  t.same(
    summary(await send(ana, most)),
    most.map(() => 201),
  )
})

t.test('batch: a request that waits by itself: it alone is refused', async (t) => {
  const paths = ['wait=1', 'wait=0', 'w%61it=5', 'wait=x', 'limit=1'].map((query) => {
    return { method: 'GET', path: `/api/notifications?${query}` }
  })
  const no = '400 invalid_query'
  t.same(summary(await send(ana, paths)), [no, 200, no, no, 200])
})

t.test('batch: answers over 8 MiB: replaced; writes are done all the same', async (t) => {
  const threadId = await publishedThread(ana)
  const path = `/api/threads/${threadId}`
  const long = Array.from({ length: 100 }, () =>
    post(`${path}/replies`, { content: 'y'.repeat(8000) }),
  )
  await send(ana, long)
  const read = { method: 'GET', path: `${path}?limit=100` }
  const last = post(`${path}/replies`, { content: 'after them' })
  const answer = await ana.post('/api/batch', { requests: [...Array(15).fill(read), last, read] })
  const responses = responsesOf(answer)
  const full = '503 batch_full'
  t.same(summary(responses), [...Array(10).fill(200), ...Array(5).fill(full), 201, full])
  t.equal(responses[10]!.retry_after, 1)
  t.ok(answer.text.length <= answersBytesMax)
  t.same(summary(await send(ana, [last, read])), [200, 200], 'a key gives the answer')
})

t.test('batch: 1,000 reads that are not found: 1,000 answers', async (t) => {
  const requests = Array.from({ length: requestsMax }, (_, i) => {
    return { method: 'GET', path: `/api/threads/thr_${`${i}`.padStart(32, '0')}` }
  })
  t.same(summary(await send(ana, requests)), Array(requestsMax).fill('404 not_found'))
})

t.test('batch: polls with time to wait: answered when one of them has news', async (t) => {
  const threadId = await publishedThread(ana)
  await ben.subscribe(threadId)
  const { next_after: after } = (await ben.feed('?limit=100')).body
  const requests = [
    { method: 'GET', path: `/api/notifications?after=${after}`, token: ben.token },
    { method: 'GET', path: `/api/threads/${threadId}?after=${after + 1_000_000}` },
  ]
  const begun = performance.now()
  const waiting = ana.post('/api/batch', { requests, wait: 30 })
  await new Promise((resolve) => setTimeout(resolve, 300))
  await ana.reply(threadId, 'news')
  const responses = responsesOf(await waiting)
  t.ok(performance.now() - begun < 20_000, 'long before its time is over')
  t.same(summary(responses), [200, 200])
  t.equal(responses[0]!.body.notifications.length, 1)
  t.equal(responses[1]!.body.messages.length, 0)
})

t.test('batch: polls with time to wait, none has news: empty when it is over', async (t) => {
  const requests = [ana, ben].map(({ token }) => {
    return { method: 'GET', path: '/api/notifications?after=1000000', token }
  })
  const begun = performance.now()
  const responses = responsesOf(await ana.post('/api/batch', { requests, wait: 1 }))
  t.ok(performance.now() - begun >= 990)
  t.same(
    responses.map(({ body }) => body.notifications),
    [[], []],
  )
})

t.test('batch: polls with time to wait, one is refused: answered at once', async (t) => {
  const requests = [poll, { ...poll, token: 'aic_x' }, poll].map((each) => {
    return { ...each, path: '/api/notifications?after=1000000' }
  })
  const begun = performance.now()
  const answer = await ana.post('/api/batch', { requests, wait: 30 })
  t.ok(performance.now() - begun < 20_000)
  t.same(summary(responsesOf(answer)), [200, '401 invalid_token', 200])
})
