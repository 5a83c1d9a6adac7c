// The edge between the HTTP library and the routes: its answers when the service is not ready, when
// the log is not yet durable, when the log has failed, and when the disk is full.

import { setImmediate as nextTick } from 'node:timers/promises'
import t from 'tap'
import { Edge } from '../../../src/edge/http/handle.ts'
import { routes } from '../../../src/forum/routes.ts'
import { errors } from '../../../src/kernel/rejection.ts'
import { dayMs, serviceOf } from '../../forum/doubles.ts'
import { Node } from './edge-node.ts'
import { FakeExchange } from './fake-exchange.ts'

const reply = { content: 'a reply' }

for (const refusal of ['starting', 'shutting_down'] as const) {
  t.test(`edge: ${refusal}: every request is 503 with Retry-After`, async (t) => {
    const edge = new Edge(routes, { refusal })
    for (const [method, path] of [
      ['get', '/api/status'],
      ['post', '/api/threads'],
      ['options', '/api/threads'],
      ['get', '/nowhere'],
      ['head', '/openapi.json'],
    ]) {
      const exchange = new FakeExchange(method, path)
      edge.handle(exchange)
      t.equal(exchange.answers.length, 1)
      t.equal(exchange.code, refusal)
      t.match(exchange.answers[0], { status: 503, headers: /\r\nRetry-After: [1-9]\d*$/ })
    }
  })
}

t.test('edge: stops while a body arrives: 503, and nothing is written', async (t) => {
  const node = new Node()
  const written = node.journal.position
  const late = node.begin('/api/threads')
  node.availability.refusal = 'shutting_down'
  late.end({ title: 't', content: 'c' })
  t.equal(late.code, 'shutting_down')
  t.equal(node.journal.position, written)
})

t.test('edge: a write: answered when it is durable, not before', async (t) => {
  const node = new Node()
  const path = node.thread()
  const write = node.post(`${path}/replies`, reply)
  t.strictSame([write.answers.length, write.isHeld], [0, true])
  node.sync()
  t.equal(write.code, 201)
})

t.test('edge: a read of what is not durable: waits; of older records: does not', async (t) => {
  const node = new Node()
  const [older, newer] = [node.thread(), node.thread()]
  node.post(`${newer}/replies`, reply)
  t.equal(node.get(older).code, 200)
  t.equal(node.get('/api/status').code, 200)
  const waiting = [node.get(newer), node.get('/api/threads')]
  for (const { answers, isHeld } of waiting) t.strictSame([answers.length, isHeld], [0, true])
  node.sync()
  for (const read of waiting) t.equal(read.code, 200)
})

t.test('edge: a feed of 5,000 threads: after several ticks, and when it is durable', async (t) => {
  const node = new Node()
  for (let i = 0; i < 5000; i++) node.post('/api/threads', { title: 't', content: 'first' })
  node.sync()
  const poll = node.get('/api/notifications')
  t.strictSame([poll.answers.length, poll.isHeld], [0, true], 'not at once')
  for (let ticks = 0; ticks < 20; ticks++) await nextTick()
  t.equal(poll.code, 200)
  node.post('/api/threads', { title: 't', content: 'first' })
  const later = node.get('/api/notifications')
  for (let ticks = 0; ticks < 20; ticks++) await nextTick()
  t.equal(later.answers.length, 0, 'a subscription of its caller is not durable')
  node.sync()
  t.equal(later.code, 200)
})

t.test('edge: a page that waits: keeps its bytes, whatever is read meanwhile', async (t) => {
  const node = new Node()
  const [path, other] = [node.thread(), node.thread()]
  node.post(`${path}/replies`, { content: 'the one that is waited for' })
  const waiting = node.get(path)
  for (let i = 0; i < 10; i++) t.equal(node.get(other).code, 200)
  node.sync()
  const { messages } = JSON.parse(waiting.answers[0].text!)
  t.match(messages, [{ content: 'first' }, { content: 'the one that is waited for' }])
})

