import fc from 'fast-check'
import t from 'tap'
import { Feeds, Subscriptions } from '../../../src/forum/feed/table.ts'

const identities = 4

function withFeeds(count: number): { feeds: Feeds; subscriptions: Subscriptions } {
  const feeds = new Feeds()
  for (let identity = 0; identity < count; identity++) {
    feeds.add()
    feeds.actors.tell(identity, { type: 'opened', position: 1 })
  }
  return { feeds, subscriptions: new Subscriptions(feeds) }
}

const change = fc.record({
  identity: fc.nat(identities - 1),
  thread: fc.nat(12),
  follows: fc.boolean(),
})

t.test('S1: threads are followed and left: the list is exactly the followed ones', async () => {
  const property = fc.property(fc.array(change, { maxLength: 150, size: 'max' }), (changes) => {
    const { feeds, subscriptions } = withFeeds(identities)
    const model = Array.from({ length: identities }, () => new Set<number>())
    const changedAt = new Map<string, number>()
    for (const [i, { identity, thread, follows }] of changes.entries()) {
      const position = i + 1
      const isChange = model[identity].has(thread) !== follows
      if (subscriptions.mayFollow(identity, thread) !== !model[identity].has(thread)) {
        throw new Error('S1: who follows cannot begin to, and everybody else can')
      }
      if (isChange && follows) subscriptions.follow(identity, thread, position)
      if (isChange && !follows) subscriptions.unfollow(identity, thread, position)
      if (isChange) changedAt.set(`${identity} ${thread}`, position)
      if (follows) model[identity].add(thread)
      else model[identity].delete(thread)

      if (subscriptions.isSubscribed(identity, thread) !== follows) throw new Error('S1: actor')
      if (
        subscriptions.changedAt(identity, thread) !== (changedAt.get(`${identity} ${thread}`) ?? 0)
      )
        throw new Error('the last change is another')
      compare(feeds, identity, model[identity])
    }
    for (const [identity, threads] of model.entries()) compare(feeds, identity, threads)
  })
  fc.assert(property, { numRuns: 300 })
})

function compare(feeds: Feeds, identity: number, threads: Set<number>): void {
  const count = feeds.followed(identity)
  const copied = new Uint32Array(count)
  feeds.copyThreads(identity, 0, count, copied)
  const listed = [...copied]
  if (feeds.actors.get(identity, 'following') !== count) throw new Error('F1: actor and list')
  const same = count === threads.size && listed.every((thread) => threads.has(thread))
  if (!same || new Set(listed).size !== count) throw new Error(`S1: ${listed} of ${[...threads]}`)
}

t.test('subscriptions: a pair that never existed: looked up: nothing is created', async (t) => {
  const { subscriptions } = withFeeds(1)
  t.equal(subscriptions.mayFollow(0, 5), true)
  t.equal(subscriptions.isSubscribed(0, 5), false)
  t.equal(subscriptions.changedAt(0, 5), 0)
  t.equal(subscriptions.count, 0)
})

t.test('F1: an identity whose feed is closed: it cannot follow', async (t) => {
  const { feeds, subscriptions } = withFeeds(1)
  subscriptions.follow(0, 4, 2)
  feeds.actors.tell(0, { type: 'closed', position: 3 })
  t.equal(subscriptions.mayFollow(0, 5), false)
  t.throws(() => subscriptions.follow(0, 5, 4), { code: 'ERR_ASSERTION' })
})

t.test('subscriptions: many pairs: each is distinguished from all others', async (t) => {
  const { subscriptions } = withFeeds(300)
  for (let identity = 0; identity < 300; identity++) {
    for (let thread = identity % 2; thread < 100; thread += 2) {
      subscriptions.follow(identity, thread, 1)
    }
  }
  let wrong = 0
  for (let identity = 0; identity < 300; identity++) {
    for (let thread = 0; thread < 100; thread++) {
      if (subscriptions.isSubscribed(identity, thread) !== (identity % 2 === thread % 2)) wrong += 1
    }
  }
  t.equal(wrong, 0)
})
