// The client with a real node: a conversation, pages, lost answers, refusals, abort signals; and
// with a scripted node: what is retried and when, and what is not.

import t, { type Test } from 'tap'
import { AgentForum, ForumError } from '../../src/client/index.ts'
import { type Forum, startForum } from '../api/harness.ts'
import { CuttingProxy } from './cutting-proxy.ts'
import { type Scripted, scriptedNode } from './scripted-node.ts'

/** Resolves to the error with which a call fails. */
async function errorOf(call: Promise<unknown>): Promise<ForumError> {
  const error = await call.then(
    () => new Error('it succeeded'),
    (thrown) => thrown,
  )
  if (!(error instanceof ForumError)) throw error
  return error
}

async function registered({ url }: { url: string }, displayName: string): Promise<AgentForum> {
  const agent = new AgentForum({ url })
  await agent.register({ displayName })
  return agent
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

t.test('client: two agents: they talk, and read every page of it', async (t) => {
  const forum = await startForum(t)
  const [ana, ben] = [await registered(forum, 'ana'), await registered(forum, 'ben')]
  const made = await ana.createThread({ title: 'Flaky test', content: 'Who has seen E42?' })
  t.match(made, { published: true, replayed: false })
  for (let n = 1; n <= 6; n++) await ben.reply(made.thread_id, { content: `reply ${n}` })

  const page = await ana.messages(made.thread_id, { limit: 3 })
  t.match(page, { thread: { title: 'Flaky test', message_count: 7 }, has_more: true })
  t.equal(page.messages.length, 3)
  const all = await collected(ana.messages(made.thread_id, { limit: 3 }))
  t.equal(all.length, 7)
  t.equal(all.at(-1)?.content, 'reply 6')
  const newest = await ana.messages(made.thread_id, { before: 'end', limit: 3 })
  t.same(newest.messages, all.slice(-3))
  const backwards = await collected(ana.messages(made.thread_id, { before: 'end', limit: 3 }))
  t.same(backwards, [...all.slice(4), ...all.slice(1, 4), ...all.slice(0, 1)], 'page by page')
  t.same(await collected(ana.messages(made.thread_id, { before: all[1].seq })), [all[0]])
  const news = await ana.notifications({ after: all[1].seq })
  t.same(
    news.notifications.map(({ seq }) => seq),
    all.slice(2).map(({ seq }) => seq),
  )

  for (const title of ['second', 'third']) await ben.createThread({ title, content: 'x' })
  const titles = (await collected(ana.threads({ limit: 2 }))).map(({ title }) => title)
  t.same(titles, ['third', 'second', 'Flaky test'])
  t.same((await collected(new AgentForum({ url: `${forum.url}/` }).threads())).length, 3)

  const behind = { after: all.at(-1)!.seq, wait: 50 }
  const waiting = [ana.messages(made.thread_id, behind), ana.notifications(behind)] as const
  const last = await ben.reply(made.thread_id, { content: 'the last' })
  const [{ messages }, { notifications }] = await Promise.all(waiting)
  t.same([messages[0].id, notifications[0].message_id], [last.message_id, last.message_id])

  t.match(await ana.unsubscribe(made.thread_id), { subscribed: false })
  t.same((await ana.notifications()).notifications, [])
  t.match(await ana.subscribe(made.thread_id), { subscribed: true, delivery: 'poll' })
  t.match(await ana.guide('notifications'), /^# /)
  t.match(await ana.status(), { name: 'agent-forum' })
})

t.test('client: governance and publishing by GET: every page of both orders', async (t) => {
  const forum = await startForum(t)
  const ana = await registered(forum, 'ana')
  const policy = { kind: 'policy', description: 'because' } as const
  const saved = await ana.propose({ ...policy, title: 'first' }, { key: 'proposal-1' })
  t.same(await ana.propose({ ...policy, title: 'first' }, { key: 'proposal-1' }), {
    ...saved,
    replayed: true,
  })
  for (const title of ['second', 'third']) await ana.propose({ ...policy, title })
  for (const text of ['a', 'b', 'c']) {
    const review = { proposalHash: saved.proposal_hash, decision: 'comment', text } as const
    t.match(await ana.review(saved.proposal_id, review), { text, replayed: false })
  }
  const titlesOf = async (order: object) =>
    (await collected(ana.proposals({ limit: 2, ...order }))).map(({ title }) => title)
  t.same(await titlesOf({}), ['first', 'second', 'third'])
  t.same(await titlesOf({ before: Number.MAX_SAFE_INTEGER }), ['third', 'second', 'first'])
  const reviews = await collected(ana.proposal(saved.proposal_id, { limit: 2 }))
  t.same(
    reviews.map(({ text }) => text),
    ['a', 'b', 'c'],
  )
  t.match(await ana.proposal(saved.proposal_id), { proposal: { title: 'first' } })
  const refused = await errorOf(ana.execute(saved.proposal_id))
  t.match(refused, { status: 503, code: 'bootstrap_pending', retryAfterSeconds: 86_400 })

  const anybody = new AgentForum({ url: forum.url })
  const { ticket } = await anybody.ticket()
  const { thread_id: threadId } = await anybody.publishByTicket({
    ticket,
    title: 'T',
    content: 'c',
  })
  const reply = { ticket: (await anybody.ticket()).ticket, threadId, content: 'a & b=c' }
  t.match(await anybody.publishByTicket(reply), { identity_mode: 'one-message-guest' })
  t.same((await collected(anybody.messages(threadId))).at(-1)?.content, 'a & b=c')
})

/** Starts a node behind a proxy that cuts answers, and an agent that uses the proxy. */
async function behindProxy(
  t: Test,
): Promise<{ forum: Forum; proxy: CuttingProxy; ana: AgentForum }> {
  const forum = await startForum(t)
  const proxy = await CuttingProxy.start(t, forum.port)
  return { forum, proxy, ana: await registered(proxy, 'ana') }
}

for (const bytesBefore of [0, 1, 400]) {
  t.test(`client: answers cut after ${bytesBefore} bytes: each write is done once`, async (t) => {
    const { proxy, ana } = await behindProxy(t)
    proxy.bytesBefore = bytesBefore
    proxy.cuts = 2
    const made = await ana.createThread({ title: 'lost', content: 'x' })
    t.match(made, { replayed: true }, 'a lost attempt has published')
    proxy.cuts = 1
    t.match(await ana.reply(made.thread_id, { content: 'y' }), { replayed: true })
    proxy.cuts = 1
    const contents = (await collected(ana.messages(made.thread_id))).map(({ content }) => content)
    t.same(contents, ['x', 'y'])
    t.equal(proxy.cuts, 0)
    t.equal((await collected(ana.threads())).length, 1)
  })
}

t.test('client: more answers lost than it retries: network, and the key still works', async (t) => {
  const { forum, proxy } = await behindProxy(t)
  const ben = new AgentForum({ url: proxy.url, retries: 1 })
  await ben.register()
  proxy.cuts = 2
  const thread = { title: 'once', content: 'x' }
  const lost = await errorOf(ben.createThread(thread, { key: 'ben-0001' }))
  t.match(lost, { name: 'ForumError', status: 0, code: 'network' })
  t.match(lost.message, /^POST http:.*\/api\/threads: \w/)
  t.match(await ben.createThread(thread, { key: 'ben-0001' }), { replayed: true })
  const other = await errorOf(ben.createThread({ ...thread, title: 'b' }, { key: 'ben-0001' }))
  t.match(other, { status: 409, code: 'idempotency_conflict' })
  await forum.stop('SIGKILL')
  t.match(await errorOf(ben.status()), { code: 'network', status: 0 })
})

t.test('client: refusals: thrown with code and status, whatever the id holds', async (t) => {
  const forum = await startForum(t)
  const ana = await registered(forum, 'ana')
  const absent = `thr_${'0'.repeat(32)}`
  const refusals: [call: () => Promise<unknown>, status: number, code: string][] = [
    [() => ana.messages(absent), 404, 'not_found'],
    [() => ana.reply(absent, { content: '' }), 400, 'invalid_field'],
    [
      () => ana.createThread({ title: 'a', content: 'b' }, { key: '1' }),
      400,
      'idempotency_required',
    ],
    [() => new AgentForum({ url: forum.url }).notifications(), 401, 'authentication_required'],
    [() => new AgentForum({ url: forum.url, token: 'aic_0' }).threads(), 401, 'invalid_token'],
    [() => ana.verifyWebhookEndpoint(), 404, 'webhook_not_registered'],
  ]
  for (const id of ['', '.', '..', '../status', 'thr_1/../../status', 'thr_1?x', '%2e%2e']) {
    refusals.push([() => ana.messages(id), 400, 'invalid_id'])
  }
  for (const [call, status, code] of refusals) {
    const error = await errorOf(call())
    t.match(error, { status, code })
    t.ok(error.message.length > 10, error.message)
  }
})

const thread = { id: 'thr_1', title: 'a' }
const done: Scripted = { status: 200, body: { threads: [thread], next_cursor: null } }
const published: Scripted = { status: 201, body: { thread_id: 'thr_1', message_id: 'msg_1' } }
const refusal = (status: number, error: string, headers = {}): Scripted => {
  return { status, headers, body: { error, message: 'A sentence.' } }
}

t.test('client: refused for now: retried with the same key and body', async (t) => {
  for (const [status, code] of [
    [503, 'starting'],
    [503, 'storage_full'],
    [503, 'a_code_of_later'],
    [429, 'rate_limited'],
  ] as const) {
    const { url, seen } = await scriptedNode(t, [refusal(status, code), published])
    const call = new AgentForum({ url }).createThread({ title: 'a', content: 'b' })
    t.same(await call, published.body)
    t.equal(seen.length, 2, code)
    t.equal(new Set(seen.map(({ headers }) => headers['idempotency-key'])).size, 1)
    t.equal(new Set(seen.map(({ body }) => body)).size, 1)
  }
})

t.test('client: Retry-After: nothing is sent before', async (t) => {
  const script = [refusal(503, 'overloaded', { 'retry-after': '1' }), done]
  const { url, seen } = await scriptedNode(t, script)
  t.same(await new AgentForum({ url }).threads(), done.body)
  t.ok(seen[1].at - seen[0].at > 990, 'a timer may be a little early')
})

t.test('client: a proxy that answers for the node: retried if it says 5xx, else not', async (t) => {
  const page = { 'content-type': 'text/html' }
  const gateway = { status: 502, body: '<h1>Bad gateway</h1>', headers: page }
  const good = await scriptedNode(t, [gateway, done])
  t.same(await new AgentForum({ url: good.url }).threads(), done.body)
  const lost = { status: 404, body: '<h1>Not here</h1>', headers: page }
  const wrong = await scriptedNode(t, [lost, done])
  const error = await errorOf(new AgentForum({ url: wrong.url }).threads())
  t.match(error, { status: 404, code: 'network', message: /404/ })
  const moved = { status: 301, body: '', headers: { location: good.url } }
  const redirecting = await scriptedNode(t, [moved])
  const redirected = await errorOf(
    new AgentForum({ url: redirecting.url }).createThread(thread as never),
  )
  t.match(redirected, { status: 301, code: 'network' })
})

t.test('client: refused permanently: never retried', async (t) => {
  for (const [status, code] of [
    [400, 'invalid_field'],
    [401, 'invalid_token'],
    [403, 'candidate_only'],
    [404, 'not_found'],
    [409, 'idempotency_conflict'],
    [413, 'too_large'],
    [503, 'bootstrap_pending'],
  ] as const) {
    const { url, seen } = await scriptedNode(t, [refusal(status, code), done])
    const error = await errorOf(new AgentForum({ url }).threads())
    t.match(error, { status, code, message: 'A sentence.', retryAfterSeconds: undefined })
    t.equal(seen.length, 1, code)
  }
})

t.test('client: Retry-After beyond its patience: not retried, the error says when', async (t) => {
  const { url, seen } = await scriptedNode(t, [
    refusal(429, 'rate_limited', { 'retry-after': '3600' }),
    done,
  ])
  const error = await errorOf(new AgentForum({ url }).threads())
  t.match(error, { status: 429, code: 'rate_limited', retryAfterSeconds: 3600 })
  t.equal(seen.length, 1)
})

t.test('client: no answer in time: timeout, after all retries', async (t) => {
  const { url } = await scriptedNode(t, [{ status: 200, body: '', isSilent: true }])
  // On a busy machine an attempt may have timed out before the node sees it.
  let attempts = 0
  const counted: typeof fetch = (input, init) => {
    attempts += 1
    return fetch(input, init)
  }
  const agent = new AgentForum({ url, timeoutMs: 50, retries: 1, fetch: counted })
  t.match(await errorOf(agent.threads()), { status: 0, code: 'timeout' })
  t.equal(attempts, 2)
})

t.test('client: a batch that waits: its time is added to that of an attempt', async (t) => {
  const forum = await startForum(t)
  const agent = new AgentForum({ url: forum.url, timeoutMs: 500, retries: 0 })
  await agent.register()
  const poll = { method: 'GET', path: '/api/notifications' } as const
  t.match(await agent.batch([poll], { wait: 1 }), { responses: [{ status: 200 }] })
})

t.test('client: a signal: ends a request, a pause and a pager, with its reason', async (t) => {
  const why = new Error('enough')
  const silent = await scriptedNode(t, [{ status: 200, body: '', isSilent: true }])
  const busy = await scriptedNode(t, [refusal(503, 'starting', { 'retry-after': '30' })])
  for (const { url, seen } of [silent, busy]) {
    const ending = new AbortController()
    const call = new AgentForum({ url }).threads({ signal: ending.signal })
    const ended = t.rejects(call, why)
    while (seen.length === 0) await new Promise(setImmediate)
    ending.abort(why)
    await ended
  }
  const aborted = AbortSignal.abort(why)
  const { url, seen } = await scriptedNode(t, [done])
  await t.rejects(new AgentForum({ url }).status({ signal: aborted }), why)
  await t.rejects(collected(new AgentForum({ url }).threads({ signal: aborted })), why)
  t.equal(seen.length, 0)
})

t.test('client: an invalid URL: refused by the constructor', async (t) => {
  for (const url of ['localhost', 'localhost:8787', '', 'ftp://forum.example', 'http://']) {
    const advice = { name: 'TypeError', message: /^url takes an address like http:/ }
    t.throws(() => new AgentForum({ url }), advice, url)
  }
})

t.test('client: a token that a header cannot have: refused, and not repeated', async (t) => {
  const url = 'http://localhost:8787'
  for (const token of ['aic_1\naic_2', 'aic_1 ', '\u{1f600}']) {
    const advice = { name: 'TypeError', message: /^the token has invalid characters/ }
    t.throws(() => new AgentForum({ url, token }), advice)
  }
})
