// Which request waits for which topic, and when it is resumed: requests that record how they were
// resumed, on a forum made of records, with a log that becomes durable when the test says so.

import fc from 'fast-check'
import t from 'tap'
import type { Holder } from '../../../src/base/shares.ts'
import { type Ended, type Waiter, Waiting } from '../../../src/forum/feed/waiting.ts'
import { nobody } from '../../../src/kernel/network.ts'
import { feedTopic, threadTopic } from '../../../src/kernel/topics.ts'
import { Scene } from '../scene.ts'

class Request implements Waiter {
  key: number
  heapIndex = 0
  number = -1
  entry = 0
  followed = 0
  seen = 0
  readonly caller: number
  readonly holder: Holder
  readonly holdsConnection: boolean
  readonly told: Ended[] = []
  readonly name: string

  constructor(name = '', until = 1000, caller = nobody, isAlone = true) {
    this.name = name
    this.key = until
    this.caller = caller
    this.holdsConnection = isAlone
    this.holder = caller === nobody ? name : caller
  }

  resume(why: Ended): void {
    this.told.push(why)
  }
}

class World extends Scene {
  now = 0
  readyCalls = 0
  readonly waiting: Waiting

  constructor({ identities = 4, threads = 3, max = 1000, connectionsMax = 1000 } = {}) {
    super(identities)
    for (let i = 0; i < threads; i++) this.thread('public', [])
    this.waiting = new Waiting(this.forum.state, () => this.now, { max, connectionsMax })
    this.forum.state.onNews = (topic) => this.waiting.note(topic)
    this.waiting.onReady = () => {
      this.readyCalls += 1
    }
  }

  /** Holds a request that waits for this topic. */
  hold(topic: number, name = '', until = 1000, caller = nobody, isAlone = true): Request {
    const request = new Request(name, until, caller, isAlone)
    const refusal = this.waiting.hold(request, topic)
    if (refusal !== null) request.told.push(refusal)
    return request
  }

  sync(): void {
    this.waiting.onDurable(this.forum.state.position)
  }

  /** Makes everything durable, and resumes all requests for which there is news. */
  settle(): void {
    this.sync()
    while (this.waiting.resume(8));
  }
}

t.test('W2: a message: resumed once it is durable, and only those who wait for it', async (t) => {
  const world = new World()
  world.subscribe(1, 0)
  const [feed, thread] = [world.hold(feedTopic(1)), world.hold(threadTopic(0))]
  const others = [world.hold(feedTopic(2)), world.hold(threadTopic(1)), world.hold(feedTopic(0))]
  world.reply(2, 0)
  world.waiting.resume(100)
  t.same([feed.told, thread.told, world.readyCalls], [[], [], 0], 'not before it is durable')
  world.sync()
  t.same([feed.told, thread.told, world.readyCalls], [[], [], 1], 'not before its turn')
  t.notOk(world.waiting.resume(100))
  t.same([feed.told, thread.told], [['news'], ['news']])
  // The author of thread 0 follows it, and identity 2 has followed it since its reply.
  t.same(
    others.map(({ told }) => told),
    [['news'], [], ['news']],
  )
  t.equal(world.waiting.length, 1)
})

t.test('W2: a caller begins to follow a thread: its feed is resumed', async (t) => {
  const world = new World()
  const feed = world.hold(feedTopic(1))
  world.subscribe(1, 2)
  world.settle()
  t.same(feed.told, ['news'])
})

t.test('W2: held again: for what has come since, and not for what it has seen', async (t) => {
  const world = new World()
  const first = world.hold(threadTopic(0), 'first')
  world.reply(1, 0)
  const second = world.hold(threadTopic(0), 'second') // it has seen the reply
  world.sync()
  world.waiting.resume(1)
  t.same([first.told, second.told], [['news'], []])
  world.waiting.hold(first, threadTopic(0))
  t.notOk(world.waiting.resume(100), 'nobody is resumed twice for one message')
  t.same([first.told, second.told], [['news'], []])
  world.reply(2, 0)
  world.settle()
  t.same([first.told, second.told], [['news', 'news'], ['news']])
})

t.test('W4: many wait for one thread, one for another: topics in turns, a few each', async (t) => {
  const world = new World()
  const order: string[] = []
  const hold = (topic: number, name: string) => {
    const request = world.hold(topic, name)
    request.resume = () => order.push(name)
  }
  for (let i = 0; i < 5; i++) hold(threadTopic(0), 'many')
  hold(threadTopic(1), 'one')
  world.reply(1, 0)
  world.reply(1, 1)
  world.sync()
  t.ok(world.waiting.resume(3), 'there are more')
  t.same(order, ['many', 'one', 'many'])
  t.ok(world.waiting.resume(2))
  t.notOk(world.waiting.resume(2))
  t.equal(order.length, 6)
})

