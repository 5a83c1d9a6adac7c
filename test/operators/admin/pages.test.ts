// Goal:   an operator who is signed in on the operators' port can do there what `agent-forum admin`
//         does, and nobody else can.
// Method: real nodes; a browser without scripts that keeps its cookie and submits the forms that it
//         is shown; the command line beside it; and forged requests.

import t, { type Test } from 'tap'
import { request } from 'undici'
import { ThreadExpiry } from '../../../src/forum/threads/expiry.ts'
import { BrowserSessions, sessionSeconds } from '../../../src/operators/admin/browser-sessions.ts'
import { type Administered, textOf } from '../../../src/operators/admin/commands.ts'
import { recentSections } from '../../../src/operators/admin/pages.ts'
import { type Forum, startForum } from '../../api/harness.ts'
import { sample } from '../../api/operators.ts'
import { run } from '../../api/process.ts'
import { Node } from '../../edge/http/edge-node.ts'
import { ColdText } from '../../forum/cold-text.ts'
import { goOn } from '../../forum/doubles.ts'
import { freePort } from '../../free-port.ts'
import { type Element, elementsOf } from '../../people/markup.ts'
import { formOn } from '../../people/person.ts'
import { until } from '../../until.ts'

interface Page {
  status: number
  headers: Record<string, string>
  text: string
  elements: Element[]
}

class Operator {
  cookie = ''
  page: Page = { status: 0, headers: {}, text: '', elements: [] }
  readonly forum: Forum
  readonly port: number

  constructor(forum: Forum, port: number) {
    this.forum = forum
    this.port = port
  }

  async go(path: string, method = 'GET', body: string | null = null, headers = {}): Promise<Page> {
    const {
      statusCode,
      headers: got,
      body: stream,
    } = await request(`http://127.0.0.1:${this.port}${path}`, {
      method: method as 'GET',
      body,
      headers: { cookie: this.cookie, ...headers },
    })
    const text = await stream.text()
    const setCookie = got['set-cookie'] as string | undefined
    if (setCookie !== undefined) [this.cookie] = setCookie.split(';') as [string]
    this.page = {
      status: statusCode,
      headers: got as Page['headers'],
      text,
      elements: text.startsWith('<') ? elementsOf(text) : [],
    }
    return this.page
  }

  /** Submits a form of the page with these values, and follows a redirect. */
  async send(action: string, values: Record<string, string> = {}, headers = {}): Promise<Page> {
    const form = new URLSearchParams(formOn(this.page, action))
    for (const [name, value] of Object.entries(values)) form.set(name, value)
    const own = { origin: `http://127.0.0.1:${this.port}` }
    const page = await this.go(action, 'POST', form.toString(), { ...own, ...headers })
    return page.status === 303 ? this.go(page.headers.location!) : page
  }

  admin(...args: string[]) {
    return run(['admin', ...args, '--data', this.forum.data])
  }

  async signInPath(): Promise<string> {
    const { code, stdout, stderr } = await this.admin('sign-in')
    if (code !== 0) throw new Error(stderr)
    const { port, pathname, search } = new URL(stdout.trim())
    if (port !== `${this.port}`) throw new Error(stdout)
    return pathname + search
  }

  async signIn(): Promise<Page> {
    await this.go(await this.signInPath())
    return this.send('/admin/sign-in')
  }
}

async function start(t: Test, flags: string[] = []): Promise<Operator> {
  const port = await freePort()
  return new Operator(await startForum(t, ['--ops-port', `${port}`, ...flags]), port)
}

t.test('operators: sign in by an address of the socket, once', async (t) => {
  const operator = await start(t)
  const asked = await operator.go('/admin')
  t.equal(asked.status, 401)
  t.match(asked.text, /agent-forum admin sign-in/)
  const path = await operator.signInPath()
  t.equal((await operator.go(path)).status, 200)
  await operator.go(path) // a link preview does not use up the sign-in link
  const button = operator.page
  const signedIn = await operator.send('/admin/sign-in')
  t.equal(signedIn.status, 200)
  t.match(signedIn.text, /Locked, removed, blocked/)
  t.match(operator.cookie, /^agent-forum-operator-\d+=[0-9a-f]{64}$/)
  const other = new Operator(operator.forum, operator.port)
  other.page = button
  t.equal((await other.send('/admin/sign-in')).status, 403)
  t.match(other.page.text, /was used already/)
  await operator.go('/admin')
  const first = operator.cookie
  await operator.signIn()
  const second = operator.cookie
  operator.cookie = first
  t.equal((await operator.go('/admin')).status, 401, 'another sign-in ends the session')
  operator.cookie = second
  await operator.go('/admin')
  await operator.send('/admin/sign-out')
  t.equal(operator.page.status, 401)
})

