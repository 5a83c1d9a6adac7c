// How pages are made: in short steps, whatever they show, and once for all who request them.

import t, { type Test } from 'tap'
import { encodeCursor } from '../../src/edge/api/item-page.ts'
import { eraseMessage } from '../../src/forum/moderation/commands.ts'
import { ThreadExpiry } from '../../src/forum/threads/expiry.ts'
import type { Making } from '../../src/people/page-making.ts'
import { Node } from '../edge/http/edge-node.ts'
import { FakeExchange } from '../edge/http/fake-exchange.ts'
import { goOn } from '../forum/doubles.ts'
import { timeOf } from '../linear.ts'
import { browserAccept } from './browser.ts'
import { elementsOf } from './markup.ts'

const [roundsMin, roundsMax] = [5, 100]
const garbageBytes = 300_000

class Scene {
  readonly node = new Node()
  /** The number of pages that were made. */
  made = 0
  garbage = Buffer.alloc(0)

  constructor() {
    const { pageMaking } = this.node.forum
    const add = pageMaking.add.bind(pageMaking)
    pageMaking.add = (...page) => {
      this.made += 1
      add(...page)
    }
  }

  /** Publishes a thread of messages with this content, and returns the path of its page. */
  thread(content: string, count: number): string {
    const path = this.node.thread()
    for (let n = 0; n < count; n++) this.node.post(`${path}/replies`, { content })
    this.node.sync()
    return path.replace('/api/threads/', '/t/')
  }

  propose(title: string, more: object = { kind: 'policy' }): string {
    const proposal = { title, description: 'Why.', ...more }
    const { answers } = this.node.post('/api/governance/proposals', proposal)
    this.node.sync()
    return JSON.parse(answers[0]!.text!).proposal_id
  }

  visit(path: string, query = '', etag = ''): FakeExchange {
    const headers = { accept: browserAccept, 'if-none-match': etag }
    const exchange = new FakeExchange('get', path, headers, query)
    this.node.edge.handle(exchange)
    return exchange
  }

  /**
   * Makes the page, and lowers each entry of `least` to that step's processor time in microseconds.
   */
  measureSteps(path: string, least: number[]): void {
    const { pageMaking, htmlCache } = this.node.forum
    htmlCache.clear()
    let making: Making | null = null
    const { add } = pageMaking
    pageMaking.add = (_request, page) => {
      making = page
    }
    this.visit(path)
    pageMaking.add = add
    let isDone = false
    for (let i = 0; !isDone; i++) {
      const us = timeOf(() => {
        isDone = making!.steps.next().done === true
      }, 0)
      least[i] = Math.min(us, least[i] ?? us)
    }
  }

  /**
   * Returns the longest step of the page and the sum of all steps of an ordinary page, in processor
   * time. They are measured alternately until the former is less, because other processes and the
   * collection of garbage can only make a time longer. V8 collects after a number of bytes of
   * buffers, so each round allocates another number: no step has a collection each time.
   */
  compareSteps(path: string): { longest: number; ordinary: number; count: number } {
    const ordinaryPath = this.thread('Some ordinary words. '.repeat(380), 50)
    const [ordinarySteps, steps]: [number[], number[]] = [[], []]
    for (let round = 1; ; round++) {
      this.garbage = Buffer.alloc(round * garbageBytes)
      this.measureSteps(ordinaryPath, ordinarySteps)
      this.measureSteps(path, steps)
      const longest = Math.max(...steps)
      const ordinary = ordinarySteps.reduce((total, time) => total + time, 0)
      const isEnough = round >= roundsMin && longest < ordinary
      if (isEnough || round === roundsMax) return { longest, ordinary, count: steps.length }
    }
  }
}

