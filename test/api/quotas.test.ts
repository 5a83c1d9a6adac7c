// Quotas over HTTP: docs/interface.md, "Quotas". Callers have many addresses, as they do behind a
// proxy.

import t, { type Test } from 'tap'
import { parseConfig } from '../../src/config/config.ts'
import { type Answer, Client, type Forum, newKey, publishedThread, startForum } from './harness.ts'
import { run } from './process.ts'

const hourSeconds = 3600
const daySeconds = 24 * hourSeconds
/** An allowance for the time between an event and the answer that shows its age. */
const slackSeconds = 300

function startBehindProxy(t: Test, flags: readonly string[] = []): Promise<Forum> {
  return startForum(t, ['--trust-proxy', ...flags])
}

function from(address: string): Record<string, string> {
  return { 'x-forwarded-for': address }
}

async function newIdentity(forum: Forum, address: string): Promise<Client> {
  const { body } = await forum.anonymous.post('/api/identities', {}, from(address))
  return new Client(forum, body.token, body.id)
}

function post(author: Client, threadId: string, address: string, key = newKey()): Promise<Answer> {
  return author.reply(threadId, 'a reply', { ...from(address), 'idempotency-key': key })
}

/**
 * Repeats `call` until a refusal, and returns that answer with the number of calls before it.
 * Throws if more than `most` calls are accepted.
 */
async function countUntilRefused(most: number, call: (n: number) => Promise<Answer>) {
  for (let n = 0; n <= most; n++) {
    const answer = await call(n)
    if (answer.status === 429) return { count: n, answer }
    if (answer.status > 299) throw new Error(answer.text)
  }
  throw new Error(`more than ${most} were accepted`)
}

function isRateLimited(t: Test, { status, body, headers }: Answer, withinSeconds: number): void {
  t.strictSame([status, body.error], [429, 'rate_limited'])
  const seconds = Number(headers['retry-after'])
  t.ok(seconds > withinSeconds - slackSeconds && seconds <= withinSeconds, `${seconds} s`)
}

const open = await startBehindProxy(t)
const asPublic = await startBehindProxy(t, ['--quotas', 'public'])
/** Each test has addresses of its own. */
const twoTickets = await startBehindProxy(t, ['--ticket-limit', '2'])

t.test('--quotas open: 300 messages and 30 identities from one address: accepted', async (t) => {
  const forum = open
  const author = await newIdentity(forum, '198.51.100.1')
  const id = await publishedThread(author)
  for (let i = 0; i < 30; i++) await newIdentity(forum, '198.51.100.1')
  const posted = await Promise.all(
    Array.from({ length: 300 }, () => post(author, id, '198.51.100.1')),
  )
  t.ok(posted.every(({ status }) => status === 201))
  t.equal((await author.read(id, '?limit=1')).body.thread.message_count, 301)
})

t.test('tickets: from one address: 20 within the hour, in every profile', async (t) => {
  for (const forum of [open, asPublic]) {
    const ask = (address: string) => forum.anonymous.get('/api/compat/ticket', from(address))
    const { count, answer } = await countUntilRefused(20, () => ask('198.51.100.1'))
    t.equal(count, 20)
    isRateLimited(t, answer, hourSeconds)
    t.equal((await ask('198.51.100.2')).status, 200, 'another address has its own')
    await forum.stop('SIGKILL')
    await forum.start()
    isRateLimited(t, await ask('198.51.100.1'), hourSeconds)
  }
})

t.test('--ticket-limit: 2: two; 0: any number', async (t) => {
  const ask = (forum: Forum) => forum.anonymous.get('/api/compat/ticket')
  t.equal((await countUntilRefused(2, () => ask(twoTickets))).count, 2)
  const any = await startForum(t, ['--ticket-limit', '0'])
  for (let i = 0; i < 30; i++) t.equal((await ask(any)).status, 200)
})

t.test('--quotas public: identities: 10 an hour from one address', async (t) => {
  const create = (address: string) => asPublic.anonymous.post('/api/identities', {}, from(address))
  const { count, answer } = await countUntilRefused(10, () => create('198.51.100.1'))
  t.equal(count, 10)
  isRateLimited(t, answer, hourSeconds)
  t.equal((await create('198.51.100.2')).status, 201)
})

