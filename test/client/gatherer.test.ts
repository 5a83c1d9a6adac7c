// A gatherer of calls, with a real node: what leaves together and what alone, whose answer is
// whose, and how calls end that fail. G1 and G2 are invariants of src/client/gatherer.ts.

import t from 'tap'
import { type AgentForum, ForumError, Gatherer } from '../../src/client/index.ts'
import { startForum } from '../api/harness.ts'

const forum = await startForum(t)

/** Returns a gatherer, and the paths of the requests that it has sent. */
function gathered(options: object = {}, send = fetch) {
  const sent: string[] = []
  const counted = (input: unknown, init?: RequestInit) => {
    sent.push(new URL(`${input}`).pathname)
    return send(`${input}`, init)
  }
  const { url } = forum
  return { gatherer: new Gatherer({ url, fetch: counted as typeof fetch, ...options }), sent }
}

async function registered(gatherer: Gatherer, count: number) {
  const agents = Array.from({ length: count }, () => gatherer.agent())
  const names = agents.map((_, i) => `agent ${i}`)
  const made = await Promise.all(agents.map((each, i) => each.register({ displayName: names[i] })))
  return { agents, ids: made.map(({ id }) => id) }
}

t.test('G1: 300 agents: all calls in a few batches, each with its own answer', async (t) => {
  const { gatherer, sent } = gathered({ maxMs: 50 })
  const { agents, ids } = await registered(gatherer, 300)
  t.same(sent, ['/api/batch', '/api/batch'], '256 and 44')
  const selves = await Promise.all(agents.map((agent) => agent.me()))
  t.same(
    selves.map(({ id }) => id),
    ids,
    'each acts as itself',
  )
  const { thread_id: id } = await agents[0]!.createThread({ title: 't', content: 'ä "{' })
  const replies = await Promise.all(agents.map((agent, i) => agent.reply(id, { content: `${i}` })))
  t.same(
    replies.map(({ author_id }) => author_id),
    ids,
  )
  t.notOk('follow_up' in replies[0]!, 'answers are short')
  const again = new Gatherer({ url: `${forum.url}/` }).agent({ token: agents[5]!.token! })
  t.equal((await again.me()).id, ids[5])
  const { messages } = await again.messages(id, { limit: 1 })
  t.equal(messages[0]!.content, 'ä "{')
})

t.test('G1: one call is refused: the others are not', async (t) => {
  const { gatherer, sent } = gathered({ maxMs: 50 })
  const { agents } = await registered(gatherer, 2)
  sent.length = 0
  const outcomes = await Promise.allSettled([
    agents[0]!.reply('thr_x', { content: 'x' }),
    agents[1]!.me(),
    gatherer.agent({ token: 'aic_unknown' }).me(),
  ])
  t.same(sent, ['/api/batch'])
  const codes = outcomes.map((outcome) => {
    return outcome.status === 'fulfilled' || (outcome.reason as ForumError).code
  })
  t.same(codes, ['invalid_id', true, 'invalid_token'])
})

t.test('G1: a call is refused for a while: it learns for how long', async (t) => {
  const send = async () => {
    const body = { error: 'rate_limited', message: 'Later.' }
    return Response.json({ responses: [{ status: 429, body, retry_after: 3600 }] })
  }
  const { gatherer, sent } = gathered({ timeoutMs: 1000 }, send as typeof fetch)
  const refused = { status: 429, code: 'rate_limited', retryAfterSeconds: 3600 }
  await t.rejects(gatherer.agent().me(), refused)
  t.same(sent, ['/api/batch'], 'and it does not try again before')
})

t.test('G1: the answer of a batch is lost: sent again, and published once', async (t) => {
  let isLost = false
  const losing = async (input: string | URL | Request, init?: RequestInit) => {
    const response = await fetch(input, init)
    if (!isLost) return response
    isLost = false
    throw new TypeError('fetch failed')
  }
  const { gatherer } = gathered({}, losing)
  const { agents } = await registered(gatherer, 3)
  const { thread_id: id } = await agents[0]!.createThread({ title: 't', content: 'c' })
  isLost = true
  const replies = await Promise.all(agents.map((agent) => agent.reply(id, { content: 'once' })))
  t.same(
    replies.map(({ replayed }) => replayed),
    [true, true, true],
  )
  t.equal((await agents[0]!.messages(id)).messages.length, 4)
})

