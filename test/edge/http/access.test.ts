// Goal:   the access that a node grants, as a matrix: modes x routes and pages x callers x
//         processes.
// Method: a leader with a follower or a reader in memory, whose clock the test moves. The routes
//         are those that the node declares, so that a new one becomes part of the matrix
//         automatically. Every answer to a caller that is denied access is also searched for words
//         of members.

import { setImmediate as nextTick } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openToAll } from '../../../src/edge/api/access.ts'
import { exampleOf } from '../../../src/edge/api/examples.ts'
import type { Access, Route } from '../../../src/edge/api/route.ts'
import { type CreatedIdentity, registerIdentity } from '../../../src/forum/identities/commands.ts'
import { type IssuedInvitation, listInvitations } from '../../../src/forum/invitations/commands.ts'
import { accessCommands, type ReplacedToken } from '../../../src/forum/invitations/operators.ts'
import { blockIdentity } from '../../../src/forum/moderation/commands.ts'
import { withPages } from '../../../src/forum/pages.ts'
import { routesOf } from '../../../src/forum/routes.ts'
import { Pair, type PairOptions, type Side } from '../../cluster/replication/follower-pair.ts'
import { dayMs, goOn } from '../../forum/doubles.ts'
import { FakeExchange } from './fake-exchange.ts'

/** The routes that every node serves without a token. Adding one here is a deliberate decision. */
const openRoutes = [
  ...['status', 'createIdentity', 'publishByTicket', 'welcome', 'llmsGuide', 'notificationsGuide'],
  ...['governanceGuide', 'discover', 'robots', 'openApi'],
  'batch', // each of its requests has the access that it has alone
  ...['documents', 'document', 'documentsPage', 'documentPage'],
  ...['pageStyle', 'pageIcon', 'pageScript', 'pageNewsScript', 'pageScriptImport'],
  ...['signInPage', 'signIn', 'register', 'signOut'],
  // These ask for a sign-in themselves.
  ...['registeredPage', 'feedPage', 'markFeed', 'newThreadPage', 'newThread', 'threadForm'],
]

const registrations = ['open', 'invited', 'closed'] as const
const modes: Access[] = registrations.flatMap((registration) =>
  [false, true].map((membersOnly) => ({ membersOnly, registration })),
)
const ofMembers: Access = { membersOnly: true, registration: 'open' }

/** The processes in which a request can be answered. */
const processes = ['alone', 'reader', 'follower'] as const
type Process = (typeof processes)[number]

const callers = [
  ...(['nobody', 'guest', 'member', 'blocked', 'expired', 'unknown'] as const),
  // Their token has been replaced: immediately, with a grace that has not ended, and with one that
  // has.
  ...(['rotated', 'graced', 'outlived'] as const),
]
type Caller = (typeof callers)[number]

/** A word in every text that members write. */
const marker = 'marmalade'

/** The codes with which access is denied. */
const refusals = new Set<unknown>([
  ...['authentication_required', 'token_required', 'invalid_token', 'identity_blocked'],
])

let keys = 0

function request(route: Route, path: string, token = '', query = ''): FakeExchange {
  const headers = {
    authorization: token === '' ? '' : `Bearer ${token}`,
    'content-type': 'application/json',
    accept: isPage(route) ? 'text/html' : '*/*',
    'idempotency-key': `access-${keys++}`,
  }
  return new FakeExchange(route.method, path, headers, query)
}

function isPage({ type }: Route): boolean {
  return type?.startsWith('text/html') === true
}

/** What members have written, and the tokens of all callers. */
class Scene {
  readonly pair: Pair
  readonly side: Side
  readonly tokens: Record<Caller, string>
  /** The ids of a thread, a proposal and an identity, all of which are public. */
  readonly ids: Record<'thread' | 'proposal' | 'agent', string>

