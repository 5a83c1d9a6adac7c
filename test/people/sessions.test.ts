// Attacks on the sessions of people: forged forms, stolen, planted and altered cookies, and what
// others could learn from caches. Each attack is attempted, and must fail.

import t from 'tap'
import { cookieLine } from '../../src/edge/api/session-cookie.ts'
import { crossForm, ownOrigins } from '../../src/edge/http/cross-site.ts'
import { blockIdentity } from '../../src/forum/moderation/commands.ts'
import {
  beginSession,
  findSession,
  type Session,
  signOut,
} from '../../src/forum/sessions/commands.ts'
import { FakeExchange } from '../edge/http/fake-exchange.ts'
import { dayMs, goOn } from '../forum/doubles.ts'
import { answerOf, formOn, nameOn, Person, problemOn, type Shown } from './person.ts'
import { processes, Scene } from './scene.ts'

const threadsOf = async (scene: Scene) => (await scene.call('get', '/api/threads')).threads.length
const cookieIn = ({ headers }: Shown) => /Set-Cookie: ([^;]+)/.exec(headers)?.[1] ?? ''

/** Returns a second browser with the same cookie. */
function thiefOf(person: Person): Person {
  const thief = new Person(person.pair, person.side)
  thief.cookie = person.cookie
  return thief
}

for (const process of processes) {
  t.test(`${process}: a form from elsewhere: refused, and nothing is written`, async (t) => {
    const scene = new Scene(process)
    const ana = await scene.identity('Ana')
    const person = await scene.signedIn(ana.token)
    const form = formOn(await person.open('/new'), '/new', 'title')
    const filled = [...form.filter(([name]) => name !== 'title' && name !== 'content')]
    const whole = [...filled, ['title', 'forged'], ['content', 'forged']] as typeof form
    const elsewhere: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'http://127.0.0.1:2' }, // another port: the same site, so cookies are sent
      { origin: 'null' },
      { origin: '' },
      { origin: '', 'sec-fetch-site': 'cross-site' },
      { origin: '', 'sec-fetch-site': 'same-site' },
      { origin: '', 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
    ]
    const paths = [
      '/new',
      '/feed',
      '/sign-out',
      '/sign-in',
      '/register',
      `/t/thr_${'0'.repeat(32)}`,
    ]
    for (const headers of elsewhere) {
      for (const path of paths) {
        const sent = await person.send(path, whole, headers)
        t.equal(sent.status, 403, `${path} ${JSON.stringify(headers)}`)
        t.equal(cookieIn(sent), '')
      }
    }
    t.equal(await threadsOf(scene), 0)
    t.equal(nameOn(await person.open('/')), 'Ana', 'and the session goes on')
    const own = await person.send('/new', whole, { origin: '', 'sec-fetch-site': 'same-origin' })
    t.equal(own.status, 303)
  })

  t.test(`${process}: without the form token of the session: refused, shown again`, async (t) => {
    const scene = new Scene(process)
    const [ana, eve] = [await scene.identity('Ana'), await scene.identity('Eve')]
    const person = await scene.signedIn(ana.token)
    const other = await scene.signedIn(eve.token)
    const form = new Map(formOn(await person.open('/new'), '/new', 'title'))
    const foreign = new Map(formOn(await other.open('/new'), '/new', 'title')).get('form')!
    const own = form.get('form')!
    t.not(own, foreign)
    for (const token of ['', foreign, own.slice(1), `${own}0`, `${own.toUpperCase()}!`]) {
      const fields = { form: token, key: form.get('key')!, title: 'forged', content: 'my text' }
      const sent = await person.send('/new', fields)
      t.equal(sent.status, 403, token)
      t.match(problemOn(sent), /older than your session/)
      t.match(sent.text, /my text/)
      for (const path of ['/feed', '/sign-out']) {
        t.equal((await person.send(path, { form: token, through: '1' })).status, 403, path)
      }
    }
    t.equal(await threadsOf(scene), 0)
    t.equal(nameOn(await person.open('/')), 'Ana')
  })

  t.test(`${process}: a stolen cookie: ends with sign-out, rotation, block, time`, async (t) => {
    const scene = new Scene(process)
    const begun = async (name: string, kind = 'persistent') => {
      const { id, token } = await scene.identity(name, kind)
      const person = await scene.signedIn(token)
      t.equal(nameOn(await thiefOf(person).open('/')), name)
      return { id, token, person, thief: thiefOf(person) }
    }
    const hasEnded = async (thief: Person, why: string) => {
      scene.pair.settle()
      t.equal(nameOn(await thief.open('/')), '', `${why}: a page`)
      t.equal((await thief.open('/feed')).status, 401, `${why}: the feed`)
      const form = { form: '0'.repeat(32), key: `page-${'0'.repeat(32)}` }
      const sent = await thief.send('/new', { ...form, title: 'stolen', content: 'stolen' })
      t.equal(sent.status, 401, `${why}: a form`)
    }
    const out = await begun('out')
    const elsewhere = await scene.signedIn(out.token)
    await out.person.fill(await out.person.open('/'), '/sign-out', {})
    await hasEnded(out.thief, 'sign-out')
    await hasEnded(elsewhere, 'sign-out on another device')
    const self = await scene.call('get', '/api/identities/me', out.token)
    t.equal(self.display_name, 'out', 'programs go on with the token')
    const anew = await scene.signedIn(out.token)
    t.equal(nameOn(await anew.open('/')), 'out')
    await hasEnded(out.thief, 'sign-out, and signed in anew')

    const rotated = await begun('rotated')
    const { token } = await scene.call('post', '/api/identities/me/token', rotated.token)
    await hasEnded(rotated.thief, 'rotation')
    t.equal((await scene.person().signIn(rotated.token)).status, 403)
    t.equal((await scene.person().signIn(token)).status, 303)
    const graced = await begun('graced')
    const grace = { grace_seconds: 3600 }
    await scene.call('post', '/api/identities/me/token', graced.token, grace)
    await hasEnded(graced.thief, 'rotation with a grace')
    t.equal((await scene.person().signIn(graced.token)).status, 403)

    const blocked = await begun('blocked')
    blockIdentity(scene.pair.leader.forum, { id: blocked.id, reason: '' })
    await hasEnded(blocked.thief, 'block')
    const again = await scene.person().signIn(blocked.token)
    t.match(problemOn(again), /has blocked your identity/)

    const [old, guest] = [await begun('old'), await begun('guest', 'guest')]
    const pass = (ms: number) => {
      for (const { world } of [scene.pair.leader, scene.pair.follower]) goOn(world.clock, ms)
    }
    pass(8 * dayMs)
    await scene.identity('a record of the later time')
    await hasEnded(guest.thief, 'expiry of a guest')
    t.equal(nameOn(await old.thief.open('/')), 'old')
    pass(30 * dayMs)
    await scene.identity('a record of the later time')
    await hasEnded(old.thief, 'time')
    t.equal(await threadsOf(scene), 0)
  })
}