const label = '\u4e00\u5e00\u6e00\u7e00'.repeat(15)
const contents: Record<string, string> = {
  'full stops behind an address': `http://a${'.'.repeat(7_980)}x`,
  'control characters': '\u0001'.repeat(8_000),
  tags: '\u{e0041}'.repeat(8_000),
  markup: '<'.repeat(8_000),
  addresses: 'http://a.b '.repeat(727),
  'hosts of ideographs': `http://${`${label}.`.repeat(4)} `.repeat(31),
  'code that ends at once': '```\n'.repeat(1_600),
  'Markdown that is read as source': `${'- a\n'.repeat(1_999)}`,
  brackets: '['.repeat(8_000),
  'definitions, of which nothing is seen': '[a]: x\n'.repeat(1_000),
  'a table that would be wide': `${'|a'.repeat(9)}|\n${'|-'.repeat(9)}|\n${'a\n'.repeat(3_950)}`,
}
for (const [what, content] of Object.entries(contents)) {
  t.test(`steps: a page of ${what}: none takes longer than an ordinary page`, async (t) => {
    const scene = new Scene()
    const { longest, ordinary } = scene.compareSteps(scene.thread(content, 50))
    t.ok(longest < ordinary, `${longest} and ${ordinary} us`)
  })
}

t.test('steps: a proposal with everything that fits: none takes longer, either', async (t) => {
  const scene = new Scene()
  const files = [1, 2, 3, 4].map((n) => ({ path: `${n}.ts`, content: '\u0001'.repeat(6_000) }))
  const code = { kind: 'code', base_commit: '0'.repeat(40), files }
  const id = scene.propose('A title', { ...code, description: '\u0001'.repeat(6_000) })
  const { longest, ordinary, count } = scene.compareSteps(`/governance/${id}`)
  t.ok(count >= 5)
  t.ok(longest < ordinary, `${longest} and ${ordinary} us`)
})

const titlesOf = ({ answers }: FakeExchange) =>
  elementsOf(answers[0]!.text!)
    .filter(({ attributes }) => attributes.class === 'title')
    .map(({ text }) => text)

t.test('proposals: titles that look like the end of one: shown whole', async (t) => {
  const scene = new Scene()
  const titles = ['","description":"', '\\","description":', '\\', '\u0001'.repeat(160), '"']
  for (const title of titles) scene.propose(title)
  const shown = titles.map((title) => title.replaceAll('\u0001', '[U+0001]'))
  t.same(titlesOf(scene.visit('/governance')), shown.toReversed())
})

/** Visits the path with each of these queries, and returns the number of pages that were made. */
function madeOf(t: Test, scene: Scene, path: string, queries: string[]): number {
  const before = scene.made
  for (const query of queries) t.equal(scene.visit(path, query).answers[0]?.status, 200, query)
  return scene.made - before
}

t.test('cache: other requests for what is shown: one page is made', async (t) => {
  const scene = new Scene()
  const thread = scene.thread('a reply', 3)
  for (let n = 0; n < 3; n++) scene.propose(`title ${n}`)
  const proposal = `/governance/${scene.propose('with reviews')}`
  const numbers = [1_000, 5_555, 123_456_789]
  const befores = numbers.map((before) => `before=${before}`)
  t.equal(madeOf(t, scene, '/governance', befores), 1, 'proposals before any position')
  t.equal(madeOf(t, scene, '/governance', ['limit=10', 'limit=20', '']), 1)
  const cursors = numbers.map((before) => `cursor=${encodeCursor(before, 'created')}`)
  t.equal(madeOf(t, scene, '/', cursors), 1, 'threads before any position')
  const afters = numbers.map((after) => `after=${after}`)
  t.equal(madeOf(t, scene, thread, afters), 1, 'messages after the end')
  t.equal(madeOf(t, scene, thread, ['', 'limit=50', 'limit=100']), 1)
  t.equal(madeOf(t, scene, proposal, ['', ...afters]), 1, 'reviews after the end')
})

t.test('thread: more than 50 messages requested: 50 are shown', async (t) => {
  const scene = new Scene()
  const { answers } = scene.visit(scene.thread('a reply', 70), 'limit=100')
  t.equal(elementsOf(answers[0]!.text!).filter(({ name }) => name === 'article').length, 50)
})

/** Yields the steps, and makes the call before the first of them. */
function* after<T>(call: () => void, steps: Iterator<void, T>): Generator<void, T> {
  call()
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    yield
  }
}

t.test('making: a message is erased before its page is made: made again without it', async (t) => {
  const scene = new Scene()
  const thread = scene.thread('a secret', 1)
  const { forum } = scene.node
  const { add } = forum.pageMaking
  forum.pageMaking.add = (...page) => {
    forum.pageMaking.add = add
    const message = forum.state.messages.count - 1
    const erase = () =>
      void eraseMessage(forum, { id: `msg_${forum.state.messages.id(message)}`, reason: '' })
    page[1].steps = after(erase, page[1].steps)
    add.apply(forum.pageMaking, page)
  }
  const { answers } = scene.visit(thread)
  scene.node.sync()
  t.equal(answers.length, 1)
  t.notMatch(answers[0]!.text, 'a secret')
  t.match(answers[0]!.text, 'An operator has removed this message')
})

