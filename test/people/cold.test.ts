// Pages whose text is on disk, not yet durable, erased or expired, and pages of locked threads:
// they reflect the state as the interface's answers do.

import t, { type Test } from 'tap'
import type { Message } from '../../src/client/types.ts'
import { claimThread, releaseClaim } from '../../src/forum/claims/commands.ts'
import {
  blockIdentity,
  eraseMessage,
  lockThread,
  unblockIdentity,
  unlockThread,
} from '../../src/forum/moderation/commands.ts'
import { ThreadExpiry } from '../../src/forum/threads/expiry.ts'
import { entriesOf } from '../../src/people/entries.ts'
import { Node } from '../edge/http/edge-node.ts'
import { FakeExchange } from '../edge/http/fake-exchange.ts'
import { ColdText } from '../forum/cold-text.ts'
import { goOn } from '../forum/doubles.ts'
import { browserAccept } from './browser.ts'
import { elementsOf } from './markup.ts'
import { formOn, ownOrigin } from './person.ts'

class Browser {
  readonly disk = new ColdText()
  readonly node = new Node({}, this.disk)
  /** The paths of pages that together show everything. */
  readonly paths: string[] = ['/', '/governance']

  constructor() {
    const { node } = this
    const thread = node.thread()
    for (let n = 0; n < 30; n++) node.post(`${thread}/replies`, { content: `reply ${n} é😀` })
    const proposal = { kind: 'policy', title: 'A title', description: 'Why é😀.' }
    node.post('/api/governance/proposals', proposal)
    node.sync()
    const list = JSON.parse(node.get('/api/governance/proposals').answers[0]!.text!)
    const messages = JSON.parse(node.get(thread).answers[0]!.text!)
    this.paths.push(thread.replace('/api/threads/', '/t/'))
    this.paths.push(`/agents/${messages.thread.author_id}`)
    this.paths.push(`/governance/${list.proposals[0].id}`)
  }

  visit(path: string, headers = {}): FakeExchange {
    const exchange = new FakeExchange('get', path, { accept: browserAccept, ...headers })
    this.node.edge.handle(exchange)
    return exchange
  }
}

/** Returns the text of the only answer, which must be a page. */
function pageOf(t: Test, { answers }: FakeExchange): string {
  t.strictSame([answers.length, answers[0]?.status], [1, 200])
  const { text } = answers[0]!
  t.ok(elementsOf(text!).length > 10)
  return text!
}

function tagOf({ answers }: FakeExchange): string {
  return /ETag: (.*?)(?:\r|$)/.exec(answers[0]!.headers)![1]!
}

t.test('pages: their text is on disk: parked, then the same as before', async (t) => {
  const browser = new Browser()
  const before = browser.paths.map((path) => pageOf(t, browser.visit(path)))
  browser.disk.chill()
  const cached = browser.paths.map((path) => pageOf(t, browser.visit(path)))
  t.same(cached, before, 'what was shown already is answered at once')
  browser.node.forum.htmlCache.clear()
  const reads = browser.paths.map((path) => browser.visit(path))
  for (const [i, { answers }] of reads.entries()) t.same(answers, [], browser.paths[i])
  browser.disk.finish()
  t.same(
    reads.map((read) => pageOf(t, read)),
    before,
  )
  t.strictSame([browser.node.forum.coldReads.length, browser.node.forum.coldReads.bytes], [0, 0])
})

t.test('pages: on disk, but unchanged in the browser: answered at once', async (t) => {
  const browser = new Browser()
  const tags = browser.paths.map((path) => tagOf(browser.visit(path)))
  browser.disk.chill()
  for (const [i, path] of browser.paths.entries()) {
    const { answers } = browser.visit(path, { 'if-none-match': tags[i] })
    t.equal(answers[0]?.status, 304, path)
  }
  t.same(browser.disk.asked, [])
})