t.test('G1: a call is aborted before it leaves: it alone, and it is not sent', async (t) => {
  const { gatherer } = gathered({ maxMs: 50 })
  const { agents } = await registered(gatherer, 2)
  const { thread_id: id } = await agents[0]!.createThread({ title: 't', content: 'c' })
  const ending = new AbortController()
  const aborted = agents[0]!.reply(id, { content: 'no' }, { signal: ending.signal })
  const other = agents[1]!.reply(id, { content: 'yes' })
  ending.abort(new Error('enough'))
  await t.rejects(aborted, { message: 'enough' })
  await other
  t.same(
    (await agents[0]!.messages(id)).messages.map(({ content }) => content),
    ['c', 'yes'],
  )
})

t.test('G2: a wait that is too long, guides, tickets and patches: alone', async (t) => {
  const { gatherer, sent } = gathered()
  const { agents } = await registered(gatherer, 1)
  const [agent] = agents as [(typeof agents)[0]]
  sent.length = 0
  await t.rejects(agent.notifications({ wait: 51 }), { code: 'invalid_number' })
  await agent.guide('llms')
  await agent.updateMe({ listed: true })
  const { ticket } = await agent.ticket()
  await agent.publishByTicket({ ticket, content: 'c', title: 't' }).catch(() => {})
  const [feed, guide, me, batch, publish] = sent
  t.same([feed, guide, me], ['/api/notifications', '/llms.txt', '/api/identities/me'])
  t.same([batch, publish], ['/api/batch', '/api/compat/publish'])
})

t.test('G2: batches, and calls that are too long: alone, and no other is refused', async (t) => {
  const { gatherer, sent } = gathered({ maxMs: 50, retries: 0 })
  const { agents, ids } = await registered(gatherer, 3)
  const [ana, ben, eve] = agents as [AgentForum, AgentForum, AgentForum]
  sent.length = 0
  const requests = [{ method: 'GET', path: '/api/identities/me' }] as const
  const [me, batch, search, poll] = await Promise.allSettled([
    ana.me(),
    ben.batch(requests),
    eve.search({ q: 'x'.repeat(20_000) }),
    eve.notifications({ wait: 1, type: 'x'.repeat(20_000) }),
  ])
  t.match(me, { status: 'fulfilled', value: { id: ids[0] } })
  t.match(batch, { value: { responses: [{ status: 200, body: { id: ids[1] } }] } })
  t.same([search!.status, poll!.status], ['rejected', 'rejected'])
  const paths = ['/api/batch', '/api/batch', '/api/notifications', '/api/search']
  t.same(sent.toSorted(), paths, 'one of them the call of its agent')
})

t.test('G2: no batches, says the node or a proxy: everything alone for a minute', async (t) => {
  const has = { batches: false }
  const old = async (input: string | URL | Request, init?: RequestInit) => {
    return `${input}`.endsWith('/api/batch') && !has.batches
      ? new Response('', { status: 404 })
      : fetch(input, init)
  }
  const { gatherer, sent } = gathered({}, old)
  await registered(gatherer, 2)
  await registered(gatherer, 1)
  t.same(sent.splice(0), ['/api/batch', ...Array(3).fill('/api/identities')])
  const { now } = performance
  t.intercept(performance, 'now', { value: () => now.call(performance) + 60_000 })
  await registered(gatherer, 1)
  t.same(sent.splice(0), ['/api/batch', '/api/identities'])
  t.intercept(performance, 'now', { value: () => now.call(performance) + 120_000 })
  has.batches = true
  await registered(gatherer, 2)
  t.same(sent, ['/api/batch'])
})

t.test('G1: a batch is refused as a whole: each call is', async (t) => {
  const body = '{"error":"too_large","message":"A batch may have at most 4 MiB."}'
  const headers = { 'content-type': 'application/json' }
  const refusing = async () => new Response(body, { status: 413, headers })
  const { gatherer } = gathered({ retries: 0 }, refusing as typeof fetch)
  await t.rejects(gatherer.agent().status(), { code: 'too_large' })
  const error = await gatherer
    .agent({ token: 'aic_1' })
    .me()
    .catch((thrown) => thrown)
  t.ok(error instanceof ForumError)
})
