// Batches at the edge: what they hold, for how long they hold the event loop, and how they end. B1
// to B7 are invariants of src/edge/http/batch.ts, L2 and L3 are those of batch-list.ts.

import { setImmediate as nextIteration } from 'node:timers/promises'
import t from 'tap'
import { listBytesMax, requestsMax } from '../../../src/edge/api/batch.ts'
import { readList } from '../../../src/edge/http/batch-list.ts'
import { KeptLog, Pair, Side } from '../../cluster/replication/follower-pair.ts'
import { Node } from './edge-node.ts'
import { FakeExchange } from './fake-exchange.ts'

const status = { method: 'GET', path: '/api/status' }
const feed = '/api/notifications'

const list = (requests: readonly object[], wait = 0) => JSON.stringify({ requests, wait })

function begun(edge: { handle(exchange: FakeExchange): void }, text: string | Buffer, token = '') {
  const authorization = token === '' ? '' : `Bearer ${token}`
  const headers = { authorization, 'content-type': 'application/json' }
  const exchange = new FakeExchange('post', '/api/batch', headers)
  edge.handle(exchange)
  exchange.endWith(Buffer.from(text))
  return exchange
}

function responsesOf({ answers: [answer] }: FakeExchange) {
  return JSON.parse(answer!.text!).responses as { status: number; body: Record<string, unknown> }[]
}

function statusesOf(exchange: FakeExchange): number[] {
  return responsesOf(exchange).map(({ status }) => status)
}

/** A node whose clock says how many requests it has answered, as if each took a millisecond. */
function slowNode() {
  const wakes: (() => void)[] = []
  const answered = () => {
    return node.edge.meter.routes.reduce((sum, { answers }) => sum + answers[2]!, 0)
  }
  const node: Node = new Node({}, undefined, {
    atEnd: (end) => void setImmediate(end),
    now: answered,
    after: (_, wake) => void wakes.push(wake),
  })
  return { node, answered, wakes }
}

t.test('B2: 1,000 requests of 1 ms each: at most 5 in an iteration of the loop', async (t) => {
  const { node, answered } = slowNode()
  const batch = begun(node.edge, list(Array(requestsMax).fill(status)))
  let most = 0
  for (let i = 0; batch.answers.length === 0 && i < requestsMax; i++) {
    const before = answered()
    await nextIteration()
    most = Math.max(most, answered() - before)
  }
  t.strictSame(statusesOf(batch), Array(requestsMax).fill(200))
  t.ok(most <= 6, `${most} answers, of which one is the batch's own`)
})

t.test('B2: two batches and polls of others: all take turns', async (t) => {
  const { node, answered, wakes } = slowNode()
  const batches = [1, 2].map(() => begun(node.edge, list(Array(200).fill(status))))
  const polls: FakeExchange[] = []
  const ends = [0, 0]
  for (let i = 0; ends.includes(0) && i < 10_000; i++) {
    polls.push(node.get('/api/status'))
    await nextIteration()
    for (const wake of wakes.splice(0)) wake()
    for (const [n, { answers }] of batches.entries()) if (answers.length > 0) ends[n] ||= answered()
  }
  t.ok(
    polls.slice(0, -1).every(({ answers }) => answers.length === 1),
    'each poll at once',
  )
  t.ok(polls.length > 400, `${polls.length} polls were answered meanwhile, twice as many`)
  t.ok(Math.abs(ends[0]! - ends[1]!) < 50, 'both end at about the same time')
})

/** Returns the number of steps in which a text is read, and the outcome. */
function stepsOf(text: string) {
  const reading = readList(text, () => null)
  for (let steps = 1; ; steps++) {
    const { value, done } = reading.next()
    if (done) return { steps, outcome: value! }
  }
}

t.test('L2: hostile lists of 4 MiB: read in many steps', async (t) => {
  const fill = (unit: string) => unit.repeat((listBytesMax - 200) / unit.length)
  const inBody = (text: string) => `{"requests":[{"method":"GET","path":"/api/x","body":${text}}]}`
  const brackets = fill('[],')
  const hostile = {
    brackets: inBody(`{"a":[${brackets}0]}`),
    'open brackets': inBody(`{"a":${fill('[')}`),
    'escaped quotes': inBody(`{"a":"${fill('\\"')}"}`),
    'escapes in a path': `{"requests":[{"method":"GET","path":"${fill('\\"')}"}]}`,
    'white space': `{"requests":[${fill(' ')}`,
    numbers: `{"requests":[${fill('0,')}0]}`,
    'empty objects': `{"requests":[${fill('{},')}{}]}`,
    'names of fields': `{"requests":[{${fill('"k":1,')}"method":"GET"}]}`,
  }
  for (const [name, text] of Object.entries(hostile)) {
    const { steps, outcome } = stepsOf(text)
    // Those that are given up early take few steps.
    const least = name === 'white space' || name === 'numbers' ? 4 : 60
    t.ok(steps >= least, `${name}: ${steps} steps`)
    if (name === 'brackets' || name === 'escaped quotes') t.notOk('code' in outcome, name)
    else t.ok('code' in outcome, name)
  }
})