  constructor(access: Access, process: Process) {
    const as: Partial<PairOptions> = process === 'alone' ? {} : { as: process }
    this.pair = new Pair({ access, ...as })
    this.side = process === 'alone' ? this.pair.leader : this.pair.follower
    const webhooks = { refuseUrl: () => null, challenge: async () => null as never }
    Object.assign(this.pair.leader.role.service, { webhooks })
    const expired = this.#identity('guest')
    for (const { world } of [this.pair.leader, this.pair.follower]) goOn(world.clock, 8 * dayMs)
    const member = this.#identity('persistent')
    const [guest, blocked] = [this.#identity('guest'), this.#identity('persistent')]
    const thread = this.#written('/api/threads', { title: marker, content: marker }, member.token)
    const text = { kind: 'policy', title: marker, description: marker }
    const proposal = this.#written('/api/governance/proposals', text, member.token)
    blockIdentity(this.pair.leader.forum, { id: blocked.id, reason: '' })
    const rotated = this.#rotated({})
    const outlived = this.#rotated({ grace_seconds: 60 })
    for (const { world } of [this.pair.leader, this.pair.follower]) goOn(world.clock, 60_000)
    const graced = this.#rotated({ grace_seconds: 60 })
    this.pair.settle()
    this.tokens = {
      ...{ nobody: '', unknown: `aic_${'0'.repeat(64)}` },
      ...{ guest: guest.token, member: member.token },
      ...{ blocked: blocked.token, expired: expired.token },
      ...{ rotated, graced, outlived },
    }
    this.ids = { thread: thread.thread_id!, proposal: proposal.proposal_id!, agent: member.id }
  }

  #identity(kind: 'guest' | 'persistent'): { id: string; token: string } {
    const { forum } = this.pair.leader
    const made = registerIdentity(forum, { kind, displayName: marker }) as CreatedIdentity
    this.pair.settle()
    return made
  }

  /** Returns a token that has been replaced. */
  #rotated(rotation: object): string {
    const { token } = this.#identity('persistent')
    this.#written('/api/identities/me/token', rotation, token)
    return token
  }

  #written(path: string, body: object, token = ''): Record<string, string | undefined> {
    const { answers } = this.pair.leader.post(path, body, token, `access-${keys++}`)
    this.pair.settle()
    return JSON.parse(answers[0]!.text!)
  }

  /** Sends a request that is valid in every respect except possibly its caller. */
  async ask(route: Route, caller: Caller): Promise<FakeExchange> {
    const { thread, proposal, agent } = this.ids
    const id = /thread/i.test(route.path) || /^\/t\//.test(route.path) ? thread : proposal
    const path = route.path.replace(/:\w+/, route.path.startsWith('/agents/') ? agent : id)
    const query = route.name === 'search' ? `q=${marker}` : ''
    const exchange = request(route, path, this.tokens[caller], query)
    this.side.edge.handle(exchange)
    const isCollected = exchange.answers.length === 0 && route.body !== undefined
    if (isCollected) exchange.end(exampleOf(route.body!, true) as object)
    for (let turns = 0; exchange.answers.length === 0 && turns < 100; turns++) {
      this.pair.settle()
      await nextTick()
    }
    if (exchange.answers.length !== 1) throw new Error(`${route.name} is not answered`)
    if (route.name === 'rotateToken' && exchange.code === 200) {
      this.tokens[caller] = JSON.parse(exchange.answers[0]!.text!).token
    }
    return exchange
  }
}

/** Returns the routes of a node, and the pages that are served beside some of them. */
function routesIn(access: Access): Route[] {
  const routes = withPages(routesOf({ compat: true, search: true, ...access }), access)
  return routes.flatMap(({ html, ...route }) =>
    html === undefined ? [route] : [route, { ...html, path: route.path }],
  )
}

/** Returns the outcome that docs/interface.md, "Access" specifies for a route as declared. */
function expected(route: Route, { membersOnly, registration }: Access, caller: Caller): string {
  // Routes for sessions ignore tokens (test/people/sessions.test.ts).
  if (route.isForm) return 'cross_origin'
  if (['registeredPage', 'feedPage', 'newThreadPage'].includes(route.name)) return 'token_required'
  if (route.isBatch) return 'let in' // the requests in it are refused
  const isBearer = route.auth === 'bearer'
  const isTicket = route.name === 'issueTicket' && registration !== 'open'
  const isClosed = isTicket || (membersOnly && !openRoutes.includes(route.name))
  const isForMembers = !isBearer && isClosed
  if (!isBearer && !isForMembers && route.auth === 'none') return 'let in'
  if (caller === 'nobody') {
    if (isBearer) return 'authentication_required'
    return isForMembers ? 'token_required' : 'let in'
  }
  if (caller === 'blocked') return 'identity_blocked'
  if (caller === 'graced') return route.name === 'rotateToken' ? 'invalid_token' : 'let in'
  return caller === 'guest' || caller === 'member' ? 'let in' : 'invalid_token'
}

