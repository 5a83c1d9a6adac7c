// Requests whose text is on disk, at the edge: each is answered as if the text were in memory, is
// decided anew once it is, and ends in every way in which a parked request can end.

import fc from 'fast-check'
import t from 'tap'
import { sliceSteps } from '../../../src/forum/feed/queries.ts'
import { sliceSteps as activitySteps } from '../../../src/forum/threads/activity-list.ts'
import { SlicedWork } from '../../../src/kernel/sliced-work.ts'
import { endReads } from '../../../src/node/end-reads.ts'
import { ColdText } from '../../forum/cold-text.ts'
import { dayMs, goOn } from '../../forum/doubles.ts'
import { until } from '../../until.ts'
import { Node } from './edge-node.ts'
import type { FakeExchange } from './fake-exchange.ts'

const damaged = { kind: 'damaged', why: 'CRC mismatch' } as const

function aNode(): { node: Node; disk: ColdText } {
  const disk = new ColdText()
  return { node: new Node({}, disk), disk }
}

/** Publishes a durable thread with some replies, and returns its path. */
function aThread(node: Node, replies: number): string {
  const path = node.thread()
  for (let n = 0; n < replies; n++) node.post(`${path}/replies`, { content: `reply ${n} é😀` })
  node.sync()
  return path
}

function textOf({ answers }: FakeExchange): string | null {
  return answers[0].text
}

t.test('edge: a page is on disk: it is parked, others are answered, then it is', async (t) => {
  const { node, disk } = aNode()
  const path = aThread(node, 30)
  const before = textOf(node.get(path))
  disk.chill()
  const hot = aThread(node, 2)
  const read = node.get(path)
  t.strictSame([read.answers.length, read.isHeld], [0, true])
  t.equal(node.get(hot).code, 200)
  t.equal(node.get('/api/notifications').code, 200, 'feeds need no text')
  disk.finish()
  t.equal(textOf(read), before)
  t.strictSame([node.forum.coldReads.length, node.forum.coldReads.bytes], [0, 0])
})

t.test('edge: a page is on disk and not cached: what was not whole is never shown', async (t) => {
  const { node, disk } = aNode()
  const path = aThread(node, 30)
  disk.chill()
  const reads = [1, 2, 3].map(() => node.get(path))
  disk.finish()
  for (const read of reads) {
    const { messages } = JSON.parse(textOf(read)!)
    t.equal(messages.length, 31)
    t.equal(messages[30].content, 'reply 29 é😀')
  }
  const again = node.get(path)
  t.equal(textOf(again), textOf(reads[0]), 'from the page cache')
})

/** Creates an identity that follows the thread, and returns its token. */
function aFollower(node: Node, path: string): string {
  const author = node.token
  const created = node.post('/api/identities', { display_name: 'é' })
  node.sync()
  node.token = JSON.parse(textOf(created)!).token
  node.send('post', `${path}/subscribe`)
  node.sync()
  const follower = node.token
  node.token = author
  return follower
}

t.test('edge: texts on disk, whole or cut: parked, and then as they were', async (t) => {
  const { node, disk } = aNode()
  const path = aThread(node, 30)
  node.token = aFollower(node, path)
  const reads = () => [
    node.get('/api/notifications', 'include=content'),
    node.get('/api/notifications', 'include=content&content_chars=10'),
    node.get(path, 'content_chars=10'),
  ]
  const before = reads().map(textOf)
  const [whole, cut, thread] = before.map((text) => JSON.parse(text!))
  t.equal(whole.notifications[30].content, 'reply 29 é😀')
  t.strictSame(
    [cut.notifications, thread.messages].map((all) => all[30].content),
    ['reply 29 é', 'reply 29 é'],
  )
  disk.chill()
  const parked = reads()
  t.ok(parked.every(({ answers, isHeld }) => answers.length === 0 && isHeld))
  t.equal(node.get('/api/notifications').code, 200, 'feeds without texts need none')
  disk.finish()
  t.strictSame(parked.map(textOf), before)
  t.strictSame([node.forum.coldReads.length, node.forum.coldReads.bytes], [0, 0])
})

t.test('edge: a feed that took long to find, its texts on disk: found once', async (t) => {
  const { node, disk } = aNode()
  const path = aThread(node, 2)
  const [author, follower] = [node.token, aFollower(node, path)]
  node.token = follower
  const after = `include=content&after=${node.journal.position}`
  for (let n = 0; n < sliceSteps; n++) node.post(`${path}/replies`, { content: 'own' })
  node.token = author
  node.post(`${path}/replies`, { content: 'the last' })
  const other = aThread(node, 1)
  node.sync()
  disk.chill()
  node.token = follower
  let searches = 0
  const { add } = SlicedWork.prototype
  node.forum.slicedWork.add = (...job) => {
    searches += 1
    return add.apply(node.forum.slicedWork, job) as never
  }
  const read = async (meanwhile: () => void) => {
    const exchange = node.get('/api/notifications', after)
    await until('it is parked', () => disk.asked.length > 0)
    meanwhile()
    disk.finish()
    await until('it is answered', () => {
      disk.finish()
      return exchange.answers.length > 0
    })
    const { notifications } = JSON.parse(textOf(exchange)!)
    return notifications.map(({ content }: { content: string }) => content)
  }
  t.strictSame(await read(() => {}), ['the last'])
  t.equal(searches, 1, 'it is not looked for again')
  const follow = () => {
    node.send('post', `${other}/subscribe`)
    node.sync()
  }
  t.strictSame(await read(follow), ['the last', 'first', 'reply 0 é😀'])
  t.equal(searches, 3, 'what it follows has changed')
})

