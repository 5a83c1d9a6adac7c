// Guessing tokens and invitation codes as fast as connections allow: docs/interface.md, "Quotas".
// Callers have many addresses, as they do behind a proxy.

import t, { type Test } from 'tap'
import { freePort } from '../free-port.ts'
import { type Answer, Client, type Forum, startForum } from './harness.ts'
import { ask, samples } from './operators.ts'
import { run } from './process.ts'

const most = 100
const guesses = 2_000
const inFlight = 64
const hourSeconds = 3600

interface Scene {
  forum: Forum
  /** Resolves to the number of callers who were denied access, by reason. */
  notLetIn(): Promise<Record<string, number>>
  position(): Promise<number>
}

async function scene(t: Test, ...flags: string[]): Promise<Scene> {
  const ops = await freePort()
  const forum = await startForum(t, ['--trust-proxy', '--ops-port', `${ops}`, ...flags])
  return {
    forum,
    async notLetIn() {
      const all = samples((await ask(ops, '/metrics')).text)
      const reasons = ['token', 'invite', 'no_invite', 'closed', 'guesses']
      const of = (why: string) => all.get(`agent_forum_not_let_in_total{why="${why}"}`)!
      return Object.fromEntries(reasons.map((why) => [why, of(why)]))
    },
    async position() {
      return JSON.parse((await forum.anonymous.get('/api/status')).text).position
    },
  }
}

const from = (address: string) => ({ 'x-forwarded-for': address })

function register(forum: Forum, invite: string, address: string): Promise<Answer> {
  return forum.anonymous.post('/api/identities', { invite }, from(address))
}

async function invited(forum: Forum): Promise<string> {
  return (await run(['admin', 'invite', '--uses', '9', '--data', forum.data])).stdout.trim()
}

/** Makes guesses on many connections at once, and resolves to the number of answers by code. */
async function guess(call: (n: number) => Promise<Answer>): Promise<Record<string, number>> {
  const counted: Record<string, number> = {}
  let next = 0
  const lane = async () => {
    while (next < guesses) {
      const { status, body, headers } = await call(next++)
      const code = status < 300 ? 'let in' : body.error
      counted[code] = (counted[code] ?? 0) + 1
      if (status !== 429) continue
      const seconds = Number(headers['retry-after'])
      if (!(seconds > hourSeconds - 300 && seconds <= hourSeconds)) throw new Error(`${seconds} s`)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return counted
}

const wrong = (n: number) => n.toString(16).padStart(64, '0')

t.test('invitations: guessed at full speed: a hundred are looked at, and no record', async (t) => {
  const { forum, notLetIn, position } = await scene(t, '--registration', 'invited')
  const code = await invited(forum)
  const before = await position()
  // A single customer has a whole /64 network.
  const counted = await guess((n) => register(forum, `inv_${wrong(n)}`, `2001:db8::${n % 999}`))
  t.same(counted, { invalid_invite: most, rate_limited: guesses - most })
  const right = await register(forum, code, '2001:db8::ffff')
  t.equal(right.body.error, 'rate_limited', 'the right one is not told from the others')
  t.equal(await position(), before)
  t.equal((await register(forum, code, '2001:db8:0:1::1')).status, 201)
  const refused = await forum.anonymous.post('/api/identities', {}, from('198.51.100.1'))
  t.equal(refused.body.error, 'invite_required')
  const reasons = { token: 0, invite: most, no_invite: 1, closed: 0 }
  t.same(await notLetIn(), { ...reasons, guesses: guesses - most + 1 })
})

t.test('tokens: guessed at full speed: a hundred are looked at; members go on', async (t) => {
  const { forum, notLetIn } = await scene(t, '--members-only')
  const here = from('198.51.100.1')
  const ana = await forum.identity()
  const ben = await forum.identity()
  t.equal((await ana.get('/api/threads', here)).status, 200)
  const counted = await guess((n) => {
    return new Client(forum, `aic_${wrong(n)}`).get('/api/threads', here)
  })
  t.same(counted, { invalid_token: most, rate_limited: guesses - most })
  t.equal((await ana.get('/api/threads', here)).status, 200, 'the node knows the token')
  t.equal((await ben.get('/api/threads', here)).body.error, 'rate_limited')
  t.equal((await ben.get('/api/threads', from('198.51.100.2'))).status, 200)
  t.equal((await ben.get('/api/threads', here)).status, 200, 'by now it knows this one, too')
  t.equal((await forum.anonymous.get('/api/status', here)).status, 200)
  t.match(await notLetIn(), { token: most, invite: 0, guesses: guesses - most + 1 })
})

t.test('--guesses-per-hour-per-address: 2: two of either kind; 0: any number', async (t) => {
  const flags = ['--registration', 'invited', '--guesses-per-hour-per-address']
  const two = await startForum(t, [...flags, '2'])
  const guessToken = (forum: Forum) => new Client(forum, `aic_${wrong(1)}`).feed()
  const guessInvite = (forum: Forum) => forum.anonymous.post('/api/identities', { invite: 'x' })
  t.equal((await guessToken(two)).body.error, 'invalid_token')
  t.equal((await guessInvite(two)).body.error, 'invalid_invite')
  t.equal((await guessToken(two)).body.error, 'rate_limited')
  t.equal((await guessInvite(two)).body.error, 'rate_limited')
  const any = await startForum(t, [...flags, '0'])
  for (let n = 0; n < 300; n++) t.equal((await guessToken(any)).body.error, 'invalid_token')
})

t.test('by default: 300 wrong tokens: each is refused as wrong, as ever', async (t) => {
  const { forum } = await scene(t)
  for (let n = 0; n < 300; n++) {
    t.equal((await new Client(forum, `aic_${wrong(n)}`).feed()).body.error, 'invalid_token')
  }
})

t.test('registration closed: refused whatever is sent, and counted', async (t) => {
  const { forum, notLetIn } = await scene(t, '--registration', 'closed')
  const code = await invited(forum)
  for (const body of [{}, { invite: code }, { invite: 'x' }]) {
    const { status, body: answer } = await forum.anonymous.post('/api/identities', body)
    t.same([status, answer.error], [403, 'registration_closed'])
  }
  const token = await run(['admin', 'register', '--name', 'ana', '--data', forum.data])
  const ana = new Client(forum, token.stdout.trim())
  t.match((await ana.get('/api/identities/me')).body, { display_name: 'ana', kind: 'persistent' })
  t.match(await notLetIn(), { closed: 3, invite: 0 })
  const { capabilities } = JSON.parse((await forum.anonymous.get('/api/status')).text)
  t.match(capabilities, { registration: 'closed', members_only: false })
})