/** Returns the code with which the caller was denied access, as JSON or as a page, or 'let in'. */
function codeOf(exchange: FakeExchange): string {
  const [{ status, text, headers }] = exchange.answers as [FakeExchange['answers'][0]]
  if (!text!.startsWith('<!doctype')) {
    return refusals.has(exchange.code) ? `${exchange.code}` : 'let in'
  }
  if (status === 403 && text!.includes('A form can only be sent')) return 'cross_origin'
  if (status === 403) return 'identity_blocked'
  if (status !== 401) return 'let in'
  return /error="invalid_token"/.test(headers) ? 'invalid_token' : 'token_required'
}

t.test('the routes that are open to all: as they were decided', async (t) => {
  const open = routesIn(openToAll).filter((route) => route.open)
  t.same(open.map(({ name }) => name).toSorted(), openRoutes.toSorted())
})

async function checkAll(t: Test, access: Access, process: Process): Promise<void> {
  const declared = new Map(routesIn(openToAll).map((route) => [route.name, route]))
  const scene = new Scene(access, process)
  let checked = 0
  for (const route of routesIn(access)) {
    for (const caller of callers) {
      const exchange = await scene.ask(route, caller)
      const [{ status, text }] = exchange.answers as [FakeExchange['answers'][0]]
      const what = `${route.name}, ${caller}: ${status}`
      const code = expected(declared.get(route.name)!, access, caller)
      t.equal(codeOf(exchange), code, what)
      if (code !== 'let in') t.notOk(text!.includes(marker), `${what}: shows nothing`)
      if (access.membersOnly && caller === 'nobody') {
        t.notOk(text!.includes(marker), `${what}: shows nothing`)
      }
      if (isPage(route)) t.match(text, /^<!doctype html>/, what)
      checked += 1
    }
  }
  t.equal(checked, declared.size * callers.length)
}

/** Callers without an identity, by the invitation that they send. */
const newcomers = ['nothing', 'unknown', 'good', 'once too often', 'revoked', 'expired'] as const
type Newcomer = (typeof newcomers)[number]

function expectedOf(newcomer: Newcomer, { registration }: Access): string | number {
  if (registration === 'open') return 201
  if (registration === 'closed') return 'registration_closed'
  if (newcomer === 'nothing') return 'invite_required'
  return newcomer === 'good' ? 201 : 'invalid_invite'
}

async function checkNewcomers(t: Test, access: Access, process: Process): Promise<void> {
  const { pair, side } = new Scene(access, process)
  const { forum } = pair.leader
  const issue = (days: number) => {
    return accessCommands.invite(forum, { uses: 1, days, reason: '' }) as IssuedInvitation
  }
  const [expired, good, revoked] = [issue(1), issue(9), issue(9)]
  accessCommands['revoke-invite'](forum, { id: revoked.code, reason: '' })
  for (const { world } of [pair.leader, pair.follower]) goOn(world.clock, dayMs)
  const invites: Record<Newcomer, string | undefined> = {
    ...{ nothing: undefined, unknown: `inv_${'0'.repeat(64)}` },
    ...{ good: good.code, 'once too often': good.code },
    ...{ revoked: revoked.code, expired: expired.code },
  }
  const refusals = new Set<string>()
  for (const newcomer of newcomers) {
    const exchange = side.post('/api/identities', { invite: invites[newcomer] })
    pair.settle()
    t.equal(exchange.code, expectedOf(newcomer, access), newcomer)
    const [{ status, headers, text }] = exchange.answers as [FakeExchange['answers'][0]]
    if (status === 403 && newcomer !== 'nothing') refusals.add(headers + text)
    if (status !== 201) continue
    const { token } = JSON.parse(text!)
    t.equal(side.get('/api/identities/me', token).code, 200, `${newcomer}: may act at once`)
  }
  t.ok(refusals.size <= 1, 'all refusals of invitations are the same bytes')
  const used = listInvitations(forum).map(({ used }) => used)
  t.same(used, access.registration === 'invited' ? [0, 1, 0] : [0, 0, 0])
}