t.test('reader: a session that is newer than its state: it is known, or ended', async (t) => {
  const scene = new Scene('reader')
  const { pair } = scene
  const { forum, role } = pair.leader
  const created = pair.leader.post('/api/identities', { kind: 'guest', display_name: 'Ana' })
  pair.sync()
  const { token } = JSON.parse(created.answers[0]!.text!)
  const { epoch } = role.service
  const sealed = beginSession(forum, { token, address: '', epoch }) as string
  const person = scene.person()
  person.cookie = /(forum-.*?);/.exec(cookieLine(role.service, sealed))![1]!
  t.equal(pair.role.position, 0, 'it has no record yet')
  const pages = ['/', '/new'].map((path) => {
    const exchange = new FakeExchange('get', path, person.headers)
    person.side.edge.handle(exchange)
    return exchange
  })
  for (const page of pages) {
    t.match((await answerOf(pair, page)).text, /Signed in as <bdi>Ana</)
  }
  const thief = thiefOf(person)
  await person.fill(await person.open('/'), '/sign-out', { do: '' })
  t.match(await thief.open('/'), { status: 200, text: /href="\/sign-in">/ })
  t.equal((await thief.open('/new')).status, 401)
})

t.test('reader that lags: sign-outs, and a jump of the clock: the token is accepted', async (t) => {
  const scene = new Scene('reader')
  const { pair } = scene
  const { leader, follower } = pair
  const { epoch } = leader.role.service
  const { token } = await scene.identity('Ana')
  pair.settle()
  for (const _ of [1, 2]) {
    const sealed = beginSession(leader.forum, { token, address: '', epoch }) as string
    const session = findSession(leader.forum, sealed, epoch) as Session
    signOut(leader.forum, session)
  }
  leader.world.clock.now += dayMs
  const text = { title: 'a title', content: 'a message' }
  const sent = follower.post('/api/threads', text, token, 'lagging-reader')
  const rotated = follower.post('/api/identities/me/token', { grace_seconds: 60 }, token)
  t.match(await answerOf(pair, sent), { status: 201 })
  t.match(await answerOf(pair, rotated), { status: 200 })
  t.equal(pair.checked, 2, 'the reader, which knows the first number, has identified the caller')
})