t.test('time: those whose time is over, the first ones first; then no more', async (t) => {
  const world = new World()
  const [late, early] = [world.hold(threadTopic(0), '', 500), world.hold(threadTopic(0), '', 400)]
  t.notOk(world.waiting.resume(9))
  world.now = 499.9
  t.notOk(world.waiting.resume(9))
  t.same([early.told, late.told], [['time'], []])
  world.now = 500
  world.waiting.resume(9)
  t.same(late.told, ['time'])
})

t.test('hang-up: forgotten, counted once, and never resumed', async (t) => {
  const world = new World()
  const request = world.hold(threadTopic(0))
  world.waiting.forget(request)
  world.waiting.forget(request)
  world.reply(1, 0)
  world.settle()
  t.same(request.told, [])
  t.match(world.waiting, { length: 0, ended: { gone: 1 } })
})

t.test('stop: all are resumed, none is held any more, and then it is over', async (t) => {
  const world = new World()
  const requests = Array.from({ length: 20 }, () => world.hold(threadTopic(0)))
  let isOver = false
  const stopped = world.waiting.stop().then(() => {
    isOver = true
  })
  t.ok(world.waiting.resume(19), 'there is one more')
  await new Promise(setImmediate)
  t.notOk(isOver)
  t.notOk(world.waiting.resume(19))
  await stopped
  t.ok(requests.every(({ told }) => String(told) === 'shutdown'))
  t.same(world.hold(threadTopic(0)).told, ['shutdown'])
  await world.waiting.stop()
})

t.test('stop: the last that waits hangs up: it is over all the same', async (t) => {
  const world = new World()
  const [first, last] = [world.hold(threadTopic(0)), world.hold(threadTopic(0))]
  let isOver = false
  void world.waiting.stop().then(() => {
    isOver = true
  })
  world.waiting.resume(1)
  world.waiting.forget(last)
  await new Promise(setImmediate)
  t.same([first.told, last.told, isOver], [['shutdown'], [], true])
})

t.test('W5: as many as may wait: the next is refused, until one has gone', async (t) => {
  const world = new World({ max: 2 })
  const [first] = [world.hold(threadTopic(0), 'a'), world.hold(threadTopic(0), 'b')]
  t.same(world.hold(threadTopic(0), 'c').told, ['full'])
  world.waiting.forget(first)
  t.same(world.hold(threadTopic(0), 'c').told, [])
})

t.test(
  'W5: connections are all taken: requests of batches wait, others when one ends',
  async (t) => {
    const world = new World({ max: 10, connectionsMax: 2 })
    const first = world.hold(threadTopic(0), 'a')
    world.hold(threadTopic(0), 'b')
    t.same(world.hold(threadTopic(0), 'c').told, ['full'])
    t.same(world.hold(threadTopic(0), 'd', 1000, nobody, false).told, [])
    world.waiting.forget(first)
    t.same(world.hold(threadTopic(0), 'c').told, [])
  },
)

/** Returns the number of requests that wait. */
const held = (requests: Request[]) => requests.filter(({ told }) => told.length === 0).length

t.test(
  'W5: an address, then identities, with too many polls: a place for each other',
  async (t) => {
    const world = new World({ max: 300 })
    const many = (name: string, caller: number) => {
      return Array.from({ length: 300 }, () => world.hold(threadTopic(0), name, 1000, caller))
    }
    t.equal(held(many('192.0.2.1', nobody)), 150, 'half')
    t.equal(held(many('', 1)), 75, 'half of what is left')
    t.equal(held(many('192.0.2.2', nobody)), 38)
    t.equal(held(many('', 2)), 19)
    t.same(world.hold(threadTopic(1), '192.0.2.3').told, [], 'one who has none waits')
    t.same(world.hold(threadTopic(1), '', 1000, 3).told, [])
    t.match(world.waiting, { length: 284 })
    world.waiting.stop()
    while (world.waiting.resume(100));
    t.equal(world.waiting.length, 0)
  },
)

t.test('W5: an agent that follows very many threads polls 64 times: others wait too', async (t) => {
  const world = new World({ identities: 4, threads: 1030 })
  for (const identity of [1, 2]) {
    for (let thread = 0; thread < 1030; thread++) world.subscribe(identity, thread)
  }
  const many = (caller: number) => {
    return Array.from({ length: 64 }, () => world.hold(feedTopic(caller), '', 1000, caller))
  }
  const first = many(1)
  t.equal(held(first), 32)
  t.equal(held(many(2)), 16)
  t.same(world.hold(feedTopic(3), '', 1000, 3).told, [], 'it follows few')
  for (const request of first) world.waiting.forget(request)
  t.equal(held(many(1)), 24, 'what it gave back is there again')
})

