// What pages depend on: they show only what is durable, and look the same as long as their entity
// tag is the same.

import { setImmediate as nextTick } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { blockIdentity, unblockIdentity } from '../../src/forum/moderation/commands.ts'
import { admitOwn, commit, type Permit } from '../../src/forum/write.ts'
import { Node } from '../edge/http/edge-node.ts'
import { FakeExchange } from '../edge/http/fake-exchange.ts'
import { browserAccept } from './browser.ts'
import { formOn, ownOrigin, type Person, type Shown } from './person.ts'
import { Scene } from './scene.ts'

const noThread = `thr_${'0'.repeat(32)}`
const formType = 'application/x-www-form-urlencoded'

/** Opens a page, or sends a form if there are fields, without making anything durable. */
function request(person: Person, path: string, fields?: Record<string, string>): FakeExchange {
  const method = fields === undefined ? 'get' : 'post'
  const headers = { ...person.headers, origin: ownOrigin, 'content-type': formType }
  const exchange = new FakeExchange(method, path, headers)
  person.side.edge.handle(exchange)
  exchange.endWith(Buffer.from(new URLSearchParams(fields).toString()))
  return exchange
}

/** A thread of Ana, who is signed in, and a reply to it by Cam that is not durable. */
async function unsynced() {
  const scene = new Scene()
  const [ana, cam] = [await scene.identity('Ana'), await scene.identity('Cam')]
  const { thread_id: id } = await scene.thread(ana.token)
  const person = await scene.signedIn(ana.token)
  const path = `/t/${id}`
  const form = Object.fromEntries(formOn(await person.open(path), path, 'content'))
  const { leader } = scene.pair
  const reply = leader.post(
    `/api/threads/${id}/replies`,
    { content: 'c' },
    cam.token,
    'a-key-of-it',
  )
  return { scene, person, path, form, reply }
}

const formOf = (page: Shown) => new Map(formOn(page, '/new', 'title')).get('form')!

t.test('a form shown again: names no author whose message is not durable', async (t) => {
  const { scene, person, path, form, reply } = await unsynced()
  const blank = { ...form, content: ' ' }
  const again = request(person, path, blank)
  t.match(again.answers, [{ status: 400, text: /Write a message/ }])
  t.notMatch(again.answers[0]!.text, 'Cam')
  scene.pair.settle()
  t.equal(reply.code, 201)
  t.match(request(person, path, blank).answers[0]!.text, 'Cam')
})

t.test('names that are searched for: wait for the message that makes one known', async (t) => {
  const { scene, person, path, form } = await unsynced()
  const found = request(person, path, { ...form, do: 'find', name: 'ca' })
  await nextTick()
  t.same(found.answers, [])
  scene.pair.settle()
  t.match(found.answers, [{ status: 200, text: /Cam/ }])
})

/** Checks that none is answered before the record is durable, and then all with these statuses. */
async function waitForTheRecord(
  t: Test,
  scene: Scene,
  sent: readonly ReturnType<typeof request>[],
  statuses: readonly number[],
): Promise<void> {
  for (let i = 0; i < 100; i++) await nextTick() // pages are made in steps
  t.same(
    sent.map(({ answers }) => answers),
    sent.map(() => []),
  )
  scene.pair.settle()
  for (let i = 0; i < 100; i++) await nextTick()
  t.same(
    sent.map(({ answers }) => answers[0]?.status),
    statuses,
  )
}

t.test('a person signs out elsewhere: what shows that waits for the record', async (t) => {
  const scene = new Scene()
  const { token } = await scene.identity('Ana')
  const [here, elsewhere] = [await scene.signedIn(token), await scene.signedIn(token)]
  const form = Object.fromEntries(formOn(await here.open('/new'), '/new', 'title'))
  const fields = { ...form, title: 'a title', content: 'a message' }
  const sent = [
    request(elsewhere, '/sign-out', { form: formOf(await elsewhere.open('/new')) }),
    request(here, '/new', fields),
    request(here, '/sign-out', fields),
    request(here, '/new'),
    request(scene.person(), '/sign-in', { token, to: '/feed' }),
    request(here, '/'),
    request(here, `/t/${noThread}`),
  ]
  await waitForTheRecord(t, scene, sent, [303, 401, 401, 401, 303, 200, 404])
})

t.test('an operator blocks a person: what shows that waits for the record', async (t) => {
  const scene = new Scene()
  const { token, id } = await scene.identity('Ana')
  const here = await scene.signedIn(token)
  const form = Object.fromEntries(formOn(await here.open('/new'), '/new', 'title'))
  const fields = { ...form, title: 'a title', content: 'a message' }
  blockIdentity(scene.pair.leader.forum, { id, reason: '' })
  const sent = [
    request(here, '/new', fields),
    request(here, '/sign-out', fields),
    request(here, '/new'),
    request(here, '/'),
    request(here, `/t/${noThread}`),
  ]
  await waitForTheRecord(t, scene, sent, [401, 401, 401, 200, 404])
})