t.test('pages: what they show is not durable yet: they wait', async (t) => {
  const browser = new Browser()
  const { node, paths } = browser
  const thread = paths[2]!.replace('/t/', '/api/threads/')
  node.post(`${thread}/replies`, { content: 'not durable' })
  const waiting = [paths[0], paths[2], paths[3]].map((path) => browser.visit(path!))
  for (const { answers } of waiting) t.same(answers, [])
  node.sync()
  for (const read of waiting) pageOf(t, read)
})

t.test(
  'agent page: the messages have to be looked through first: 503, and it asks again',
  async (t) => {
    const browser = new Browser()
    browser.node.forum.publishers.newestOf = () => null
    const { answers } = browser.visit(browser.paths[3]!)
    t.match(answers, [{ status: 503, headers: /Retry-After: 1/ }])
    const [refresh] = elementsOf(answers[0]!.text!).filter(
      ({ attributes }) => 'http-equiv' in attributes,
    )
    t.same(refresh?.attributes, { 'http-equiv': 'refresh', content: '1' })
  },
)

t.test('pages: a message is erased: no page and no cache has its text', async (t) => {
  const browser = new Browser()
  const { node } = browser
  const paths = [browser.paths[2]!, browser.paths[3]!]
  for (const path of [...paths, ...paths, ...paths]) pageOf(t, browser.visit(path))
  const tags = paths.map((path) => tagOf(browser.visit(path)))
  const { forum } = node
  const id = `msg_${forum.state.messages.id(20)}`
  const [message] = entriesOf<Message>(forum, forum.state.messages, [20])!
  const { content } = message!
  const erased = eraseMessage(forum, { id, reason: 'a test' })
  t.match(erased, { isNew: true })
  const reads = paths.map((path, i) => browser.visit(path, { 'if-none-match': tags[i]! }))
  for (const { answers } of reads) t.same(answers, [], 'it is not durable')
  node.sync()
  for (const read of reads) {
    const page = pageOf(t, read)
    t.notOk(page.includes(`>${content}<`))
    t.match(page, '>An operator has removed this message.<')
  }
})

t.test('pages: a thread is locked and unlocked: its page and the list say so', async (t) => {
  const browser = new Browser()
  const { forum } = browser.node
  const paths = [browser.paths[0]!, browser.paths[2]!]
  const said = [/ · locked</, /An operator has locked this thread/]
  const id = paths[1]!.replace('/t/', '')
  for (const [act, isLocked] of [[lockThread, true] as const, [unlockThread, false] as const]) {
    const tags = paths.map((path) => tagOf(browser.visit(path)))
    t.match(act(forum, { id, reason: 'a test' }), { isNew: true })
    const reads = paths.map((path, i) => browser.visit(path, { 'if-none-match': tags[i]! }))
    for (const { answers } of reads) t.same(answers, [], 'it is not durable')
    browser.node.sync()
    const found = reads.map((read, i) => said[i]!.test(pageOf(t, read)))
    t.same(found, [isLocked, isLocked])
  }
})

t.test('pages: a thread is claimed and released: its page and the list say so', async (t) => {
  const browser = new Browser()
  const { forum } = browser.node
  const paths = [browser.paths[0]!, browser.paths[2]!]
  const said = [/ · claimed</, /Claimed by .* until <time/]
  const claim = { caller: 0, threadId: paths[1]!.replace('/t/', '') }
  const grant = () => claimThread(forum, { ...claim, seconds: 60, key: 'a-key-of-a-page' })
  for (const [act, isClaimed] of [
    [grant, true],
    [() => releaseClaim(forum, claim), false],
  ] as const) {
    const tags = paths.map((path) => tagOf(browser.visit(path)))
    t.notOk('rejected' in act())
    const reads = paths.map((path, i) => browser.visit(path, { 'if-none-match': tags[i]! }))
    for (const { answers } of reads) t.same(answers, [], 'it is not durable')
    browser.node.sync()
    const found = reads.map((read, i) => said[i]!.test(pageOf(t, read)))
    t.same(found, [isClaimed, isClaimed])
  }
})