t.test('edge: pages of any length in one tick: each has its own bytes, in order', async (t) => {
  const node = new Node()
  const contents = ['short', 'x'.repeat(5000), 'another', 'y'.repeat(5000), 'last']
  const paths = contents.map((content) => {
    const { answers } = node.post('/api/threads', { title: 't', content })
    node.sync()
    return JSON.parse(answers[0].text!).read_url as string
  })
  for (let i = 0; i < 3; i++) {
    const reads = node.inOneTick(() => {
      const reads = paths.map((path) => node.get(path))
      for (const { answers, isHeld } of reads) t.strictSame([answers.length, isHeld], [0, true])
      return reads
    })
    const shown = reads.map(({ answers }) => JSON.parse(answers[0].text!).messages[0].content)
    t.strictSame(shown, contents, `read ${i + 1} times`)
  }
})

t.test('edge: writes of one tick: one batch of the log, before answers leave', async (t) => {
  const node = new Node()
  const path = node.thread()
  const { position, flushed } = node.journal
  const before = flushed.length
  const writes = node.inOneTick(() => [1, 2, 3].map(() => node.post(`${path}/replies`, reply)))
  t.strictSame(flushed.slice(before), [position + 3])
  node.sync()
  for (const { code } of writes) t.equal(code, 201)
})

t.test('edge: stops before the tick ends: 503, and nothing is written', async (t) => {
  const node = new Node()
  const path = node.thread()
  const { position } = node.journal
  const answers = node.inOneTick(() => {
    const requests = [node.get(path), node.post(`${path}/replies`, reply)]
    node.availability.refusal = 'shutting_down'
    return requests
  })
  for (const { code } of answers) t.equal(code, 'shutting_down')
  t.equal(node.journal.position, position)
})

t.test('edge: a guest expires before the tick ends: refused, nothing is written', async (t) => {
  const node = new Node()
  const path = node.thread()
  const write = node.inOneTick(() => {
    const write = node.post(`${path}/replies`, reply)
    node.clock.now += 8 * dayMs
    return write
  })
  node.sync()
  t.equal(write.code, 'invalid_token')
  node.token = ''
  t.equal(JSON.parse(node.get(path).answers[0].text!).thread.message_count, 1)
})

t.test('edge: the token is replaced while a write goes on: its outcome is reported', async (t) => {
  const node = new Node()
  let prove: (proof: { error: string | null }) => void = () => {}
  const proof = new Promise<{ error: string | null }>((resolve) => {
    prove = resolve
  })
  const webhooks = { refuseUrl: () => null, challenge: () => proof }
  node.edge.open({ ...serviceOf(node.forum), webhooks }, node.gate)
  const path = '/api/notifications/webhook'
  node.post(path, { url: 'https://hooks.example.com/' })
  node.sync()
  const verification = node.send('post', `${path}/verify`)
  node.post('/api/identities/me/token', {})
  node.sync()
  t.equal(node.get(path).code, 'invalid_token')
  prove({ error: null })
  await nextTick()
  node.sync()
  t.equal(verification.code, 200)
  t.match(JSON.parse(verification.answers[0]!.text!), { verified: true })
})

t.test('edge: replay and conflict of a write that is not durable: also wait for it', async (t) => {
  const node = new Node()
  const path = `${node.thread()}/replies`
  const first = node.post(path, reply, 'same-key')
  const replay = node.post(path, reply, 'same-key')
  const conflict = node.post(path, { content: 'another' }, 'same-key')
  for (const { answers } of [first, replay, conflict]) t.equal(answers.length, 0)
  node.sync()
  t.strictSame([first.code, replay.code, conflict.code], [201, 200, 'idempotency_conflict'])
})

t.test('edge: a refusal that shows nothing new: at once, whatever waits', async (t) => {
  const node = new Node()
  const path = node.thread()
  node.post(`${path}/replies`, reply)
  t.equal(node.get('/api/threads/x').code, 'invalid_id')
  t.equal(node.post(`${path}/replies`, { content: '' }).code, 'invalid_field')
  t.equal(node.post(`/api/threads/thr_${'0'.repeat(32)}/replies`, reply).code, 'not_found')
})

