// A follower: it applies the records of a leader, shows what is durable, and forwards writes.

import t from 'tap'
import { eraseMessage } from '../../../src/forum/moderation/commands.ts'
import { withPages } from '../../../src/forum/pages.ts'
import { routes } from '../../../src/forum/routes.ts'
import { publishPath } from '../../../src/forum/tickets/routes.ts'
import type { Journal } from '../../../wal/journal/types.ts'
import { FakeExchange } from '../../edge/http/fake-exchange.ts'
import { dayMs, goOn } from '../../forum/doubles.ts'
import { stateHash } from '../../forum/state-hash.ts'
import { until } from '../../until.ts'
import { Pair, passingWhole } from './follower-pair.ts'

let keys = 0
const newKey = () => `key-of-test-${keys++}`

interface ThreadPage {
  messages?: object[]
  notifications?: object[]
  next_after: number
}

function bodyOf({ answers }: FakeExchange): Record<string, string> {
  return JSON.parse(answers[0]!.text!)
}

/** Returns a pair with a caller, a thread that the caller has published, and nothing in transit. */
function begunPair(waitMs?: number) {
  const pair = new Pair({ ...(waitMs !== undefined && { waitMs }) })
  const created = pair.follower.post('/api/identities', { kind: 'guest' })
  pair.settle()
  const { token, id } = bodyOf(created) as { token: string; id: string }
  const posted = pair.follower.post('/api/threads', { title: 't', content: 'c' }, token, newKey())
  pair.settle()
  const { thread_id: thread, message_id: message } = bodyOf(posted) as Record<string, string>
  return { pair, token, id, thread: thread!, message: message! }
}

t.test(
  'follower: a write: done by the leader, answered when it is durable and applied',
  async (t) => {
    const { pair, token, thread } = begunPair()
    const path = `/api/threads/${thread}`
    const write = pair.follower.post(`${path}/replies`, { content: 'new' }, token, newKey())
    t.equal(pair.forwarder.inFlight, 1)
    t.strictSame([write.answers.length, pair.answers.length], [0, 0], 'not durable at the leader')
    pair.sync()
    for (const arrive of pair.answers.splice(0)) arrive()
    t.equal(write.answers.length, 0, 'not applied by the follower')
    pair.receive()
    t.equal(write.answers.length, 0, 'not durable for the follower')
    pair.role.show(pair.log.durable)
    t.equal(write.code, 201)
    t.equal(pair.forwarder.inFlight, 0)
    t.match(pair.follower.get(path).answers[0]!.text, /"content":"new"/)
    t.equal(pair.follower.load.answerBytes, 0)
  },
)

t.test(
  'follower: it does not catch up: a write that the leader has done: 503, counted until then',
  async (t) => {
    const { pair, token, thread } = begunPair(1)
    const path = `/api/threads/${thread}/replies`
    const key = newKey()
    const write = pair.follower.post(path, { content: 'new' }, token, key)
    pair.sync()
    for (const arrive of pair.answers.splice(0)) arrive()
    await until('the answer to a write that the follower lacks', () => write.answers.length > 0)
    t.equal(write.code, 'overloaded')
    t.equal(pair.forwarder.inFlight, 1)
    pair.settle()
    t.strictSame([write.answers.length, pair.forwarder.inFlight], [1, 0])
    const again = pair.follower.post(path, { content: 'new' }, token, key)
    pair.settle()
    t.equal(again.code, 200)
  },
)

t.test('follower: a write: its answer is late, and waits: refused ten seconds after it', (t) => {
  const { pair, token, thread } = begunPair()
  let now = performance.now()
  let waitsMs = 0
  t.intercept(performance, 'now', { value: () => now })
  t.intercept(globalThis, 'setTimeout', {
    value: (_: unknown, ms: number) => {
      waitsMs = ms
    },
  })
  for (const lateMs of [0, 2_000, 4_900]) {
    pair.follower.post(`/api/threads/${thread}/replies`, { content: 'new' }, token, newKey())
    pair.sync()
    now += lateMs
    for (const arrive of pair.answers.splice(0)) arrive()
    t.ok(waitsMs > 1_000 && lateMs + waitsMs < 10_000, `after ${lateMs} ms another ${waitsMs}`)
  }
  t.end()
})