t.test(
  'edge: threads by activity, their excerpts on disk: parked, and then as before',
  async (t) => {
    const { node, disk } = aNode()
    for (let n = 0; n < 3; n++) aThread(node, n)
    const read = () => node.get('/api/threads', 'order=activity&include=excerpt')
    const before = textOf(read())
    t.equal(JSON.parse(before!).threads[0].newest.excerpt, 'reply 1 é😀')
    disk.chill()
    const parked = read()
    t.strictSame([parked.answers.length, parked.isHeld], [0, true])
    disk.finish()
    t.equal(textOf(parked), before)
  },
)

t.test(
  'edge: a list that took long to find is parked: later replies wait for the log',
  async (t) => {
    const { node, disk } = aNode()
    const [first] = [aThread(node, 0), aThread(node, activitySteps + 1)]
    disk.chill()
    const read = node.get('/api/threads', 'order=activity&include=excerpt')
    await until('it is parked', () => disk.asked.length > 0)
    node.post(`${first}/replies`, { content: 'meanwhile' })
    disk.finish()
    await until('it ran again', () => node.forum.coldReads.length === 0)
    t.equal(read.answers.length, 0, 'the reply is not durable')
    node.sync()
    const { threads } = JSON.parse(textOf(read)!)
    const excerpts = threads.map(({ newest }: { newest: { excerpt: string } }) => newest.excerpt)
    t.strictSame(excerpts, [`reply ${activitySteps} é😀`, 'meanwhile'])
  },
)

t.test('edge: parked, and a reply is posted: it is shown, when it is durable', async (t) => {
  const { node, disk } = aNode()
  const path = aThread(node, 3)
  disk.chill()
  const read = node.get(path)
  node.post(`${path}/replies`, { content: 'meanwhile' })
  disk.finish()
  t.equal(read.answers.length, 0, 'the reply is not durable')
  node.sync()
  const { messages } = JSON.parse(textOf(read)!)
  t.equal(messages.at(-1).content, 'meanwhile')
})

t.test('edge: parked, and its caller expires: refused', async (t) => {
  const { node, disk } = aNode()
  const path = aThread(node, 3)
  disk.chill()
  const read = node.get(path)
  goOn(node.clock, 31 * dayMs)
  disk.finish()
  node.sync()
  t.equal(read.code, 'invalid_token')
  t.equal(node.forum.coldReads.bytes, 0)
})

t.test('edge: parked, and the node stops: shutting_down', async (t) => {
  const { node, disk } = aNode()
  const path = aThread(node, 3)
  disk.chill()
  const [first, second] = [node.get(path), node.get('/api/threads')]
  node.availability.refusal = 'shutting_down'
  node.forum.coldReads.stop()
  t.equal(first.code, 'shutting_down')
  t.equal(second.code, 'shutting_down')
  disk.finish()
  t.strictSame([first.answers.length, second.answers.length], [1, 1])
  t.equal(node.forum.coldReads.bytes, 0)
})

t.test('edge: it waits for news, its text has left memory, the node stops: 200', async (t) => {
  const { node, disk } = aNode()
  const path = aThread(node, 3)
  const { next_after } = JSON.parse(textOf(node.get(path))!)
  const poll = node.get(path, `after=${next_after}&wait=50`)
  disk.chill()
  const parked = node.get('/api/threads')
  node.availability.refusal = 'shutting_down'
  const ended = endReads(node.forum)
  await until('both are parked', () => node.forum.coldReads.length === 2)
  disk.finish()
  await ended
  t.equal(poll.answers[0]?.status, 200)
  t.match(JSON.parse(textOf(poll)!), { messages: [], next_after })
  t.equal(parked.code, 'shutting_down', 'it did not wait for news')
})

t.test('edge: parked, loaded, and the node stops before it runs again: once', async (t) => {
  const { node, disk } = aNode()
  const path = aThread(node, 3)
  disk.chill()
  const read = node.get(path)
  node.inOneTick(() => {
    disk.finish()
    node.availability.refusal = 'shutting_down'
    node.forum.coldReads.stop()
  })
  t.strictSame([read.answers.length, read.code], [1, 'shutting_down'])
  t.equal(node.forum.coldReads.bytes, 0)
})

t.test('edge: damaged: rebuilt and shown; lost: 503 with Retry-After, others go on', async (t) => {
  const { node, disk } = aNode()
  const path = aThread(node, 3)
  const before = textOf(node.get(path))
  disk.chill()
  const read = node.get(path)
  disk.finish(damaged)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(textOf(read), before)
  disk.isMendable = false
  const lost = node.get('/api/threads')
  disk.finish(damaged)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(lost.code, 'unreadable')
  t.match(lost.answers[0], { status: 503, headers: /Retry-After: \d+/ })
  t.equal(node.get('/api/status').code, 200)
})