t.test('L3: bodies over the limits: kept as texts, and read no further', async (t) => {
  const deep = `{"a":${'['.repeat(50)}${']'.repeat(50)}}`
  const { outcome } = stepsOf(`{"requests":[{"body":${deep},"method":"POST","path":"/api/x"}]}`)
  const [read] = 'code' in outcome ? [] : outcome.requests
  t.strictSame([read?.body?.text, read?.body?.fields], [deep, null])
})

t.test('B3: a write and a read, at a reader and at a follower: the read shows it', async (t) => {
  for (const as of ['reader', 'follower'] as const) {
    const pair = new Pair({ as })
    const { edge } = pair.follower
    const until = (exchange: FakeExchange) => {
      for (let i = 0; exchange.answers.length === 0 && i < 20; i++) pair.settle()
      return responsesOf(exchange)
    }
    const body = { kind: 'persistent' }
    const register = { method: 'POST', path: '/api/identities', body }
    const [ana] = until(begun(edge, list([register])))
    const post = { method: 'POST', path: '/api/threads', key: 'key-of-thread' }
    const thread = { ...post, body: { title: 't', content: 'c' } }
    const lists = { method: 'GET', path: '/api/threads' }
    const found = until(begun(edge, list([thread, lists, thread, lists]), `${ana!.body.token}`))
    t.strictSame(
      found.map(({ status }) => status),
      [201, 200, 200, 200],
    )
    t.match(found[1]!.body, { threads: [{ title: 't' }] }, as)
  }
})

t.test('B4: 30 long polls of one caller: none is refused for the others', async (t) => {
  const node = new Node()
  for (let i = 0; i < 5000; i++) node.post('/api/threads', { title: 't', content: 'first' })
  node.sync()
  const batch = begun(node.edge, list(Array(30).fill({ method: 'GET', path: feed })), node.token)
  for (let i = 0; batch.answers.length === 0 && i < 1000; i++) await nextIteration()
  t.strictSame(statusesOf(batch), Array(30).fill(200))
})

t.test('B6: what it shows is not durable: it waits; the sync fails: refused', async (t) => {
  const node = new Node()
  const path = node.thread()
  const requests = [status, { method: 'POST', path: `${path}/subscribe` }, status]
  const written = [1, 2].map((i) => {
    const reply = {
      method: 'POST',
      path: `${path}/replies`,
      key: `key-of-${i}`,
      body: { content: 'c' },
    }
    return begun(node.edge, list([...requests, reply]), node.token)
  })
  for (const { answers } of written) t.equal(answers.length, 0)
  node.sync()
  for (const batch of written) t.strictSame(statusesOf(batch), [200, 200, 200, 201])
  const read = begun(node.edge, list([status]))
  t.strictSame(statusesOf(read), [200], 'at once')
  const reply = { method: 'POST', path: `${path}/replies`, key: 'key-of-3', body: { content: 'c' } }
  const lost = begun(node.edge, list([status, reply]), node.token)
  node.gate.fail()
  t.equal(lost.answers.length, 1)
  t.equal(lost.code, 'storage_failed')
})

t.test('batch: the node stops in between: the rest is refused', async (t) => {
  const { node } = slowNode()
  const batch = begun(node.edge, list(Array(20).fill(status)))
  await nextIteration()
  node.availability.refusal = 'shutting_down'
  for (let i = 0; batch.answers.length === 0 && i < 20; i++) await nextIteration()
  t.strictSame([...new Set(statusesOf(batch))], [200, 503])
})

const polls = [1, 2].map((after) => ({ method: 'GET', path: `${feed}?after=${after}000000` }))

t.test('batch: its polls wait: one has news, and all are answered', async (t) => {
  const node = new Node()
  const path = node.thread()
  const after = node.journal.position
  const own = { method: 'GET', path: `${path}?after=${after}` }
  const batch = begun(node.edge, list([...polls, own], 50), node.token)
  t.equal(node.forum.waiting.length, 3)
  const reply = node.post(`${path}/replies`, { content: 'news' })
  t.equal(batch.answers.length, 0)
  node.sync()
  t.equal(reply.code, 201)
  t.strictSame(statusesOf(batch), [200, 200, 200])
  t.match(responsesOf(batch)[2]!.body, { messages: [{ content: 'news' }] })
  t.equal(node.forum.waiting.length, 0)
  t.strictSame(statusesOf(begun(node.edge, list([own, ...polls], 50), node.token)), [200, 200, 200])
  t.equal(node.forum.waiting.length, 0, 'with news, none waits')
})

