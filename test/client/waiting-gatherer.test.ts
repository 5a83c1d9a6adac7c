// Polls that wait, of many agents over one gatherer, with a real node: how few batches hold them,
// who is woken, and how polls end. W1 to W3 are invariants of src/client/gatherer.ts.

import t, { type Test } from 'tap'
import { type AgentForum, Gatherer } from '../../src/client/index.ts'
import { startForum } from '../api/harness.ts'
import { sample } from '../api/operators.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'

const ops = await freePort()
const forum = await startForum(t, ['--ops-port', `${ops}`])

interface Sent {
  wait: number
  polls: number
}

/** Returns a gatherer, the held batches that it has sent, and those in flight. */
function gathered(options: object = {}) {
  const sent: Sent[] = []
  const inFlight = new Set<Sent>()
  const counted = async (input: unknown, init?: RequestInit) => {
    const { wait, requests = [] } = JSON.parse(`${init?.body ?? '{}'}`)
    if (wait === undefined) return fetch(`${input}`, init)
    const batch = { wait, polls: requests.length }
    sent.push(batch)
    inFlight.add(batch)
    return fetch(`${input}`, init).finally(() => inFlight.delete(batch))
  }
  const { url } = forum
  return {
    gatherer: new Gatherer({ url, fetch: counted as typeof fetch, ...options }),
    ...{ sent, inFlight },
  }
}

/** Returns agents that follow a thread, its id, and its author. */
async function followers(gatherer: Gatherer, count: number) {
  const author = gatherer.agent()
  await author.register()
  const { thread_id: id } = await author.createThread({ title: 't', content: 'c' })
  const agents = Array.from({ length: count }, () => gatherer.agent())
  await Promise.all(agents.map((agent) => agent.register()))
  await Promise.all(agents.map((agent) => agent.subscribe(id)))
  const { messages } = await author.messages(id)
  return { author, agents, id, after: messages.at(-1)!.seq }
}

/** Has an agent follow its feed until the test ends. Returns what it was woken by. */
function follow(t: Test, agent: AgentForum, after: number): string[] {
  const ending = new AbortController()
  t.teardown(() => ending.abort(new Error('the test is over')))
  const seen: string[] = []
  const read = async () => {
    const { signal } = ending
    for await (const item of agent.feed({ after, wait: 50, signal, include: 'content' })) {
      seen.push(item.content!)
    }
  }
  read().catch(() => {})
  return seen
}

const waiting = (count: number) =>
  until(`${count} polls wait`, async () => (await sample(ops, 'agent_forum_waiting')) === count)

t.test('W1: the feeds of 1,000 agents: woken by one batch that is held', async (t) => {
  const { gatherer, sent, inFlight } = gathered({ maxRequests: 1000, maxMs: 100 })
  const { author, agents, id, after } = await followers(gatherer, 1000)
  const feeds = agents.map((agent) => follow(t, agent, after))
  await waiting(1000)
  t.equal(inFlight.size, 1)
  await author.reply(id, { content: 'one' })
  await until('all have it', () => feeds.every(([first]) => first === 'one'))
  await waiting(1000)
  t.ok(sent.length < 40, `${sent.length} batches`)
  await author.reply(id, { content: 'two' })
  await until('all have both', () => feeds.every(([, second]) => second === 'two'))
})

t.test('W1: one of them has news: the others wait on, and miss nothing', async (t) => {
  const { gatherer, inFlight } = gathered()
  const { author, agents, id, after } = await followers(gatherer, 20)
  const [reader] = agents as [AgentForum]
  const { thread_id: other } = await author.createThread({ title: 'o', content: 'c' })
  const { messages } = await author.messages(other)
  await reader.subscribe(other)
  const from = messages.at(-1)!.seq
  const feeds = agents.map((agent) => follow(t, agent, Math.max(after, from)))
  const polls = agents.slice(1).map((agent) => agent.notifications({ after: from, wait: 50 }))
  await waiting(39)
  await author.reply(other, { content: 'for one' })
  await until('it is woken', () => feeds[0]![0] === 'for one')
  await waiting(39)
  t.ok(inFlight.size <= 5, `${inFlight.size} batches`)
  t.equal(feeds.flat().length, 1)
  await author.reply(id, { content: 'for all' })
  await until('all are woken', () => feeds.every((feed) => feed.at(-1) === 'for all'))
  for (const { notifications } of await Promise.all(polls)) t.equal(notifications.length, 1)
})

t.test('W2: polls that come one by one: few batches', async (t) => {
  const { gatherer, sent, inFlight } = gathered({ maxMs: 0 })
  const { agents, after } = await followers(gatherer, 32)
  for (const [n, agent] of agents.entries()) {
    follow(t, agent, after)
    await waiting(n + 1)
    t.ok(inFlight.size <= Math.log2(n + 1) + 1, `${inFlight.size} of ${n + 1}`)
  }
  const polls = sent.reduce((sum, each) => sum + each.polls, 0)
  t.ok(polls <= 32 * 6, `${polls} polls were sent`)
})

t.test('W3: a poll whose time is over: answered, and the others wait on', async (t) => {
  const { gatherer, sent } = gathered({ maxMs: 20 })
  const { author, agents, id, after } = await followers(gatherer, 2)
  const [short, long] = agents as [AgentForum, AgentForum]
  let isOver = false
  const patient = long.notifications({ after, wait: 50 }).finally(() => {
    isOver = true
  })
  const { notifications, next_after } = await short.notifications({ after, wait: 1 })
  t.same([notifications, next_after], [[], after])
  t.equal(sent[0]!.wait, 1)
  await waiting(1)
  t.notOk(isOver)
  await author.reply(id, { content: 'late' })
  t.equal((await patient).notifications.length, 1)
})

t.test('W3: all polls of a batch are aborted: it is, too', async (t) => {
  const { gatherer, inFlight } = gathered()
  const { agents, after } = await followers(gatherer, 3)
  const ending = new AbortController()
  const { signal } = ending
  const polls = agents.map((agent) => agent.notifications({ after, wait: 50, signal }))
  const ended = Promise.allSettled(polls)
  await waiting(3)
  ending.abort(new Error('enough'))
  for (const each of await ended)
    t.match(each, { status: 'rejected', reason: { message: 'enough' } })
  await waiting(0)
  t.equal(inFlight.size, 0)
})

t.test('W1: a poll that is refused: it alone', async (t) => {
  const { gatherer } = gathered({ maxMs: 20 })
  const { author, agents, id, after } = await followers(gatherer, 1)
  const poll = agents[0]!.notifications({ after, wait: 50 })
  await t.rejects(gatherer.agent({ token: 'aic_unknown' }).notifications({ wait: 50 }), {
    code: 'invalid_token',
  })
  await waiting(1)
  await author.reply(id, { content: 'x' })
  t.equal((await poll).notifications.length, 1)
})
