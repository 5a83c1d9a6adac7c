// Errors: pages for browsers, and JSON for programs and wherever the interface answers.

import t, { type Test } from 'tap'
import { bodyBytesMax } from '../../src/edge/http/incoming-body.ts'
import { Node } from '../edge/http/edge-node.ts'
import { type Answered, FakeExchange } from '../edge/http/fake-exchange.ts'
import { until } from '../until.ts'
import { browserAccept } from './browser.ts'
import { elementsOf } from './markup.ts'

const absent = `/t/thr_${'0'.repeat(32)}`

function answerOf(node: Node, exchange: FakeExchange): Answered {
  node.edge.handle(exchange)
  return exchange.answers[0]!
}

/** Returns the status, heading and first paragraph of an answer, which must be a page. */
function pageOf(t: Test, { status, headers, text }: Answered): [number, string, string] {
  t.match(headers, "default-src 'none'")
  t.match(headers, 'Vary: Accept')
  const elements = elementsOf(text!)
  const textOf = (wanted: string) => elements.find(({ name }) => name === wanted)!.text
  return [status, textOf('h1'), textOf('p')]
}

const refused = [
  {
    path: absent,
    query: 'after=abc',
    status: 400,
    sentence: /address is wrong: after must be a whole number from 0 to 9007199254740991/,
  },
  {
    path: absent,
    query: 'limit=0',
    status: 400,
    sentence: /address is wrong: limit must be a whole number from 1 to/,
  },
  {
    path: '/',
    query: 'limit=1000',
    status: 400,
    sentence: /address is wrong: limit must be a whole number from 1 to 50/,
  },
  { path: absent, status: 404, sentence: /nothing that is public/ },
  { path: '/nothing/here', status: 404, sentence: /nothing that is public/ },
  { path: 'http://forum.example/nothing', status: 404, sentence: /nothing that is public/ },
  { path: '/governance', method: 'post', status: 405, sentence: /does not accept such a request/ },
]

for (const { path, query = '', method = 'get', status, sentence } of refused) {
  t.test(`browser: ${method} ${path}?${query}: ${status}: a page says why`, async (t) => {
    const node = new Node()
    const headers = { accept: browserAccept }
    const answer = answerOf(node, new FakeExchange(method, path, headers, query))
    t.match(pageOf(t, answer), [status, /^(?:This does not work|Not found)$/, sentence])
    if (status === 405) t.match(answer.headers, 'Allow: GET, HEAD, OPTIONS')
  })
}

t.test('programs: errors at the paths of pages: JSON', async (t) => {
  const node = new Node()
  const read = (path: string, query = '', method = 'get') =>
    answerOf(node, new FakeExchange(method, path, { accept: '*/*' }, query)).text!
  t.match(JSON.parse(read('/nothing/here')), { error: 'not_found' })
  t.match(JSON.parse(read(absent, 'after=abc')), { error: 'invalid_number' })
  t.match(JSON.parse(read('/governance', '', 'post')), { error: 'method_not_allowed' })
  node.availability.refusal = 'starting'
  t.match(JSON.parse(read(absent)), { error: 'starting' })
})

t.test('browser: at a path of the interface: errors are JSON', async (t) => {
  const node = new Node()
  for (const path of ['/api/threads/x', '/api/nothing', 'http://forum.example/api/nothing']) {
    const { text } = answerOf(node, new FakeExchange('get', path, { accept: browserAccept }))
    t.match(JSON.parse(text!), { message: /./ }, path)
  }
})

t.test('browser: the node starts: a page that comes back, and says when', async (t) => {
  const node = new Node()
  node.availability.refusal = 'starting'
  for (const path of ['/', absent, '/nothing/here']) {
    const answer = answerOf(node, new FakeExchange('get', path, { accept: browserAccept }))
    t.match(pageOf(t, answer), [503, 'One moment', /is starting/])
    t.match(answer.headers, 'Retry-After: 1')
    t.match(answer.text, '<meta http-equiv="refresh" content="2">')
  }
})

t.test('browser: the node stops, or has too much to do: a page that stays', async (t) => {
  const node = new Node()
  node.availability.refusal = 'shutting_down'
  const headers = { accept: browserAccept }
  const answer = answerOf(node, new FakeExchange('get', '/', headers))
  t.match(pageOf(t, answer), [503, 'One moment', /is stopping/])
  t.notMatch(answer.text, 'http-equiv')
})

t.test('browser: a form that is refused unread: a page says how to get it back', async (t) => {
  const form = 'application/x-www-form-urlencoded'
  const headers = { accept: browserAccept, origin: 'http://127.0.0.1:1', 'content-type': form }
  const send = (node: Node, body: Buffer | null) => {
    const exchange = new FakeExchange('post', '/sign-in', headers)
    node.edge.handle(exchange)
    if (body !== null) exchange.endWith(body)
    node.sync()
    return exchange.answers[0]!
  }
  for (const refusal of ['starting', 'shutting_down'] as const) {
    const node = new Node()
    node.availability.refusal = refusal
    const answer = send(node, null)
    t.match(pageOf(t, answer), [
      503,
      'One moment',
      refusal === 'starting' ? /starting/ : /stopping/,
    ])
    t.match(answer.text, /The Back button of your browser brings back what you typed/)
    t.notMatch(answer.text, /http-equiv|This page appears/, 'a form has no page to come back to')
  }
  const unread = send(new Node(), Buffer.from([0x61, 0x3d, 0xff]))
  t.match(pageOf(t, unread), [400, 'This does not work', /not valid text/])
  t.match(unread.text, /The Back button/)
  const long = send(new Node(), Buffer.alloc(bodyBytesMax + 1, 'a'))
  t.match(pageOf(t, long), [413, 'This does not work', /This is too long: shorten it/])
  t.match(long.text, /The Back button/)
  const read = answerOf(new Node(), new FakeExchange('get', '/nothing', { accept: browserAccept }))
  t.notMatch(read.text, /The Back button/)
})

t.test('/search where a forum has none: says so', async (t) => {
  const search = (accept: string) => {
    const node = new Node()
    const exchange = new FakeExchange('get', '/search', { accept }, 'q=a')
    return { node, exchange }
  }
  const asked = [browserAccept, '*/*'].map(search)
  for (const { node, exchange } of asked) {
    node.edge.handle(exchange)
    await until('an answer', () => exchange.answers.length > 0)
  }
  const [page, json] = asked.map(({ exchange }) => exchange.answers[0]!)
  t.match(pageOf(t, page!), [404, 'Not found', 'This forum has no search.'])
  t.match(JSON.parse(json!.text!), { error: 'not_found', message: 'This forum has no search.' })
})
