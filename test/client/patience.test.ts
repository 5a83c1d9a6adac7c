// How long the client keeps trying, in virtual time: while a node is down, and whatever a node says
// about when to retry.

import t from 'tap'
import { AgentForum, type ForumOptions } from '../../src/client/index.ts'
import { VirtualTime } from './virtual-time.ts'

const url = 'http://node.test'
const published = { thread_id: 'thr_1', message_id: 'msg_1' }
const message = { content: 'x' }

function json(body: unknown, init: ResponseInit = {}): Response {
  const headers = { 'content-type': 'application/json', ...init.headers }
  return new Response(JSON.stringify(body), { ...init, headers })
}

function starting(retryAfter?: string): Response {
  const headers: Record<string, string> =
    retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  return json({ error: 'starting', message: 'Later.' }, { status: 503, headers })
}

const refused = () => {
  throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })
}

interface Sent {
  at: number
  path: string
  body: unknown
}

/** Returns a client whose requests get what `answer` returns, and the list of its requests. */
function client(
  time: VirtualTime,
  answer: (path: string, sent: readonly Sent[]) => Response,
  options: Partial<ForumOptions> = {},
): { forum: AgentForum; sent: Sent[] } {
  const sent: Sent[] = []
  const send = async (input: unknown, init?: RequestInit) => {
    const path = `${input}`.slice(url.length)
    sent.push({ at: time.now, path, body: init?.body })
    return answer(path, sent)
  }
  return { forum: new AgentForum({ url, fetch: send as typeof fetch, ...options }), sent }
}

for (const seconds of [3, 30, 59]) {
  t.test(`patience: a node that is away for ${seconds} s: the call is answered`, async (t) => {
    const time = new VirtualTime(t)
    const back = () => (time.now < seconds * 1000 ? refused() : json(published))
    const { forum, sent } = client(time, back)
    t.same(await forum.reply('thr_1', message), published)
    t.ok(time.now < seconds * 1000 + 8_000, 'and soon')
    t.ok(sent.length < 6 + seconds / 4, `${sent.length} attempts`)
  })
}

t.test('patience: a node that stays away: ends after a minute, or as it was told', async (t) => {
  const time = new VirtualTime(t)
  const endedAfter = async (options: Partial<ForumOptions>, answer: () => Response = refused) => {
    const { forum, sent } = client(time, answer, options)
    const begunAt = time.now
    await t.rejects(forum.reply('thr_1', message), { name: 'ForumError' })
    return { attempts: sent.length, seconds: (time.now - begunAt) / 1000 }
  }
  for (const answer of [refused, starting, () => starting('1')]) {
    const { seconds } = await endedAfter({}, answer)
    t.ok(seconds >= 60 && seconds <= 61, `${seconds} s`)
  }
  const { seconds } = await endedAfter({ timeoutMs: 5_000 })
  t.ok(seconds >= 5 && seconds < 5.1, `${seconds} s`)
  for (const retries of [0, 1, 4]) {
    t.equal((await endedAfter({ retries })).attempts, retries + 1)
  }
})

t.test(
  'patience: attempts that take too long: each ends in time, and one is retried',
  async (t) => {
    const time = new VirtualTime(t)
    const silent: typeof fetch = (_, init) => {
      return new Promise((_, reject) => init!.signal!.addEventListener('abort', reject))
    }
    const forum = new AgentForum({ url, fetch: silent })
    await t.rejects(forum.reply('thr_1', message), { code: 'timeout' })
    t.ok(time.now >= 120_000 && time.now < 121_000, `two attempts: ${time.now} ms`)
    const endless = new AgentForum({ url, fetch: silent, timeoutMs: 1e300, retries: 0 })
    await t.rejects(endless.reply('thr_1', message), { code: 'timeout' })
    t.ok(time.now > 2e9, 'a timer of more than 31 bits would end at once')
  },
)

t.test('patience: the caller changes its message meanwhile: the same bytes again', async (t) => {
  const time = new VirtualTime(t)
  const changed = { content: 'first' }
  const { forum, sent } = client(time, () => {
    changed.content = 'second'
    return sent.length < 3 ? refused() : json(published)
  })
  await forum.reply('thr_1', changed, { key: 'key-0001' })
  t.same(
    sent.map(({ body }) => body),
    Array(3).fill('{"content":"first"}'),
  )
})

const status = { capabilities: {}, epoch: 'e' }
const day = 86_400_000

/** Resolves to a feed's pauses between its first five polls, the last of which returns an item. */
async function pausesOf(time: VirtualTime, answer: (poll: number) => Response): Promise<number[]> {
  const polls = () => sent.filter(({ path }) => path.startsWith('/api/notifications'))
  const { forum, sent } = client(time, (path) => {
    if (path === '/api/status') return json(status)
    if (polls().length < 5) return answer(polls().length)
    return json({ notifications: [{ seq: 1 }], next_after: 1, has_more: false })
  })
  for await (const { seq } of forum.feed()) if (seq === 1) break
  const at = polls().map((poll) => poll.at)
  return at.slice(1).map((next, n) => next - at[n]!)
}

for (const said of ['2147484', '99999999999', '1e300', 'Infinity', '-1', '-1e300', 'NaN', 'x']) {
  t.test(`feed: Retry-After ${said}: pauses between 125 ms and a day`, async (t) => {
    const pauses = await pausesOf(new VirtualTime(t), () => starting(said))
    for (const pause of pauses) t.ok(pause >= 125 && pause <= day, `${pause} ms`)
    const isLong = Number.isFinite(Number(said)) && Number(said) > 0
    if (isLong) t.same(pauses, Array(4).fill(day))
  })
}

for (const said of [2_147_484, 1e300, -1, null, undefined, 'soon', {}]) {
  t.test(`feed: poll_after_seconds ${JSON.stringify(said)}: a minute to a day`, async (t) => {
    const page = { notifications: [], next_after: 0, has_more: false, poll_after_seconds: said }
    const pauses = await pausesOf(new VirtualTime(t), () => json(page))
    for (const pause of pauses) t.ok(pause >= 60_000 && pause <= day, `${pause} ms`)
  })
}