t.test('a cookie that somebody has planted: is replaced by a sign-in', async (t) => {
  const scene = new Scene()
  const [ana, eve] = [await scene.identity('Ana'), await scene.identity('Eve')]
  const attacker = await scene.signedIn(eve.token)
  const victim = thiefOf(attacker)
  const planted = victim.cookie
  const sent = await victim.send('/sign-in', { token: ana.token })
  t.equal(sent.status, 303)
  t.not(cookieIn(sent), planted)
  t.equal(nameOn(await victim.open('/')), 'Ana')
  t.equal(nameOn(await attacker.open('/')), 'Eve', 'what was planted is still that of the attacker')
  const twice = await scene.signedIn(ana.token)
  t.not(twice.cookie, victim.cookie, 'no two sessions have one cookie')
})

t.test('a cookie that was altered, or is of another forum: is none', async (t) => {
  const scene = new Scene()
  const ana = await scene.identity('Ana')
  const person = await scene.signedIn(ana.token)
  const [name, sealed] = person.cookie.split('=') as [string, string]
  const isSignedIn = async (cookie: string, visitor = scene.person()) => {
    visitor.cookie = cookie
    return nameOn(await visitor.open('/')) !== ''
  }
  t.ok(await isSignedIn(`a=b; ${name}=${sealed}; c=d`))
  const bytes = Buffer.from(sealed, 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const altered = Buffer.from(bytes)
    altered[at]! ^= 1
    t.notOk(await isSignedIn(`${name}=${altered.toString('base64url')}`), `byte ${at}`)
  }
  for (const cut of ['', sealed.slice(0, -1), `${sealed}AA`, 'x', sealed.repeat(50)]) {
    t.notOk(await isSignedIn(`${name}=${cut}`), cut)
  }
  t.notOk(await isSignedIn(`x${name}=${sealed}`))
  t.notOk(await isSignedIn(`${'a=b; '.repeat(64)}${name}=${sealed}`))
  const other = new Scene()
  await other.identity('Ana') // with the same token and the same key
  t.ok(await isSignedIn(person.cookie, other.person()))
  other.pair.leader.forum.sessionKey = Buffer.alloc(32, 9)
  t.notOk(await isSignedIn(person.cookie, other.person()))
  const restored = new Scene()
  await restored.identity('Ana')
  Object.assign(restored.pair.leader.role.service, { epoch: `${'0'.repeat(31)}1` })
  t.notOk(await isSignedIn(person.cookie, restored.person()), 'another epoch')
})

t.test('a cookie sent to the interface: changes nothing', async (t) => {
  const scene = new Scene()
  const ana = await scene.identity('Ana')
  const title = 'a secret'
  const { thread_id } = await scene.thread(ana.token, { title, visibility: 'private' })
  const person = await scene.signedIn(ana.token)
  const paths = ['threads', `threads/${thread_id}`, 'notifications', 'identities/me', 'status']
  for (const path of paths.map((each) => `/api/${each}`)) {
    const answers = await Promise.all(
      [person.cookie, ''].map((cookie) => {
        const exchange = new FakeExchange('get', path, { cookie, accept: 'text/html' })
        person.side.edge.handle(exchange)
        return answerOf(scene.pair, exchange)
      }),
    )
    t.same(answers[0], answers[1], path)
    t.notMatch(answers[0]!.text, /a secret/)
    t.notMatch(answers[0]!.headers, /Set-Cookie|Vary: Accept, Cookie/)
  }
  const json = { 'content-type': 'application/json', 'idempotency-key': 'of-a-cookie' }
  const headers = { ...json, cookie: person.cookie, origin: 'http://127.0.0.1:1' }
  const exchange = new FakeExchange('post', '/api/threads', headers)
  person.side.edge.handle(exchange)
  t.equal((await answerOf(scene.pair, exchange)).status, 401)
})

t.test('pages of a person: are kept by no cache, and shown to nobody else', async (t) => {
  const scene = new Scene()
  const ana = await scene.identity('Ana')
  const { thread_id } = await scene.thread(ana.token, { title: 'public' })
  const person = await scene.signedIn(ana.token)
  const visitor = scene.person()
  const paths = ['/', `/t/${thread_id}`, `/agents/${ana.id}`, '/governance', '/search', '/nothing']
  const before = new Map<string, Shown>()
  for (const path of paths) before.set(path, await visitor.open(path))
  for (const path of paths) {
    const own = await person.open(path)
    t.match(own.headers, /Cache-Control: no-store\r\n|Cache-Control: no-store$/, path)
    t.match(own.headers, /Vary: Accept, Cookie/, path)
    t.notMatch(own.headers, /ETag/, path)
    t.equal(nameOn(own), 'Ana', path)
    const shared = await visitor.open(path)
    t.same(shared, before.get(path), `${path}: as it was before`)
    t.match(shared.headers, /Vary: Accept, Cookie/, path)
    t.equal(nameOn(shared), '')
    const etag = /ETag: (\S+)/.exec(shared.headers)?.[1]
    if (etag === undefined) continue
    t.equal((await visitor.open(path, { 'if-none-match': etag })).status, 304, path)
    t.equal((await person.open(path, { 'if-none-match': etag })).status, 200, path)
  }
})

