// How a person gains access: registration in each of its modes, limited guesses, and a forum for
// members only.

import t from 'tap'
import { Guesses } from '../../src/forum/identities/guesses.ts'
import { type IssuedInvitation, issueInvitation } from '../../src/forum/invitations/commands.ts'
import { FakeExchange } from '../edge/http/fake-exchange.ts'
import { goOn } from '../forum/doubles.ts'
import { answerOf, draftOn, formOn, nameOn, problemOn, type Shown } from './person.ts'
import { processes, Scene } from './scene.ts'

const tokenOn = (page: Shown) => /aic_[0-9a-f]{64}/.exec(page.text)?.[0] ?? ''

for (const process of processes) {
  t.test(`${process}: registers, signs out, signs in again`, async (t) => {
    const scene = new Scene(process)
    const person = scene.person()
    t.equal(nameOn(await person.open('/')), '')
    const sent = await person.fill(await person.open('/sign-in'), '/register', {
      display_name: 'Ana',
    })
    t.match(sent, { status: 303, text: '' }, 'a reload sends nothing again')
    const welcome = await person.open(sent.location)
    t.equal(welcome.status, 200)
    t.match(welcome.headers, 'Cache-Control: no-store')
    t.equal(nameOn(welcome), 'Ana')
    const token = tokenOn(welcome)
    t.equal(tokenOn(await person.open(sent.location)), token, 'a reload shows it again')
    t.equal((await scene.person().open(sent.location)).status, 401, 'but to nobody else')
    const { leader, follower } = scene.pair
    for (const { world } of [leader, follower]) goOn(world.clock, 60_000)
    const later = await person.open(sent.location)
    t.match([later.status, nameOn(later), tokenOn(later)], [200, 'Ana', ''], 'for a minute')
    const self = await scene.call('get', '/api/identities/me', token)
    t.match(self, { display_name: 'Ana', kind: 'persistent' })
    const home = await person.open('/')
    t.equal(nameOn(home), 'Ana')
    t.equal(tokenOn(home), '')
    const out = await person.fill(home, '/sign-out', {})
    t.match(out, { status: 303, location: '/' })
    t.equal(person.cookie, '')
    t.equal(nameOn(await person.open('/')), '')
    const wrong = await person.signIn(`aic_${'0'.repeat(64)}`)
    t.equal(wrong.status, 403)
    t.match(problemOn(wrong), /No identity has this token/)
    t.match(await person.signIn(` ${token} `, '/governance'), {
      status: 303,
      location: '/governance',
    })
    t.equal(nameOn(await person.open('/')), 'Ana')
    t.match(await person.open('/sign-in?to=/t/x'), { status: 303, location: '/t/x' })
  })
}

t.test('registration by invitation: with one only; closed: no form', async (t) => {
  const invited = new Scene('reader', { registration: 'invited' })
  const { forum } = invited.pair.leader
  const made = issueInvitation(forum, { uses: 1, days: 1, reason: '' }) as IssuedInvitation
  invited.pair.settle()
  const register = async (invite: string) => {
    const visitor = invited.person()
    return visitor.fill(await visitor.open('/sign-in'), '/register', {
      display_name: 'Ana',
      invite,
    })
  }
  t.match(problemOn(await register(' ')), 'Type the invitation.')
  const wrong = await register('inv_x')
  t.equal(wrong.status, 403)
  t.match(draftOn(wrong, '/register', 'invite'), {
    problem: /unknown, used up/,
    display_name: 'Ana',
    invite: 'inv_x',
  })
  t.match(await register(made.code), { status: 303, location: '/registered?to=%2Ffeed' })
  t.match(problemOn(await register(made.code)), /unknown, used up/)

  const closed = new Scene('alone', { registration: 'closed' }).person()
  const page = await closed.open('/sign-in')
  t.throws(() => formOn(page, '/register'))
  t.match(page.text, /registers its members/)
  const sent = await closed.send('/register', { display_name: 'Ana' })
  t.equal(sent.status, 403)
  t.match(problemOn(sent), /registered by the operator|operator/)
})

t.test('guessing of tokens: ends after so many, for sign-ins as for the interface', async (t) => {
  const scene = new Scene()
  const ana = await scene.identity('Ana')
  const { forum } = scene.pair.leader
  forum.guesses = new Guesses(3, () => 0)
  const person = scene.person()
  for (let guess = 0; guess < 3; guess++) {
    t.equal((await person.signIn(`aic_${`${guess}`.repeat(64)}`)).status, 403)
  }
  const limited = await person.signIn(ana.token)
  t.equal(limited.status, 429)
  t.match(problemOn(limited), /Try again in 60 minutes/)
})