t.test('follower: a write is answered: nothing waits to refuse it any more', (t) => {
  const { pair, token, thread } = begunPair()
  const refusals = new Set<() => void>()
  t.intercept(globalThis, 'setTimeout', {
    value: (run: () => void) => {
      refusals.add(run)
      return run
    },
  })
  t.intercept(globalThis, 'clearTimeout', { value: (run: () => void) => refusals.delete(run) })
  const path = `/api/threads/${thread}/replies`
  const write = pair.follower.post(path, { content: 'new' }, token, newKey())
  pair.sync()
  for (const arrive of pair.answers.splice(0)) arrive()
  t.equal(refusals.size, 1, 'until the follower has it')
  pair.settle()
  t.equal(write.code, 201)
  t.equal(refusals.size, 0)
  t.end()
})

for (const as of ['follower', 'reader'] as const) {
  t.test(`${as}: a caller prefers return=minimal: the leader learns of it`, async (t) => {
    const pair = new Pair({ as })
    const headers = { 'content-type': 'application/json', prefer: 'return=minimal' }
    const write = new FakeExchange('post', '/api/identities', headers)
    pair.follower.edge.handle(write)
    write.end({ kind: 'guest' })
    pair.settle()
    t.match(write.answers, [{ status: 201, headers: /Preference-Applied: return=minimal/ }])
    t.notOk(write.answers[0]!.text!.includes('follow_up'))
  })
}

t.test('follower: records that are applied but not durable: not shown', async (t) => {
  const { pair, token, thread } = begunPair()
  const path = `/api/threads/${thread}`
  const { message_count: before } = bodyOf(pair.follower.get(path)) as never
  pair.leader.post(`${path}/replies`, { content: 'secret' }, token, newKey())
  pair.receive()
  const read = pair.follower.get(path)
  t.equal(read.answers.length, 0, 'it waits for the gate')
  pair.sync()
  pair.role.show(pair.log.durable)
  t.match(read.answers[0]!.text, /secret/)
  t.equal(before, undefined)
})

t.test('follower: a waiting poll: answered when the news is durable', async (t) => {
  const { pair, token, thread } = begunPair()
  const path = `/api/threads/${thread}`
  const poll = pair.follower.get(path, token, `after=${pair.role.position}&wait=20`)
  t.equal(poll.answers.length, 0)
  pair.leader.post(`${path}/replies`, { content: 'news' }, token, newKey())
  pair.receive()
  t.equal(poll.answers.length, 0)
  pair.sync()
  pair.role.show(pair.log.durable)
  t.match(poll.answers[0]!.text, /"content":"news"/)
  await pair.follower.forum.waiting.stop()
})

t.test(
  'L1: records twice, overlapping, or with a gap: applied once, and asked for again',
  async (t) => {
    const { pair, token, thread } = begunPair()
    const { role, log } = pair
    for (let i = 0; i < 6; i++) {
      pair.leader.post(`/api/threads/${thread}/replies`, { content: `r${i}` }, token, newKey())
    }
    const begin = role.position
    t.notOk(role.receive(begin + 2, 2, pair.frame(begin + 1, begin + 3)), 'a gap')
    t.equal(role.position, begin)
    t.ok(role.receive(begin + 1, 2, pair.frame(begin, begin + 2)))
    t.ok(role.receive(begin + 1, 2, pair.frame(begin, begin + 2)), 'again')
    t.equal(role.position, begin + 2)
    t.ok(role.receive(begin - 1, 8, pair.frame(begin - 2)), 'overlapping')
    t.equal(role.position, log.position)
    t.equal(stateHash(pair.follower.forum.state), stateHash(pair.leader.forum.state))
  },
)

t.test('follower: durable further than what it has received: shows what it has', async (t) => {
  const { pair } = begunPair()
  pair.role.show(pair.log.position + 10)
  t.equal(pair.role.durable, pair.role.position)
})