t.test('W5: an agent takes all entries that it gets: another waits too', async (t) => {
  const world = new World({ identities: 4, threads: 1000, max: 100 })
  for (const identity of [1, 2]) {
    for (let thread = 0; thread < 1000; thread++) world.subscribe(identity, thread)
  }
  const many = (caller: number) => {
    return Array.from({ length: 50 }, () => world.hold(feedTopic(caller), '', 1000, caller))
  }
  t.equal(held(many(1)), 3, '6,400 entries: half of them')
  t.equal(held(many(2)), 2)
})

t.test('W5: an agent with tags polls again and again: its entries are there again', async (t) => {
  const world = new World({ max: 10 }) // 1,024 entries
  for (let n = 0; n < 10; n++) world.followTag(1, `tag-${n}`)
  for (let poll = 0; poll < 110; poll++) {
    const feed = world.hold(feedTopic(1), '', 1000, 1)
    t.same(feed.told, [], `poll ${poll}`)
    world.waiting.forget(feed)
  }
})

t.test('W5: too many threads for one entry each: resumed for each of them', async (t) => {
  const world = new World({ identities: 80, threads: 1100 })
  for (let thread = 0; thread < 1100; thread++) world.subscribe(1, thread)
  const feed = world.hold(feedTopic(1))
  world.reply(2, 1099)
  world.settle()
  t.same(feed.told, ['news'])
  world.waiting.hold(feed, feedTopic(1))
  world.unsubscribe(1, 1099)
  world.reply(2, 1099)
  world.settle()
  t.same(feed.told, ['news'], 'a thread that it does not follow')
  for (let i = 1; i < 64; i++) t.same(world.hold(feedTopic(1), `${i}`).told, [])
  t.same(world.hold(feedTopic(1), 'one more').told, ['full'])
  t.same(world.hold(feedTopic(2)).told, [], 'others may wait')
})

t.test('W5: too many threads for entries, and a tag: resumed for a thread with it', async (t) => {
  const world = new World({ threads: 1100 })
  for (let thread = 0; thread < 1100; thread++) world.subscribe(1, thread)
  world.followTag(1, 'a')
  const feed = world.hold(feedTopic(1))
  world.thread('public', [], '', ['b'])
  world.settle()
  t.same(feed.told, [], 'a tag that it does not follow')
  world.thread('public', [], '', ['a'])
  world.settle()
  t.same(feed.told, ['news'])
})

t.test('W5: entries for all: over their limit nobody is held who needs more', async (t) => {
  const world = new World({ threads: 1000, max: 10 }) // 1,024 entries
  for (let thread = 0; thread < 1000; thread++) world.subscribe(1, thread)
  t.same(world.hold(feedTopic(1)).told, [])
  for (let thread = 0; thread < 100; thread++) world.subscribe(2, thread)
  t.same(world.hold(feedTopic(2)).told, ['full'])
  t.same(world.hold(threadTopic(1)).told, [])
})

// A request is resumed if there is a relevant change that it has not seen, and at most once for
// each wait.
t.test('W2: any history: whoever has news is resumed, whoever has none is not', async () => {
  const step = fc.record({
    does: fc.constantFrom('reply', 'reply', 'hold', 'hold', 'follow', 'leave', 'sync', 'resume'),
    who: fc.nat(3),
    thread: fc.nat(2),
    isFeed: fc.boolean(),
  })
  const property = fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
    const world = new World()
    const { state } = world.forum
    const held: { request: Request; who: number; thread: number; isDue: boolean }[] = []
    const due = (concerns: (who: number, thread: number) => boolean) => {
      for (const one of held) one.isDue ||= concerns(one.who, one.thread)
    }
    for (const { does, who, thread, isFeed } of steps) {
      const follows = state.subscriptions.isSubscribed(who, thread)
      if (does === 'reply') {
        // A waiter's own messages count too, as do messages of a thread that it has left since
        // (W3).
        world.reply(who, thread)
        due((of, waits) => waits === thread || state.subscriptions.isSubscribed(of, thread))
      } else if (does === 'follow' && !follows) {
        world.subscribe(who, thread)
        due((of) => of === who)
      } else if (does === 'leave') world.unsubscribe(who, thread)
      else if (does === 'hold') {
        const request = world.hold(isFeed ? feedTopic(who) : threadTopic(thread))
        const waits = isFeed ? { who, thread: -1 } : { who: -1, thread }
        held.push({ request, ...waits, isDue: false })
      } else if (does === 'sync') world.sync()
      else if (does === 'resume') world.waiting.resume(2)
    }
    world.settle()
    for (const { request, isDue, who, thread } of held) {
      const isTold = request.told.length > 0
      if (request.told.length > 1) throw new Error(`resumed ${request.told.length} times`)
      if (isDue && !isTold) throw new Error(`feed ${who}, thread ${thread}: a wakeup is lost`)
      if (isTold !== (request.number === -1)) throw new Error('resumed, and waits')
    }
  })
  fc.assert(property, { numRuns: 15 })
})