t.test('edge: a key is used again, its text on disk: replayed or a conflict', async (t) => {
  const { node, disk } = aNode()
  const path = aThread(node, 0)
  const reply = { content: 'the one' }
  node.post(`${path}/replies`, reply, 'key-of-reply')
  node.post('/api/threads', { title: 'a', content: 'b' }, 'key-of-thread')
  node.sync()
  disk.chill()
  const { position } = node.journal
  const replays = [
    node.post(`${path}/replies`, reply, 'key-of-reply'),
    node.post('/api/threads', { title: 'a', content: 'b' }, 'key-of-thread'),
  ]
  const conflicts = [
    node.post(`${path}/replies`, { content: 'other' }, 'key-of-reply'),
    node.post('/api/threads', { title: 'c', content: 'b' }, 'key-of-thread'),
  ]
  disk.finish()
  for (const replay of replays) {
    t.equal(replay.code, 200)
    t.equal(JSON.parse(textOf(replay)!).replayed, true)
  }
  for (const conflict of conflicts) t.equal(conflict.code, 'idempotency_conflict')
  t.equal(node.journal.position, position, 'nothing is written')
})

const proposals = '/api/governance/proposals'
const policy = { kind: 'policy', title: 'a policy', description: 'é'.repeat(500) }

const actions = [
  'thread',
  'propose',
  'reply',
  'review',
  'read',
  'readProposal',
  'list',
  'listProposals',
  'feed',
  'chill',
] as const

const action = fc.record({
  do: fc.constantFrom(...actions, 'read' as const, 'reply' as const),
  n: fc.nat(5),
  again: fc.boolean(),
})

type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

/** A caller that, given the same actions, does the same as any other. */
class Caller {
  readonly node: Node
  readonly threads: string[] = []
  readonly proposals: { id: string; hash: string }[] = []
  #keys = 0

  constructor(node: Node) {
    this.node = node
  }

  /** Performs the action. Returns null if there is nothing to perform it on. */
  act(action: Action): FakeExchange | null {
    const { node, threads, proposals: saved } = this
    const key = (again: boolean) => `the-key-${again ? Math.max(1, this.#keys) : ++this.#keys}`
    if (action.do === 'thread') {
      return node.post('/api/threads', { title: `t${action.n}`, content: 'first' }, key(false))
    }
    if (action.do === 'propose') return node.post(proposals, policy, key(action.n === 0))
    if (action.do === 'list') return node.get('/api/threads')
    if (action.do === 'listProposals') return node.get(proposals)
    if (action.do === 'feed' || action.do === 'chill') return node.get('/api/notifications')
    const thread = threads[action.n % threads.length]
    const proposal = saved[action.n % saved.length]
    switch (action.do) {
      case 'reply': {
        if (thread === undefined) return null
        const content = `reply ${action.n}`.repeat(1 + 300 * action.n)
        return node.post(`${thread}/replies`, { content }, key(action.again))
      }
      case 'read':
        if (thread === undefined) return null
        return node.get(thread, action.again ? 'before=end&limit=3' : '')
      case 'readProposal':
        return proposal === undefined ? null : node.get(`${proposals}/${proposal.id}`)
      case 'review': {
        if (proposal === undefined) return null
        const body = { proposal_hash: proposal.hash, decision: 'comment', text: `${action.n}` }
        return node.post(`${proposals}/${proposal.id}/reviews`, body, key(action.again))
      }
    }
  }

  /** Remembers the outcome of an action. */
  note(exchange: FakeExchange): void {
    const body = JSON.parse(textOf(exchange)!)
    if (body.published && !body.replayed) this.threads.push(body.read_url)
    if (body.proposal_id && body.read_url && !body.review_id) {
      this.proposals.push({ id: body.proposal_id, hash: body.proposal_hash })
    }
  }
}

t.test('edge: any requests, text on disk or in memory: the same answers', async () => {
  let parked = 0
  const many = fc.array(action, { minLength: 100, maxLength: 200, size: 'max' })
  const property = fc.property(many, (actions) => {
    const { node, disk } = aNode()
    const [hot, cold] = [new Caller(new Node()), new Caller(node)]
    for (const action of actions) {
      const exchanges = [hot.act(action), cold.act(action)]
      if (action.do === 'chill') disk.chill()
      parked += disk.asked.length
      while (disk.asked.length > 0) disk.finish()
      const [expected, given] = [hot, cold].map((caller, i) => {
        caller.node.sync()
        const exchange = exchanges[i]
        if (exchange !== null) caller.note(exchange)
        return exchange?.answers
      })
      if (JSON.stringify(given) !== JSON.stringify(expected)) {
        throw new Error(`${JSON.stringify(action)}: ${JSON.stringify([given, expected])}`)
      }
    }
    if (node.forum.coldReads.bytes !== 0) throw new Error('something is held')
  })
  fc.assert(property, { numRuns: 5 })
  if (parked < 20) throw new Error(`only ${parked} requests needed text from disk`)
})