t.test('follower: restored once, a cursor from ahead: an empty page, not older ones', async (t) => {
  const { pair, token, thread } = begunPair()
  const { leader, follower } = pair
  leader.role.lead(
    Object.assign(pair.log, { failure: null }) as unknown as Journal,
    leader.gate.standing,
  )
  for (const { forum } of [leader, follower]) forum.epochBegin = 1
  const path = `/api/threads/${thread}`
  leader.post(`${path}/replies`, { content: 'news' }, token, newKey())
  leader.role.becameDurable(pair.log.position)
  const after = leader.role.position
  t.equal(after, follower.role.position + 1, 'it lags')
  for (const at of [path, '/api/notifications']) {
    const page = bodyOf(follower.get(at, token, `after=${after}`)) as unknown as ThreadPage
    t.strictSame([page.messages ?? page.notifications, page.next_after], [[], after], at)
  }
  const restored = bodyOf(leader.get(path, token, `after=${after + 1}`)) as unknown as ThreadPage
  t.equal(restored.messages?.length, 2, 'the leader knows that its epoch is newer')
  leader.gate.standing = { decidesUntilMs: 0, showsUntilMs: Number.POSITIVE_INFINITY }
  const stale = bodyOf(leader.get(path, '', `after=${after + 1}`)) as unknown as ThreadPage
  t.strictSame(stale.messages, [], 'a leader that may have been replaced does not')
  await Promise.all([follower.forum.waiting.stop(), leader.role.stop()])
})

t.test('W1: a forwarded write: every check is made as if the leader had been called', async (t) => {
  const { pair, token, thread } = begunPair()
  const path = `/api/threads/${thread}/replies`
  const both = (ask: (side: Pair['leader']) => FakeExchange) => {
    const [there, here] = [ask(pair.leader), ask(pair.follower)]
    pair.settle()
    t.same(here.answers, there.answers)
    return here.code
  }
  const key = newKey()
  t.equal(
    both((side) => side.post(path, { content: 'x' }, 'no token', key)),
    'authentication_required',
  )
  t.equal(
    both((side) => side.post(path, { content: 'x' }, token, 'short')),
    'idempotency_required',
  )
  t.equal(
    both((side) => side.post(path, { contents: 'x' }, token, newKey())),
    'unknown_field',
  )
  t.equal(
    both((side) => side.post('/api/threads/thr_1/replies', {}, token, key)),
    'invalid_id',
  )
  t.equal(
    both((side) => side.send('delete', '/api/notifications/webhook', token)),
    200,
  )
  t.equal(
    both((side) => side.get(publishPath, '', 'ticket=1')),
    'invalid_query',
  )
  const first = pair.leader.post(path, { content: 'once' }, token, key)
  pair.settle()
  const again = pair.follower.post(path, { content: 'once' }, token, key)
  pair.settle()
  t.strictSame([first.code, again.code], [201, 200])
  t.equal(bodyOf(again).message_id, bodyOf(first).message_id)
})

t.test('W1: a token that the follower does not know yet: the leader decides', async (t) => {
  const { pair, token, thread } = begunPair()
  const created = pair.leader.post('/api/identities', { kind: 'guest' })
  pair.sync()
  const { token: fresh } = bodyOf(created)
  const paths = ['/api/notifications', `/api/threads/${thread}`]
  const reads = paths.map((path) => pair.follower.get(path, fresh))
  const rotated = pair.leader.post('/api/identities/me/token', {}, token)
  pair.sync()
  const { token: next } = bodyOf(rotated)
  reads.push(pair.follower.get('/api/notifications', next))
  const unknown = pair.follower.get('/api/notifications', `aic_${'0'.repeat(64)}`)
  pair.settle()
  for (const read of reads) t.equal(read.code, 200)
  t.equal(unknown.code, 'invalid_token')
  const guesses = [pair.follower, pair.leader].map(({ forum }) => forum.guesses.notLetIn.token)
  t.same(guesses, [0, 1], 'only what the leader does not know either is a guess')
})

t.test('W6: a poll with a token that the follower does not know: no wait there', async (t) => {
  const { pair } = begunPair()
  const created = pair.leader.post('/api/identities', { kind: 'guest' })
  pair.sync()
  const { token } = bodyOf(created)
  const poll = () => pair.follower.get('/api/notifications', token, 'wait=50')
  const first = poll()
  t.equal(pair.leader.forum.waiting.length, 0)
  pair.settle()
  t.equal(first.code, 200)
  const second = poll()
  t.equal(pair.follower.forum.waiting.length, 1, 'the next one waits here')
  await pair.follower.forum.waiting.stop()
  t.equal(second.code, 200)
})