/** A node whose caller follows so many threads that a poll of its feed takes several iterations. */
function nodeWithLongPolls() {
  const node = new Node()
  for (let i = 0; i < 5000; i++) node.post('/api/threads', { title: 't', content: 'first' })
  node.sync()
  const path = node.thread()
  const after = node.journal.position
  return { node, path, long: { method: 'GET', path: feed }, after }
}

async function iterationsUntil(isDone: () => boolean): Promise<void> {
  for (let i = 0; !isDone() && i < 1000; i++) await nextIteration()
}

t.test(
  'batch: its wait ends while a poll is searched for: answered when that is over',
  async (t) => {
    const { node, path, long, after } = nodeWithLongPolls()
    const own = { method: 'GET', path: `${path}?after=${after}` }
    const batch = begun(node.edge, list([long, own], 50), node.token)
    t.equal(node.forum.waiting.length, 1, 'the long one does not wait yet')
    node.post(`${path}/replies`, { content: 'news' })
    node.sync()
    t.equal(batch.answers.length, 0, 'the search is not over')
    await iterationsUntil(() => batch.answers.length > 0)
    t.strictSame(statusesOf(batch), [200, 200])
    t.match(responsesOf(batch)[0]!.body, { notifications: [] })
    t.match(responsesOf(batch)[1]!.body, { messages: [{ content: 'news' }] })
    t.equal(node.forum.waiting.length, 0, 'it did not begin to wait')
  },
)

t.test('B4: the wait of many long polls of one caller ends: none is refused', async (t) => {
  const { node, long } = nodeWithLongPolls()
  const caller = node.token
  node.register() // somebody whose threads the caller does not follow
  const path = node.thread()
  const own = { method: 'GET', path: `${path}?after=${node.journal.position}` }
  const batch = begun(node.edge, list([...Array(29).fill(long), own], 50), caller)
  await iterationsUntil(() => node.forum.waiting.length === 30)
  node.post(`${path}/replies`, { content: 'news' })
  node.sync()
  await iterationsUntil(() => batch.answers.length > 0)
  t.strictSame(statusesOf(batch), Array(30).fill(200))
})

t.test('batch: its polls wait: the node stops: all are answered', async (t) => {
  const node = new Node()
  const batch = begun(node.edge, list(polls, 50), node.token)
  node.availability.refusal = 'shutting_down'
  await node.forum.waiting.stop()
  t.strictSame(statusesOf(batch), [200, 200])
})

t.test('batch: its client hangs up: nothing is held', async (t) => {
  const side = new Side(new KeptLog())
  side.load.limits.queueBytesMax = 1 << 20
  const waiting = { method: 'GET', path: `/api/threads/thr_${'0'.repeat(32)}` }
  t.strictSame(statusesOf(begun(side.edge, list([waiting], 50))), [404])
  const registered = side.post('/api/identities', {})
  side.gate.open(10)
  const { token } = JSON.parse(registered.answers[0]!.text!)
  const batch = begun(side.edge, list(polls, 50), token)
  t.equal(side.forum.waiting.length, 2)
  t.ok(side.load.bodyBytes > 100, 'its list is counted')
  batch.hangUp()
  t.equal(side.forum.waiting.length, 0)
  t.strictSame([side.load.bodyBytes, side.load.answerBytes], [0, 0])
  t.equal(side.forum.waiting.ended.gone, 2)
  t.equal(batch.answers.length, 0)
})

t.test('B7: lists that are refused as no text: they count no more', async (t) => {
  const { edge, load } = new Side(new KeptLog())
  load.limits.queueBytesMax = Number.POSITIVE_INFINITY
  const long = list([{ ...status, body: { of: 'x'.repeat(listBytesMax - 1000) } }])
  for (let i = 0; i < 20; i++) {
    t.equal(begun(edge, Buffer.from(`${long}\xff`, 'latin1')).code, 'invalid_json')
  }
  t.equal(load.bodyBytes, 0)
  t.strictSame(statusesOf(begun(edge, list([status]))), [200])
})

t.test('B7: lists that wait: a network has a share of them; others too', async (t) => {
  const side = new Side(new KeptLog())
  side.load.limits.queueBytesMax = Number.POSITIVE_INFINITY
  const registered = side.post('/api/identities', {})
  side.gate.open(10)
  const { token } = JSON.parse(registered.answers[0]!.text!)
  const long = list([{ ...polls[0], body: { of: 'x'.repeat(listBytesMax - 1000) } }], 50)
  const held = Array.from({ length: 8 }, () => begun(side.edge, long, token))
  for (const { answers } of held) t.equal(answers.length, 0)
  const more = begun(side.edge, long, token)
  t.strictSame([more.code, side.load.refused.bodies], ['overloaded', 1])
  for (const batch of held) batch.hangUp()
  t.equal(begun(side.edge, long, token).answers.length, 0, 'as many as before')
})