t.test('pages: an author is blocked and unblocked: the thread and its page say so', async (t) => {
  const browser = new Browser()
  const { forum } = browser.node
  const paths = [browser.paths[2]!, browser.paths[3]!]
  const said = [/, blocked · /, /An operator has blocked this agent/]
  const id = paths[1]!.replace('/agents/', '')
  const found = () => paths.map((path, i) => said[i]!.test(pageOf(t, browser.visit(path))))
  t.same(found(), [false, false])
  t.match(blockIdentity(forum, { id, reason: 'a test' }), { isNew: true })
  const reads = paths.map((path) => browser.visit(path))
  for (const { answers } of reads) t.same(answers, [], 'it is not durable')
  browser.node.sync()
  t.same(
    reads.map((read, i) => said[i]!.test(pageOf(t, read))),
    [true, true],
  )
  // The thread is newer than the block, and so are its pages, with and without it.
  browser.node.register()
  browser.node.post(`${paths[0]!.replace('/t/', '/api/threads/')}/replies`, { content: 'later' })
  browser.node.sync()
  t.same(found(), [true, true])
  t.match(unblockIdentity(forum, { id, reason: 'a test' }), { isNew: true })
  browser.node.sync()
  t.same(found(), [false, false])
})

t.test('form: sent again when its text is on disk: parked, while others are answered', (t) => {
  const { disk, node } = new Browser()
  const send = (path: string, fields: Record<string, string>, cookie = '') => {
    const type = 'application/x-www-form-urlencoded'
    const headers = { accept: browserAccept, origin: ownOrigin, 'content-type': type, cookie }
    const exchange = new FakeExchange('post', path, headers)
    node.edge.handle(exchange)
    exchange.endWith(Buffer.from(`${new URLSearchParams(fields)}`))
    return exchange
  }
  const signedIn = send('/sign-in', { token: node.token })
  const [cookie] = /forum-[^;]*/.exec(signedIn.answers[0]!.headers)!
  const page = new FakeExchange('get', '/new', { accept: browserAccept, cookie })
  node.edge.handle(page)
  const own = formOn({ elements: elementsOf(page.answers[0]!.text!) }, '/new', 'key')
  const fields = { ...Object.fromEntries(own), title: 'a title', content: 'a text' }
  const first = send('/new', fields, cookie)
  node.sync()
  disk.chill()
  const again = send('/new', fields, cookie)
  t.same(again.answers, [])
  t.equal(node.get('/api/notifications').code, 200)
  disk.finish()
  t.match(first.answers, [{ status: 303 }])
  t.same(again.answers, first.answers)
  t.end()
})

t.test(
  'agent: a thread among its newest expires: another page, once that is durable',
  async (t) => {
    const node = new Node()
    const publish = (title: string, more = {}) =>
      node.post('/api/threads', { title, content: title, ...more })
    publish('Older')
    publish('Mortal', { ttl_seconds: 60 })
    publish('Newer')
    node.sync()
    const { id } = JSON.parse(node.get('/api/identities/me').answers[0]!.text!)
    const visit = () => {
      const exchange = new FakeExchange(
        'get',
        `/agents/${id}`,
        { accept: browserAccept },
        'limit=2',
      )
      node.edge.handle(exchange)
      return exchange
    }
    const before = visit()
    t.match(pageOf(t, before), /Newer[\s\S]*Mortal/)
    const expiry = new ThreadExpiry(node.forum)
    expiry.turn()
    goOn(node.clock, 60_000)
    expiry.turn()
    const after = visit()
    t.same(after.answers, [])
    node.sync()
    t.match(pageOf(t, after), /Newer[\s\S]*Older/)
    t.notMatch(pageOf(t, after), /Mortal/)
    t.not(tagOf(after), tagOf(before))
  },
)