t.test('operators: a thread, an agent, a message: as the command line does', async (t) => {
  const operator = await start(t)
  const ana = await operator.forum.identity({ display_name: '<b>ana' })
  const content = 'first <b>line\u202e\nsecond'
  const { thread_id, message_id } = (await ana.thread({ content })).body
  await operator.signIn()
  await operator.go(`/admin?id=${thread_id}`)
  t.match(operator.page.text, /&lt;b&gt;ana/)
  await operator.send('/admin/lock-thread', { reason: 'off <topic>' })
  t.equal(operator.page.status, 200)
  t.match(operator.page.text, /off &lt;topic&gt;/)
  t.equal((await ana.reply(thread_id)).body.error, 'thread_locked')
  t.match((await operator.admin('list')).stdout, /locked {3}thr_\w+ {2}off <topic>/)
  await operator.send('/admin/unlock-thread')
  t.equal((await ana.reply(thread_id)).status, 201)

  await operator.go(`/admin?id=${encodeURIComponent(`${operator.forum.url}/agents/${ana.id}`)}`)
  await operator.send('/admin/block-identity')
  t.equal((await ana.reply(thread_id)).body.error, 'identity_blocked')
  await operator.send('/admin/unblock-identity')

  await operator.go(`/admin?id=${message_id}`)
  const textsOn = (name: string) => {
    return operator.page.elements.filter((each) => each.name === name).map(({ text }) => text)
  }
  t.same(textsOn('pre'), ['first <b>line[U+202E]\nsecond'], 'what is about to be erased')
  const unsure = await operator.send('/admin/remove-message', { reason: 'kept' })
  t.equal(unsure.status, 400)
  t.match(unsure.text, /Nothing was done.*value="kept"/s)
  t.not((await ana.messages(thread_id))[0]?.removed, true)
  await operator.send('/admin/remove-message', { sure: 'yes' })
  t.equal(operator.page.status, 200)
  t.match(operator.page.text, /Its text/)
  t.equal((await ana.messages(thread_id))[0]?.removed, true)
  t.same(textsOn('pre'), [])
  t.same(textsOn('a').slice(0, 2), ['Moderation', 'Dashboard'])
  await operator.go('/admin')
  t.same([textsOn('h1'), textsOn('nav')], [['Moderation'], ['Dashboard']])
  t.match(operator.page.text, /Removed<\/td><td><a href="\/admin\?id=msg_/)

  await operator.go('/admin?id=2')
  t.match(operator.page.text, /<h1>Message/, 'a message by its number')
  await operator.go('/admin?id=nonsense%22%3E')
  t.equal(operator.page.status, 404)
  t.match(operator.page.text, /value="nonsense&quot;&gt;"/)
})

t.test('operators: what is new: each with a link to act on it', async (t) => {
  const operator = await start(t, ['--messages-per-day-per-identity', '2'])
  const ana = await operator.forum.identity({ display_name: '<b>ana' })
  const { thread_id, message_id } = (await ana.thread({ content: `<i>${'long '.repeat(40)}` })).body
  const { body } = await ana.reply(thread_id, 'to be removed')
  for (let i = 0; i < 3; i++) t.equal((await ana.reply(thread_id)).status, 429)
  await operator.signIn()
  const removal = ['remove-message', body.message_id, '--yes', '--no-wait']
  t.match(await operator.admin(...removal), { code: 0 })
  const { text } = await operator.go('/admin')
  t.match(text, new RegExp(`&lt;i&gt;long .*…</bdi> <a href="/admin\\?id=${message_id}">`))
  t.match(text, '<bdi>removed</bdi>')
  t.match(
    text,
    new RegExp(`<td>3</td><td><bdi>&lt;b&gt;ana</bdi> <a href="/admin\\?id=${ana.id}">`),
  )
  t.match(text, /Newest identities.*&lt;b&gt;ana.*persistent/s)
  t.match(operator.page.headers['content-security-policy'], "script-src 'self'")
})

const messageLink = '<a href="/admin?id=msg_'

t.test('operators: what is new, when a thread has expired: all but its messages', async (t) => {
  const node = new Node()
  const { forum, clock } = node
  node.post('/api/threads', { title: 't', content: 'It stays' })
  node.post('/api/threads', { title: 't', content: 'It expires', ttl_seconds: 60 })
  const { state, refusedCallers } = forum
  const administered = { state, refusedCallers, textOf: (n: number) => textOf(forum, n) }
  const read = async () => (await recentSections(administered as Administered)).text
  t.match(await read(), /It expires[\s\S]*It stays/)
  const expiry = new ThreadExpiry(forum)
  goOn(clock, 60_000)
  expiry.turn()
  t.ok(state.messages.isForgotten(1))
  const left = await read()
  t.match(left, 'It stays')
  t.notMatch(left, 'It expires')
  t.equal(left.split(messageLink).length - 1, 1, 'nothing stands in its place')
  t.same(await textOf(forum, 1), { rejected: 'not_found' }, 'as it is read again from disk')
})

t.test('operators: invitations and tokens: shown once', async (t) => {
  const operator = await start(t, ['--registration', 'invited'])
  const { anonymous } = operator.forum
  await operator.signIn()
  const wrong = await operator.send('/admin/invite', { uses: '0' })
  t.equal(wrong.status, 400)
  t.match(wrong.text, /Identities that it creates: from 1 to 10000.*value="0"/s)
  await operator.send('/admin/invite', { uses: '2', days: '3', reason: 'the team' })
  const [invite] = /inv_[0-9a-f]{64}/.exec(operator.page.text)!
  const registered = await anonymous.post('/api/identities', { kind: 'persistent', invite })
  t.equal(registered.status, 201)
  await operator.go('/admin')
  t.match(operator.page.text, /1 of 2.*the team/s)
  t.notMatch(operator.page.text, /inv_[0-9a-f]/)
  const [id] = /ivt_[0-9a-f]{32}/.exec(operator.page.text)!
  await operator.go(`/admin?id=${id}`)
  t.equal((await operator.send('/admin/revoke-invite')).status, 400)
  await operator.send('/admin/revoke-invite', { sure: 'yes' })
  t.match(operator.page.text, /revoked/)
  t.notMatch(operator.page.text, 'action="/admin/revoke-invite"', 'nothing is left to do')
  const refused = await anonymous.post('/api/identities', { kind: 'persistent', invite })
  t.equal(refused.body.error, 'invalid_invite')

  await operator.go('/admin')
  await operator.send('/admin/invite')
  const [code] = /inv_[0-9a-f]{64}/.exec(operator.page.text)!
  await operator.go('/admin')
  const form = operator.page
  await operator.send('/admin/revoke-invite', { id: code, sure: 'yes' })
  t.match(operator.page.text, /<h1>Invitation.*revoked/s, 'by its code')
  await operator.go('/admin')
  await operator.send('/admin/register', { name: ' ', kind: 'guest' })
  t.match(operator.page.text, /Name: of 1 to 80.*value="guest" selected=""/s)
  await operator.send('/admin/register', { name: 'ben', kind: 'persistent' })
  const [, token] = /(aic_[0-9a-f]+)/.exec(operator.page.text)!
  const [agent] = /agt_[0-9a-f]{32}/.exec(operator.page.text)!
  const me = (authorization: string) => anonymous.get('/api/identities/me', { authorization })
  t.equal((await me(`Bearer ${token}`)).body.display_name, 'ben')
  operator.page = form
  t.equal((await operator.send('/admin/register', { name: 'again' })).status, 403, 'a reload')
  await operator.go(`/admin?id=${agent}`)
  await operator.send('/admin/rotate-token', { sure: 'yes' })
  const [, replaced] = /(aic_[0-9a-f]+)/.exec(operator.page.text)!
  t.equal((await me(`Bearer ${token}`)).status, 401)
  t.equal((await me(`Bearer ${replaced}`)).status, 200)
})

t.test('operators: whoever is not signed in, or forges a form, changes nothing', async (t) => {
  const operator = await start(t)
  const ana = await operator.forum.identity()
  const { thread_id: id } = (await ana.thread()).body
  const body = new URLSearchParams({ id, reason: '' }).toString()
  t.equal((await operator.go('/admin/lock-thread', 'POST', body)).status, 401)
  await operator.signIn()
  const { cookie } = operator
  t.equal((await operator.go('/admin/lock-thread', 'POST', body)).status, 403, 'no form token')
  await operator.go(`/admin?id=${id}`)
  const { page } = operator
  for (const origin of ['null', 'http://evil.example', `http://127.0.0.1:${operator.forum.port}`]) {
    operator.page = page
    const sent = await operator.send('/admin/lock-thread', {}, { origin })
    t.equal(sent.status, 403, `from ${origin}`)
  }
  const rebound = { host: 'evil.example' }
  t.equal((await operator.go('/admin', 'GET', null, rebound)).status, 421)
  t.equal((await operator.go('/admin/lock-thread', 'PUT', body)).status, 405)
  t.equal((await operator.go('/admin/other')).status, 404)
  t.equal((await operator.forum.anonymous.get('/admin', { cookie })).status, 404, 'the other port')

  operator.page = page
  const form = page
  await operator.send('/admin/sign-out')
  operator.cookie = cookie
  operator.page = form
  const stolen = await operator.send('/admin/lock-thread')
  t.equal(stolen.status, 401, 'a cookie after its sign-out')
  t.equal((await ana.reply(id)).status, 201, 'nothing was locked')
  const long = 'x'.repeat(20_000)
  t.equal((await operator.go('/admin/sign-in', 'POST', `code=${long}`)).status, 413)
})

t.test(
  'operators: a message whose text is on disk: is shown, removed, and nothing fails',
  async (t) => {
    const operator = await start(t, ['--text-memory-mb', '1', '--checkpoint-mb', '1'])
    const ana = await operator.forum.identity()
    const { thread_id } = (await ana.thread()).body
    const content = 'x'.repeat(7_900)
    for (let i = 0; i < 10; i++) {
      await Promise.all(Array.from({ length: 45 }, () => ana.reply(thread_id, content)))
    }
    await until('text on disk alone', async () => {
      return (await sample(operator.port, 'agent_forum_text_bytes{where="disk"}')) > 2e6
    })
    await operator.signIn()
    t.match((await operator.go('/admin?id=%2350')).text, /<h1>Message/)
    t.equal((await ana.get('/api/threads?limit=1')).status, 200)
    await until('the node to remove it', async () => {
      await operator.send('/admin/remove-message', { sure: 'yes' })
      return !operator.page.text.includes('The node is busy.') // as while it writes a checkpoint
    })
    t.match(operator.page.text, /Its text/)
    t.notMatch(operator.page.text, /Remove it/)
    t.equal((await ana.get('/api/threads?limit=1')).status, 200)
    const [, permalink] = /"([^"]*\/m\/msg_\w+)"/.exec(operator.page.text)!
    t.match((await operator.go(`/admin?id=${encodeURIComponent(permalink!)}`)).text, /<h1>Message/)
    const onPage = encodeURIComponent(`${operator.forum.url}/t/${thread_id}?after=4#m5`)
    t.match((await operator.go(`/admin?id=${onPage}`)).text, /<h1>Message/)
  },
)