/** Uses a token in a process and lets a poll wait with it. Then an operator replaces the token. */
async function checkLeak(t: Test, access: Access, process: Process): Promise<void> {
  const { pair, side, tokens, ids } = new Scene(access, process)
  const leaked = tokens.member
  const feed = '/api/notifications'
  t.equal(side.get(feed, leaked).code, 200)
  const poll = side.get(feed, leaked, 'after=999999&wait=50')
  pair.settle()
  t.same(poll.answers, [], 'it waits')
  const rotation = { id: ids.agent, reason: 'a leak' }
  const { token } = accessCommands['rotate-token'](pair.leader.forum, rotation) as ReplacedToken
  pair.settle()
  t.equal(poll.code, 'invalid_token', 'the poll ends without news')
  const writing = side.post('/api/threads', { title: 't', content: 'c' }, leaked, 'key-of-a-leak')
  const reading = side.get(feed, leaked)
  pair.settle()
  for (const exchange of [reading, writing]) t.equal(exchange.code, 'invalid_token')
  t.equal(side.get(feed, token).code, 200)
}

for (const access of modes) {
  for (const process of processes) {
    const mode = `${access.registration}${access.membersOnly ? ', members only' : ''}`
    t.test(`${mode}, ${process}: every route, every caller: let in or refused as documented`, (t) =>
      checkAll(t, access, process),
    )
    t.test(`${mode}, ${process}: newcomers: registered or refused by what they send`, (t) =>
      checkNewcomers(t, access, process),
    )
    t.test(`${mode}, ${process}: a leaked token is replaced: it has ended, polls included`, (t) =>
      checkLeak(t, access, process),
    )
  }
}

t.test('members only: a page without a token: says so, and links to nothing', async (t) => {
  const scene = new Scene(ofMembers, 'alone')
  const [page] = routesIn(ofMembers).filter(({ name }) => name === 'homePage')
  const [{ status, text, headers }] = (await scene.ask(page!, 'nobody')).answers as [
    FakeExchange['answers'][0],
  ]
  t.equal(status, 401)
  t.match(headers, /WWW-Authenticate: Bearer\b/)
  t.match(text, /<h1>Sign in<\/h1>/)
  t.notMatch(text, /The newest threads/)
})

t.test('members only: a ticket: ends with the right of its member to act', async (t) => {
  const scene = new Scene(ofMembers, 'alone')
  const { pair, tokens } = scene
  const ticketOf = (token: string): string => {
    const exchange = pair.leader.get('/api/compat/ticket', token)
    pair.settle()
    return JSON.parse(exchange.answers[0]!.text!).ticket
  }
  const publish = (ticket: string) => {
    const query = `ticket=${ticket}&ack=publish&title=hello&content=hello`
    const exchange = pair.leader.get('/api/compat/publish', '', query)
    pair.settle()
    return exchange.code
  }
  t.equal(publish(ticketOf(tokens.guest)), 201)
  const before = ticketOf(tokens.guest)
  pair.leader.post('/api/identities/me/token', {}, tokens.guest)
  pair.settle()
  t.equal(publish(before), 'invalid_ticket', 'of a token that has been replaced')
  const later = ticketOf(tokens.member)
  blockIdentity(pair.leader.forum, { id: scene.ids.agent, reason: '' })
  t.equal(publish(later), 'invalid_ticket')
})

t.test('the guide: says what a newcomer has to send, in each mode', async (t) => {
  const says: Record<(typeof registrations)[number], RegExp> = {
    open: /identities with \{"kind": "persistent", "display_name": "my name"\}\n/,
    invited: /"invite": "inv_\.\.\."\}/,
    closed: /Only the operator of this service registers identities/,
  }
  for (const access of modes) {
    const { leader } = new Pair({ access })
    const { text } = leader.get('/llms.txt').answers[0]!
    for (const [mode, sentence] of Object.entries(says)) {
      t.equal(sentence.test(text!), mode === access.registration, `${mode}, ${access.registration}`)
    }
    t.equal(/Reading needs the header/.test(text!), access.membersOnly)
  }
})