for (const process of processes) {
  t.test(
    `${process}: a form without a session: a short one is kept, a long one unread`,
    async (t) => {
      const scene = new Scene(process)
      const person = await scene.signedIn((await scene.identity('Ana')).token)
      const page = await person.open('/new')
      person.cookie = ''
      const send = (content: string) => person.fill(page, '/new', { title: 'a title', content })
      const short = await send('typed')
      t.match([short.status, draftOn(short, '/new', 'title')], [401, { content: 'typed' }])
      const long = await send('x'.repeat(16 << 10))
      t.match(
        [long.status, problemOn(long)],
        [401, /not signed in\. The Back button of your browser brings back what you typed/],
      )
      t.same(formOn(long, '/sign-in', 'token')[0], ['to', '/new'])
      t.notMatch(long.text, 'xxx')
    },
  )
}

t.test('members only: a form of nobody: is asked to sign in, and shows no member', async (t) => {
  const scene = new Scene('alone', { membersOnly: true })
  const ana = await scene.identity('Ana of members')
  const { thread_id } = await scene.thread(ana.token, { title: 'of members' })
  const person = scene.person()
  for (const path of ['/new', `/t/${thread_id}`]) {
    const shown = await person.send(path, { content: 'typed', to: ana.id })
    t.equal(shown.status, 401, path)
    t.match(shown.text, /typed/)
    t.match(shown.text, new RegExp(`value="${ana.id}" checked`), 'what was chosen stays')
    t.notMatch(shown.text, /of members/)
    const other = await person.send(path, { content: 'typed' })
    t.notMatch(other.text, new RegExp(ana.id))
  }
})

t.test(
  'sign in: a path that is too long, or that of a search: /feed, and the search',
  async (t) => {
    const scene = new Scene('alone', { membersOnly: true })
    const ana = await scene.identity('Ana')
    const person = scene.person()
    const asked = await person.open('/search?q=a%20b')
    const signedIn = await person.fill(asked, '/sign-in', { token: ana.token })
    t.match(signedIn, { status: 303, location: '/search?q=a%20b' })
    const long = { token: 'none', to: `/${'"'.repeat(10_000)}` }
    t.ok((await scene.person().send('/sign-in', long)).text.length < 5_000)
  },
)

t.test('members only: whoever is not signed in is led to it, and back', async (t) => {
  const scene = new Scene('alone', { membersOnly: true })
  const ana = await scene.identity('Ana')
  const { thread_id } = await scene.thread(ana.token, { title: 'of members' })
  const person = scene.person()
  for (const path of ['/', `/t/${thread_id}`, '/search', '/governance', '/feed', '/new']) {
    const page = await person.open(path)
    t.equal(page.status, 401, path)
    t.notMatch(page.text, /of members/)
  }
  const asked = await person.open(`/t/${thread_id}`)
  const mistyped = await person.fill(asked, '/sign-in', { token: `${ana.token}0` })
  t.equal(mistyped.status, 403)
  const signedIn = await person.fill(mistyped, '/sign-in', { token: ana.token })
  t.match(signedIn, { status: 303, location: `/t/${thread_id}` })
  const shown = await person.open(signedIn.location)
  t.match(shown, { status: 200, text: /of members/ })
  t.notMatch(shown.text, /news\.js/, 'the interface would refuse the polls of the page')
})

t.test('a page of somebody, for nobody: asks for a sign-in, not for a membership', async (t) => {
  const scene = new Scene()
  const person = scene.person()
  const hasBox = ({ elements }: Shown) => {
    return elements.some(({ attributes }) => attributes.action === '/search')
  }
  Object.assign(scene.pair.leader.role.service, { search: { isAvailable: true } })
  for (const path of ['/feed', '/new']) {
    const page = await person.open(path)
    t.match(page, { status: 401, text: /<h1>Sign in<\/h1>/ })
    t.ok(hasBox(page), 'the head is that of all pages')
    const exchange = new FakeExchange('get', path, { accept: '*/*' })
    person.side.edge.handle(exchange)
    const { text } = await answerOf(scene.pair, exchange)
    t.match(JSON.parse(text!), {
      error: 'token_required',
      message: /^This page needs a signed-in visitor/,
    })
  }
  const closed = new Scene('alone', { membersOnly: true })
  Object.assign(closed.pair.leader.role.service, { search: { isAvailable: true } })
  t.notOk(hasBox(await closed.person().open('/feed')), 'whoever is not let in cannot search')
})

t.test('registers: the link says where it leads', async (t) => {
  const person = new Scene().person()
  for (const [to, text] of [
    ['/feed', 'Go on to your feed'],
    [`/t/thr_${'0'.repeat(32)}`, 'Back to the thread'],
    ['/governance', 'Back to the page from which you came'],
  ] as const) {
    const { location } = await person.send('/register', { display_name: 'Ana', to })
    const welcome = await person.open(location)
    const last = welcome.elements.filter(({ name }) => name === 'main')[0]!.text.trim()
    t.ok(last.endsWith(text), last)
    t.match(welcome.text, `<a href="${to}">${text}</a>`)
  }
})