t.test('W3: a write without a leader: 503 no_leader with Retry-After', async (t) => {
  const { pair, token, thread } = begunPair()
  pair.link = 'lost'
  const write = pair.follower.post(
    `/api/threads/${thread}/replies`,
    { content: 'x' },
    token,
    newKey(),
  )
  t.equal(write.code, 'no_leader')
  t.match(write.answers[0], { status: 503, headers: /\r\nRetry-After: 1/ })
  t.equal(pair.forwarder.inFlight, 0)
  t.equal(pair.follower.load.answerBytes, 0)
})

t.test('forwarder: more writes than may wait: 503, and nothing is sent', async (t) => {
  const { pair, token, thread } = begunPair()
  const post = () =>
    pair.follower.post(`/api/threads/${thread}/replies`, { content: 'x' }, token, newKey())
  for (let i = 0; i < 8; i++) t.equal(post().answers.length, 0)
  const { sent } = pair.forwarder
  t.equal(post().code, 'overloaded')
  t.equal(pair.forwarder.sent, sent)
  pair.settle()
  t.equal(post().answers.length, 0, 'there is room again')
  pair.settle()
  t.same([pair.forwarder.inFlight, pair.follower.load.answerBytes], [0, 0])
})

t.test('L3: a message is erased: a page that was read before is not shown again', async (t) => {
  const { pair, thread, message } = begunPair()
  const path = `/api/threads/${thread}`
  for (let i = 0; i < 12; i++) t.match(pair.follower.get(path).answers[0]!.text, /"content":"c"/)
  let cleared = 0
  pair.follower.forum.pageCache.clear = () => {
    cleared += 1
  }
  eraseMessage(pair.leader.forum, { id: message, reason: 'test' })
  pair.settle()
  t.equal(cleared, 1, 'no cache has its text')
  t.notMatch(pair.follower.get(path).answers[0]!.text, /"content":"c"/)
  t.equal(stateHash(pair.follower.forum.state), stateHash(pair.leader.forum.state))
})

t.test('follower: a guest has expired: the leader records that, then it is refused', async (t) => {
  const { pair, token } = begunPair()
  const { position } = pair.log
  for (const side of [pair.leader, pair.follower]) goOn(side.world.clock, 8 * dayMs)
  const read = pair.follower.get('/api/notifications', token)
  t.equal(read.answers.length, 0)
  t.equal(pair.log.position, position + 1)
  pair.settle()
  t.equal(read.code, 'invalid_token')
})

t.test(
  'routes: all, for every caller, at a follower: they append nothing or are passed on',
  async (t) => {
    const { pair, token, id, thread, message } = begunPair()
    const { edge, forum } = pair.follower
    const forwarded: string[] = []
    edge.forward = passingWhole(({ method, path }, { name }) => {
      forwarded.push(`${method} ${path} ${name}`)
    })
    // A journal that could append, and fails the test if anything does.
    forum.journal = {
      ...{ health: 'ok', durable: pair.role.durable, flush() {}, separate: () => true },
      append: () => t.fail('a record is appended') as never,
    }
    const ids = [thread, id, message, 'prp_00000000000000000000000000000000', 'x']
    const answeredHere = new Set<string>()
    for (const days of [0, 8]) {
      goOn(pair.follower.world.clock, days * dayMs)
      for (const { method, path, name, guarded, isBatch } of withPages(routes)) {
        for (const caller of ['', token, 'aic_unknown']) {
          for (const place of path.includes(':') ? ids : ['']) {
            const { length } = forwarded
            const exchange = pair.follower.send(
              method,
              path.replace(/:\w+/, place),
              caller,
              'limit=2',
            )
            if (isBatch) exchange.end({ requests: [{ method: 'GET', path: '/api/status' }] })
            if (forwarded.length === length) {
              // Searches and look-ups are answered later, also where there is nothing to find.
              if (/^search|^messagePage/.test(name)) await new Promise(setImmediate)
              t.equal(exchange.answers.length, 1, `${name} is answered`)
              answeredHere.add(name)
            } else if (method === 'get' && !guarded && caller !== 'aic_unknown') {
              t.equal(days, 8, `${name}: the guest expired`)
            }
          }
        }
      }
    }
    for (const { method, name, guarded, isBatch } of routes) {
      // A batch is carried out here, and the requests in it that write are passed on.
      const isWrite = (method !== 'get' || guarded === true) && isBatch !== true
      t.equal(answeredHere.has(name), !isWrite, `${name}: ${isWrite ? 'passed on' : 'read here'}`)
    }
  },
)