t.test('--quotas public: messages: 60 an address, 100 an identity, 200 in all', async (t) => {
  const forum = await startBehindProxy(t, ['--quotas', 'public'])
  const [ana, ben, eve] = await Promise.all(
    [1, 2, 3].map((n) => newIdentity(forum, `198.51.100.${n}`)),
  )
  const { body } = await ana.thread({}, from('203.0.113.1'))
  const id = body.thread_id
  const first = newKey()
  t.equal((await post(ana, id, '203.0.113.1', first)).status, 201)

  const address = await countUntilRefused(60, () => post(ana, id, '203.0.113.1'))
  t.equal(address.count, 58, 'with the thread and the first reply: 60')
  isRateLimited(t, address.answer, daySeconds)
  t.equal((await post(ana, id, '203.0.113.1', first)).status, 200, 'a replay does not count')
  isRateLimited(t, await ben.thread({}, from('203.0.113.1')), daySeconds)
  const ticket = await forum.anonymous.get('/api/compat/ticket', from('203.0.113.1'))
  const byGet = new URLSearchParams({ ticket: ticket.body.ticket, ack: 'publish', content: 'x' })
  const url = `/api/compat/publish?${byGet}&thread_id=${id}`
  isRateLimited(t, await forum.anonymous.get(url, from('203.0.113.1')), daySeconds)

  const other = (n: number) => `203.0.113.${10 + (n % 100)}`
  const identity = await countUntilRefused(100, (n) => post(ana, id, other(n)))
  t.equal(identity.count, 40, 'with the 60 before: 100')
  await forum.stop()
  await forum.start()
  isRateLimited(t, await post(ana, id, '203.0.113.9'), daySeconds)

  let from200 = 100
  for (const author of [ben, eve]) {
    const { count } = await countUntilRefused(100, (n) => post(author, id, other(n)))
    from200 += count
  }
  t.equal(from200, 200)
  t.equal((await eve.read(id, '?limit=1')).body.thread.message_count, 200)
})

t.test('flags: one limit lifted or set: it wins over the profile', async (t) => {
  const lifted = await startBehindProxy(t, [
    '--quotas',
    'public',
    '--identities-per-hour-per-address',
    '0',
    '--messages-per-day-per-identity=2',
  ])
  for (let i = 0; i < 15; i++) await newIdentity(lifted, '198.51.100.1')
  const ana = await newIdentity(lifted, '198.51.100.1')
  const { count } = await countUntilRefused(2, () => ana.thread())
  t.equal(count, 2)
})

t.test('flags: impossible: one line, exit 64', async (t) => {
  const wrong: [string[], string][] = [
    [['--quotas', 'closed'], '--quotas takes open or public, not "closed"'],
    [
      ['--messages-per-day', '-1'],
      '--messages-per-day needs a value; if "-1" is the value, write --messages-per-day=-1',
    ],
    [
      ['--messages-per-day=x'],
      '--messages-per-day takes a whole number from 0 to 10000000, not "x"',
    ],
    [
      ['--ticket-limit=10000001'],
      '--ticket-limit takes a whole number from 0 to 10000000, not "10000001"',
    ],
  ]
  for (const [flags, line] of wrong) t.throws(() => parseConfig(flags, {}), { message: line })
  const [[flags, line]] = wrong
  const { code, stderr } = await run(['serve', ...flags])
  t.equal(code, 64)
  t.equal(stderr.indexOf(`agent-forum: ${line}`), 0, stderr)
  t.equal(stderr.trim().split('\n').length, 1)
})

t.test('addresses: IPv6 by /64, mapped IPv4 as IPv4: one quota each', async (t) => {
  const ask = async (address: string) =>
    (await twoTickets.anonymous.get('/api/compat/ticket', from(address))).status
  for (const [one, same, other] of [
    ['2001:db8::1', '2001:db8:0:0:ffff::2', '2001:db8:0:1::1'],
    ['2001:db8:1:2:3:4:5:6', '2001:DB8:1:2::', '2001:db8:1::2'],
    ['::1', '::2:3', '0:0:0:1::'],
    ['198.51.100.1', '::ffff:198.51.100.1', '198.51.100.2'],
  ]) {
    t.equal(await ask(one), 200)
    t.equal(await ask(same), 200)
    t.equal(await ask(one), 429, one)
    t.equal(await ask(same), 429, same)
    t.equal(await ask(other), 200, other)
  }
})

t.test('a forged header beside the trusted one: the same quota', async (t) => {
  const forum = await startBehindProxy(t, ['--ticket-limit', '3'])
  const forged = (n: number) => ({
    'cf-connecting-ip': `203.0.113.${n}`,
    'x-forwarded-for': `203.0.113.${n}, 198.51.100.1`,
  })
  const { count } = await countUntilRefused(20, (n) =>
    forum.anonymous.get('/api/compat/ticket', forged(n)),
  )
  t.equal(count, 3)
  const cloudflare = await startForum(t, [
    ...['--trust-proxy', 'cf-connecting-ip', '--ticket-limit', '3'],
  ])
  const counted = await countUntilRefused(20, (n) =>
    cloudflare.anonymous.get('/api/compat/ticket', {
      'cf-connecting-ip': '198.51.100.1',
      'x-forwarded-for': `203.0.113.${n}`,
    }),
  )
  t.equal(counted.count, 3)
})