t.test('making: a message elsewhere is erased before a page is made: it is whole', async (t) => {
  const scene = new Scene()
  const other = scene.thread('elsewhere', 1)
  const { forum } = scene.node
  const id = `msg_${forum.state.messages.id(forum.state.messages.count - 1)}`
  const thread = scene.thread('a reply', 1)
  const { add } = forum.pageMaking
  forum.pageMaking.add = (...page) => {
    forum.pageMaking.add = add
    page[1].steps = after(() => void eraseMessage(forum, { id, reason: '' }), page[1].steps)
    add.apply(forum.pageMaking, page)
  }
  const first = scene.visit(thread)
  scene.node.sync()
  for (const { answers } of [first, scene.visit(thread)]) t.match(answers[0]!.text, 'a reply')
  t.match(scene.visit(other).answers[0]!.text, 'An operator has removed this message')
})

t.test('making: a thread on the page of its agent goes on, or expires: as it was', async (t) => {
  const scene = new Scene()
  const { node } = scene
  const { forum, clock } = node
  const author = node.token
  const made = (path: string, body: object) => {
    const { answers } = node.post(path, body)
    node.sync()
    return JSON.parse(answers[0]!.text!)
  }
  const { token: other } = made('/api/identities', { display_name: 'Newcomer' })
  const begun = { title: 'Mortal', content: 'first', ttl_seconds: 60 }
  const { read_url, author_id } = made('/api/threads', begun)
  const reply = () => node.post(`${read_url}/replies`, { content: 'a reply' })
  reply()
  node.sync()
  const expiry = new ThreadExpiry(forum)
  const goesOn = () => {
    node.token = other
    reply()
    node.token = author
  }
  const expires = () => {
    forum.state.text.isFrozen = true // nothing is erased yet
    goOn(clock, 61_000)
    expiry.turn()
  }
  for (const meanwhile of [goesOn, expires]) {
    const { add } = forum.pageMaking
    forum.pageMaking.add = (...page) => {
      forum.pageMaking.add = add
      page[1].steps = after(meanwhile, page[1].steps)
      add.apply(forum.pageMaking, page)
    }
    const { answers } = scene.visit(`/agents/${author_id}`, 'show=threads')
    t.equal(answers.length, 1, 'it shows what is durable')
    t.match(answers[0]!.text, 'Mortal')
    if (meanwhile === goesOn) t.notMatch(answers[0]!.text, 'Newcomer')
    node.sync()
  }
})

t.test('a page links to another thread, which expires: the next visit has no link', async (t) => {
  const scene = new Scene()
  const { node } = scene
  const { forum, clock } = node
  const begin = (more: object) => {
    const { answers } = node.post('/api/threads', { title: 't', content: 'first', ...more })
    node.sync()
    return JSON.parse(answers[0]!.text!).thread_id as string
  }
  const expiry = new ThreadExpiry(forum)
  const expire = () => {
    goOn(clock, 61_000)
    expiry.turn()
    node.sync()
  }
  const kept = begin({})
  for (const which of ['the first one that expires', 'a later one']) {
    const mortal = begin({ ttl_seconds: 60 })
    const link = `href="/t/${mortal}"`
    const page = `/t/${begin({ content: `${which}: see ${mortal} and ${kept}` })}`
    const [first] = scene.visit(page).answers
    t.match(first!.text, link)
    expire()
    const [, etag] = /ETag: (\S+)/i.exec(first!.headers) ?? []
    const [second] = scene.visit(page, '', etag).answers
    t.equal(second!.status, 200)
    t.notMatch(second!.text, link)
    t.match(second!.text, `href="/t/${kept}"`)
  }
})

t.test('making: there is too much to do: 503, as a page', async (t) => {
  const scene = new Scene()
  const thread = scene.thread('a reply', 1)
  scene.node.forum.pageMaking.refuse = () => ({ rejected: 'overloaded' })
  const { answers } = scene.visit(thread)
  t.match(answers, [{ status: 503, headers: /Retry-After/, text: /is overloaded/ }])
})