t.test('a followed thread expires and is erased: the page of the feed is without it', async (t) => {
  const scene = new Scene()
  const { token } = await scene.identity('Ana')
  const person = await scene.signedIn(token)
  for (const title of ['kept', 'short-lived']) await scene.thread(token, { title })
  const { forum } = scene.pair.leader
  const thread = forum.state.threads.count - 1
  t.match(await person.open('/feed'), { status: 200, text: 'short-lived' })
  const ends = [{ type: 'thread.expired' }, { type: 'thread.erased', messages: 1 }] as const
  for (const end of ends) {
    const permit = admitOwn(forum) as Permit
    commit(forum, permit, { ...end, thread, at: permit.at })
    const shown = await person.open('/feed')
    t.match(shown, { status: 200, text: 'kept' }, end.type)
    t.notMatch(shown.text, 'short-lived')
  }
})

t.test('a person follows the thread: its button waits for the record', async (t) => {
  const { scene, person, path, form } = await unsynced()
  scene.pair.settle()
  const { form: token } = form as { form: string }
  const sent = request(person, path, { form: token, do: 'unfollow' })
  const page = request(person, path)
  await nextTick()
  t.same([sent.answers, page.answers], [[], []])
  scene.pair.settle()
  t.match(sent.answers, [{ status: 303 }])
  t.match(page.answers, [{ status: 200, text: /Follow this thread/ }])
})

/** A thread that mentions Ben, who has published nothing public. */
class Mention {
  readonly node = new Node()
  readonly path: string
  readonly ben: { id: string; token: string }

  constructor() {
    const { node } = this
    const ben = node.post('/api/identities', { kind: 'persistent', display_name: 'Ben' })
    node.sync()
    this.ben = JSON.parse(ben.answers[0]!.text!)
    const thread = node.post('/api/threads', {
      ...{ title: 't', content: 'c', mention_ids: [this.ben.id] },
    })
    node.sync()
    this.path = JSON.parse(thread.answers[0]!.text!).read_url.replace('/api/threads/', '/t/')
  }

  publishAsBen(): void {
    const { node, ben } = this
    const { token } = node
    node.token = ben.token
    node.post('/api/threads', { title: 'of Ben', content: 'c' })
    node.token = token
  }

  visit(headers = {}): { hasLink: boolean; etag: string | undefined; status: number } {
    const exchange = new FakeExchange('get', this.path, { accept: browserAccept, ...headers })
    this.node.edge.handle(exchange)
    const [{ status, headers: lines, text }] = exchange.answers as [(typeof exchange.answers)[0]]
    const hasLink = text?.includes(`"/agents/${this.ben.id}"`) ?? false
    return { status, hasLink, etag: /ETag: ([^\r]*)/.exec(lines)?.[1] }
  }
}

t.test('an agent without a page publishes elsewhere: the link to it appears', (t) => {
  const mention = new Mention()
  const { node } = mention
  t.same(mention.visit(), { status: 200, hasLink: false, etag: undefined })
  mention.publishAsBen()
  t.same(mention.visit(), { status: 200, hasLink: false, etag: undefined }, 'it is not durable')
  node.sync()
  const { etag, ...later } = mention.visit()
  t.same(later, { status: 200, hasLink: true })
  t.equal(mention.visit({ 'if-none-match': etag }).status, 304)
  t.end()
})

t.test('who has published is not known yet: the page is not kept without its links', (t) => {
  const mention = new Mention()
  const { node } = mention
  mention.publishAsBen()
  node.sync()
  const { publishers } = node.forum
  const { newestOf } = publishers
  publishers.newestOf = () => null
  t.same(mention.visit(), { status: 200, hasLink: false, etag: undefined })
  publishers.newestOf = newestOf
  t.match(mention.visit(), { status: 200, hasLink: true, etag: /^"/ })
  t.end()
})

t.test('an author is blocked while a page is made: the page is as of its beginning', (t) => {
  const node = new Node()
  const path = node.thread().replace('/api/threads/', '/t/')
  const { forum } = node
  const visit = () => {
    const exchange = new FakeExchange('get', path, { accept: browserAccept })
    node.edge.handle(exchange)
    node.sync()
    return exchange.answers[0]!.text!.includes(', blocked')
  }
  const id = forum.state.identities.id(0)
  const { pageMaking } = forum
  const { add } = pageMaking
  pageMaking.add = (...page) => {
    pageMaking.add = add
    blockIdentity(forum, { id, reason: '' })
    add.apply(pageMaking, page)
  }
  t.equal(visit(), false)
  t.equal(visit(), true)
  unblockIdentity(forum, { id, reason: '' })
  node.sync()
  t.equal(visit(), false)
  t.end()
})