t.test('a request that waits with the token: is not cut off by a sign-out', async (t) => {
  const scene = new Scene()
  const [ana, agent] = [await scene.identity('Ana'), await scene.identity('Agent')]
  const { thread_id } = await scene.thread(agent.token)
  await scene.call('post', `/api/threads/${thread_id}/replies`, ana.token, { content: 'follows' })
  const person = await scene.signedIn(ana.token)
  const { leader } = scene.pair
  const poll = leader.get('/api/notifications', ana.token, 'after=3&wait=50')
  await person.fill(await person.open('/'), '/sign-out', {})
  t.same(poll.answers, [])
  await scene.call('post', `/api/threads/${thread_id}/replies`, agent.token, { content: 'news' })
  const { status, text } = await answerOf(scene.pair, poll)
  t.equal(status, 200)
  t.equal(JSON.parse(text!).notifications.length, 1)
})

t.test('a token in its grace: is accepted until that ends, over sign-outs', async (t) => {
  const scene = new Scene()
  const { token: old } = await scene.identity('Ana')
  const me = async (token: string) =>
    (await scene.call('get', '/api/identities/me', token)).display_name
  const grace = { grace_seconds: 600 }
  const { token } = await scene.call('post', '/api/identities/me/token', old, grace)
  for (const time of ['a sign-out', 'another one']) {
    const person = await scene.signedIn(token)
    await person.fill(await person.open('/'), '/sign-out', {})
    t.same([await me(old), await me(token)], ['Ana', 'Ana'], time)
  }
  t.equal((await scene.person().signIn(old)).status, 403, 'it starts no session')
  goOn(scene.pair.leader.world.clock, 600_000)
  t.same([await me(old), await me(token)], [undefined, 'Ana'], 'its grace is over')
})

t.test('the cookie: HttpOnly, of this site, of the whole path; behind https more', (t) => {
  const { service } = new Scene().pair.leader.role
  const line =
    '\r\nSet-Cookie: forum-00000000=x; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict'
  t.equal(cookieLine(service, 'x'), line)
  const secure = { ...service, publicUrl: 'https://forum.example' }
  t.equal(cookieLine(secure, 'x'), `${line.replace('forum-', '__Host-forum-')}; Secure`)
  t.match(cookieLine(secure, null), /=; Max-Age=0;/)
  t.end()
})

t.test('forms where no origin is configured: that of the Host header is the own one', (t) => {
  const own = ownOrigins('http://0.0.0.0:8080')
  const decide = (origin: string, host: string, takesHost = true) =>
    crossForm(new FakeExchange('post', '/new', { origin, host }), own, takesHost)
  t.equal(decide('http://10.0.0.5:8080', '10.0.0.5:8080'), null)
  t.equal(decide('https://forum.lan', 'forum.lan'), null, 'a proxy with TLS is in front')
  t.equal(decide('http://localhost:8080', 'forum.lan'), null)
  t.equal(decide('http://10.0.0.5:8080', '10.0.0.5:8080', false), 'cross_origin')
  for (const [origin, host] of [
    ['http://evil.example', '10.0.0.5:8080'],
    ['http://10.0.0.5:8081', '10.0.0.5:8080'],
    ['null', 'null'],
    ['http://', ''],
    ['http://a b', 'a b'],
  ] as const) {
    t.equal(decide(origin, host), 'cross_origin', origin)
  }
  t.end()
})

t.test('forms: their own origin, but sent by another site or ahead of time: refused', (t) => {
  const origin = 'http://localhost:8080'
  const decide = (headers: Record<string, string>) =>
    crossForm(new FakeExchange('post', '/new', headers), ownOrigins(origin), false)
  for (const place of [{ origin }, { 'sec-fetch-site': 'same-origin' }]) {
    t.equal(decide(place), null)
    t.equal(decide({ ...place, purpose: 'prefetch' }), 'prefetch')
    t.equal(decide({ ...place, 'sec-purpose': 'prefetch;prerender' }), 'prefetch')
  }
  t.equal(decide({ origin, 'sec-fetch-site': 'cross-site' }), 'cross_site')
  t.equal(decide({ 'sec-fetch-site': 'cross-site' }), 'cross_site')
  t.end()
})