t.test('edge: the sync fails: all that wait get storage_failed, once', async (t) => {
  const node = new Node()
  const path = node.thread()
  const waiting = [
    node.post(`${path}/replies`, reply, 'same-key'),
    node.post(`${path}/replies`, reply, 'same-key'),
    node.post(`${path}/replies`, { content: 'another' }, 'same-key'),
    node.get(path),
  ]
  node.journal.health = 'storage_failed'
  node.gate.fail()
  node.gate.fail()
  for (const { answers, code } of [...waiting, node.post(`${path}/replies`, reply)]) {
    t.equal(answers.length, 1)
    t.equal(code, 'storage_failed')
    t.match(answers[0], { status: 503, headers: /\r\nRetry-After: [1-9]\d*$/ })
  }
})

t.test('edge: another node leads: all that wait get no_leader, and may try again', async (t) => {
  const node = new Node()
  const waiting = node.post(`${node.thread()}/replies`, reply, 'some-key')
  node.gate.fail('no_leader')
  t.equal(waiting.code, 'no_leader')
  t.match(waiting.answers[0], { status: 503, headers: /\r\nRetry-After: [1-9]\d*$/ })
})

for (const health of ['storage_full', 'overloaded'] as const) {
  t.test(
    `edge: ${health}: writes are 503, reads and replays go on, then all is as before`,
    async (t) => {
      const node = new Node()
      const path = node.thread()
      node.post(`${path}/replies`, reply, 'before-it')
      node.sync()
      const written = node.journal.position
      node.journal.health = health
      const writes = [
        node.post(`${path}/replies`, reply),
        node.post('/api/threads', { title: 't', content: 'c' }),
        node.post('/api/identities', {}),
      ]
      for (const write of writes) {
        t.equal(write.code, health)
        t.match(write.answers[0].headers, `\r\nRetry-After: ${errors[health].retryAfter}`)
      }
      t.equal(node.journal.position, written)
      t.equal(node.get(path).code, 200)
      t.equal(node.post(`${path}/replies`, reply, 'before-it').code, 200)

      node.journal.health = 'ok'
      const after = node.post(`${path}/replies`, reply)
      node.sync()
      t.equal(after.code, 201)
    },
  )
}

t.test('edge: another node may lead by now: nothing is refused by the state', async (t) => {
  const node = new Node()
  const path = node.thread()
  const key = 'a-key-of-before'
  t.equal(node.post(`${path}/replies`, reply, key).answers.length, 0)
  node.sync()
  const none = '/api/threads/thr_00000000000000000000000000000000'
  const { token } = node
  const unknown = <T>(does: () => T): T => {
    node.token = token.replace(/.$/, token.endsWith('0') ? '1' : '0')
    const done = does()
    node.token = token
    return done
  }
  const refusals = () => [
    node.get(none),
    node.post(`${none}/replies`, reply),
    unknown(() => node.get('/api/notifications')),
    unknown(() => node.begin('/api/threads')),
    node.post(`${path}/replies`, { content: 'another one' }, key),
    // Another node may have recorded the opposite in the meantime.
    node.post(`${path}/replies`, reply, key),
    node.send('post', `${path}/subscribe`),
  ]
  const now = performance.now()
  const codes = () => refusals().map(({ code }) => code)
  const expected = ['not_found', 'not_found', 'invalid_token', 'invalid_token']
  t.same(codes(), [...expected, 'idempotency_conflict', 200, 200])
  for (const showsUntilMs of [now, now + 1e9]) {
    node.gate.standing = { decidesUntilMs: now, showsUntilMs }
    t.same(codes(), Array(7).fill('no_leader'))
    t.equal(node.get(path).code, 'no_leader', 'its caller may be blocked by now')
    node.token = ''
    t.equal(node.get(path).code, showsUntilMs === now ? 'no_leader' : 200)
    node.token = token
    t.equal(node.get('/nowhere').code, 'not_found', 'whatever the state is')
    t.equal(node.post('/api/threads', { title: 7 }).code, 'invalid_field')
  }
  const write = node.post(`${path}/replies`, reply)
  t.equal(write.answers.length, 0, 'the log decides')
  node.sync()
  t.equal(write.code, 201)
  node.gate.standing = { decidesUntilMs: now + 1e9, showsUntilMs: now + 1e9 }
  t.same(codes(), [...expected, 'idempotency_conflict', 200, 200])
  node.gate.fail('no_leader')
  t.same(codes(), Array(7).fill('no_leader'))
  t.equal(node.get(path).code, 'no_leader')
})