t.test('operators: a node without their port: a sentence', async (t) => {
  const forum = await startForum(t)
  const { code, stderr } = await run(['admin', 'sign-in', '--data', forum.data])
  t.equal(code, 65)
  t.match(stderr, /start it with --ops-port/)
})

t.test('operators: a text on disk: is read, or said to be damaged', async (t) => {
  for (const isDamaged of [false, true]) {
    const disk = new ColdText()
    const node = new Node({}, disk)
    node.thread()
    disk.chill()
    disk.isMendable = false
    const read = textOf(node.forum, 0)
    t.equal(disk.asked.length, 1)
    disk.finish(isDamaged ? { kind: 'damaged', why: 'flipped' } : undefined)
    t.same(await read, isDamaged ? { rejected: 'unreadable' } : 'first')
    t.equal(node.forum.coldReads.bytes, 0, 'nothing is held')
  }
})

t.test('operators: anonymous callers have their share of reads: a text is read', async (t) => {
  const disk = new ColdText()
  const node = new Node({}, disk)
  const path = node.thread()
  disk.chill()
  node.token = ''
  const { coldReads } = node.forum
  for (let n = 0; n < coldReads.limits.parkedMax && coldReads.refused === 0; n++) node.get(path)
  t.equal(coldReads.refused, 1)
  const read = textOf(node.forum, 0)
  disk.finish()
  t.equal(await read, 'first')
})

t.test('sessions of operators: end by their time, and are bounded', async (t) => {
  let now = 0
  const sessions = new BrowserSessions(() => now)
  const code = sessions.newCode()
  const cookie = sessions.begin(code)!
  t.equal(sessions.begin(code), null, 'a code twice')
  t.equal(sessions.begin(''), null)
  const late = sessions.newCode()
  now += 10 * 60_000
  t.equal(sessions.begin(late), null, 'after ten minutes')
  t.ok(sessions.find(cookie))
  now = sessionSeconds * 1000
  t.equal(sessions.find(cookie), null, 'after its time')
  const first = sessions.newCode()
  for (let i = 0; i < 100; i++) sessions.newCode()
  t.equal(sessions.begin(first), null, 'the oldest of 101')
})
