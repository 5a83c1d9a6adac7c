// Waiting polls at the edge: the answer to each and its time, however the wait ends.

import t from 'tap'
import { blockIdentity } from '../../../src/forum/moderation/commands.ts'
import { dayMs, goOn } from '../../forum/doubles.ts'
import { Node } from './edge-node.ts'
import type { FakeExchange } from './fake-exchange.ts'

const reply = { content: 'a reply' }
const feed = '/api/notifications'

function bodyOf({ answers }: FakeExchange) {
  return JSON.parse(answers[0].text!)
}

/** Returns a node, a durable thread by its caller, and a reply of another caller on demand. */
function scene() {
  const node = new Node()
  const path = node.thread()
  const other = node.post('/api/identities', {})
  node.sync()
  const { token } = bodyOf(other)
  /** Makes the other caller reply. The reply is not durable yet. */
  const replyOf = () => {
    const own = node.token
    node.token = token
    const exchange = node.post(`${path}/replies`, reply)
    node.token = own
    return exchange
  }
  const after = node.journal.position
  return { node, path, after, replyOf, counts: node.forum.waiting.ended }
}

t.test('waiting: news: answered when it is durable, with it', async (t) => {
  const { node, path, after, replyOf, counts } = scene()
  const polls = [
    node.get(feed, `after=${after}&wait=50`),
    node.get(path, `after=${after}&wait=50&limit=1`),
  ]
  t.equal(node.forum.waiting.length, 2)
  replyOf()
  for (const { answers } of polls) t.equal(answers.length, 0)
  node.sync()
  const [notifications, messages] = polls.map(bodyOf)
  t.match(notifications, { notifications: [{ seq: after + 1 }], next_after: after + 1 })
  t.match(messages, { messages: [{ content: 'a reply' }], next_after: after + 1 })
  t.match(counts, { news: 2, time: 0, gone: 0, full: 0 })
})

t.test('waiting: there are items already, or no time is given: at once', async (t) => {
  const { node, path, after } = scene()
  t.equal(bodyOf(node.get(path, 'wait=50')).messages.length, 1)
  t.strictSame(bodyOf(node.get(feed, `after=${after}&wait=0`)).notifications, [])
  t.equal(node.forum.waiting.length, 0)
  for (const wait of ['51', '-1', '1.5', 'x']) {
    t.equal(node.get(feed, `wait=${wait}`).code, 'invalid_number', wait)
  }
})

t.test(
  'waiting: own message: not in the feed, so it waits on until its time is over',
  async (t) => {
    const { node, path, after, counts } = scene()
    const poll = node.get(feed, `after=${after}&wait=2`)
    node.post(`${path}/replies`, reply)
    node.sync()
    t.equal(poll.answers.length, 0)
    goOn(node.clock, 1999)
    node.forum.waiting.onReady()
    t.equal(poll.answers.length, 0, 'its time is that of the request')
    goOn(node.clock, 1)
    node.forum.waiting.onReady()
    t.match(bodyOf(poll), { notifications: [], next_after: after, has_more: false })
    t.match(counts, { news: 0, time: 1 })
  },
)

t.test('waiting: it has left the thread meanwhile: no news, empty in the end', async (t) => {
  const { node, path, after, replyOf } = scene()
  const poll = node.get(feed, `after=${after}&wait=9`)
  const left = node.send('delete', `${path}/subscribe`)
  replyOf()
  node.sync()
  t.equal(left.code, 200)
  t.equal(poll.answers.length, 0)
  goOn(node.clock, 9000)
  node.forum.waiting.onReady()
  t.strictSame(bodyOf(poll).notifications, [])
})

t.test('waiting: it has expired meanwhile: news is refused', async (t) => {
  const { node, path, after, counts } = scene()
  const poll = node.get(feed, `after=${after}&wait=9`)
  goOn(node.clock, 8 * dayMs)
  node.token = ''
  const fresh = node.post('/api/identities', {})
  node.sync()
  node.token = bodyOf(fresh).token
  node.post(`${path}/replies`, reply)
  node.sync()
  t.equal(poll.code, 'invalid_token')
  t.equal(counts.news + counts.time, 1)
})

t.test('waiting: it is blocked: refused when that is durable, its feed and a thread', async (t) => {
  const { node, path, after, counts } = scene()
  const polls = [node.get(feed, `after=${after}&wait=50`), node.get(path, `after=${after}&wait=50`)]
  const { token } = node
  node.token = ''
  const others = [node.get(path, `after=${after}&wait=50`)]
  node.token = token
  blockIdentity(node.forum, { id: node.forum.state.identities.id(0), reason: 'a test' })
  for (const { answers } of polls) t.equal(answers.length, 0, 'it is not durable')
  node.sync()
  for (const poll of polls) t.equal(poll.code, 'identity_blocked')
  for (const { answers } of others) t.equal(answers.length, 0, 'it waits on')
  t.match(counts, { news: 2, time: 0 })
  t.equal(node.forum.waiting.length, 1)
})

t.test('waiting: it hangs up: forgotten, and nothing is sent', async (t) => {
  const { node, after, replyOf, counts } = scene()
  const poll = node.get(feed, `after=${after}&wait=50`)
  poll.hangUp()
  t.equal(node.forum.waiting.length, 0)
  replyOf()
  node.sync()
  t.equal(poll.answers.length, 0)
  t.match(counts, { gone: 1, news: 0 })
})

t.test('waiting: it has hung up before it ran: not held for its whole time', async (t) => {
  const { node, after, counts } = scene()
  const poll = node.inOneTick(() => {
    const begun = node.get(feed, `after=${after}&wait=50`)
    begun.hangUp()
    return begun
  })
  t.equal(node.forum.waiting.length, 0)
  t.match(counts, { gone: 1, news: 0 })
  t.ok(poll.isHeld)
})

t.test('waiting: the node stops: answered at once, and later ones are refused', async (t) => {
  const { node, path, after, counts } = scene()
  const polls = [node.get(feed, `after=${after}&wait=50`), node.get(path, `after=${after}&wait=50`)]
  node.availability.refusal = 'shutting_down'
  await node.forum.waiting.stop()
  t.match(bodyOf(polls[0]), { notifications: [], next_after: after })
  t.match(bodyOf(polls[1]), { messages: [], next_after: after })
  t.equal(node.get(feed, 'wait=50').code, 'shutting_down')
  t.match(counts, { shutdown: 2 })
})

t.test('waiting: too many: the next is answered at once', async (t) => {
  const node = new Node({ waitingLimits: { max: 1, connectionsMax: 1 } })
  const first = node.get(feed, 'wait=50')
  t.equal(first.answers.length, 0)
  t.strictSame(bodyOf(node.get(feed, 'wait=50')).notifications, [])
  first.hangUp()
  t.equal(node.get(feed, 'wait=50').answers.length, 0)
  t.match(node.forum.waiting.ended, { full: 1, gone: 1 })
})

t.test('waiting: news that another sync covers too: all of it, once', async (t) => {
  const { node, after, replyOf } = scene()
  const poll = node.get(feed, `after=${after}&wait=50`)
  replyOf()
  const durable = node.journal.position
  replyOf()
  node.journal.durable = durable
  node.forum.waiting.onDurable(durable)
  t.equal(poll.answers.length, 0, 'its answer shows the second reply, which is not durable')
  node.sync()
  t.equal(bodyOf(poll).notifications.length, 2)
  t.equal(poll.answers.length, 1)
})
