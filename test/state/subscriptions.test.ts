import fc from 'fast-check'
import t from 'tap'
import { Subscriptions } from '../../src/state/subscriptions.ts'

const identities = 4
const change = fc.record({
  identity: fc.nat(identities - 1),
  thread: fc.nat(12),
  follows: fc.boolean(),
})

t.test('S1: threads are followed and left: the list is exactly the followed ones', async () => {
  const property = fc.property(fc.array(change, { maxLength: 150, size: 'max' }), (changes) => {
    const subscriptions = new Subscriptions()
    for (let i = 0; i < identities; i++) subscriptions.addIdentity()
    const model = Array.from({ length: identities }, () => new Set<number>())
    const changedAt = new Map<string, number>()
    for (const [i, { identity, thread, follows }] of changes.entries()) {
      const position = i + 1
      const isChange = model[identity].has(thread) !== follows
      const changed = follows
        ? subscriptions.subscribe(identity, thread, position)
        : subscriptions.unsubscribe(identity, thread, position)
      if (changed !== isChange) throw new Error('it says that it changed when it did not')
      if (isChange) changedAt.set(`${identity} ${thread}`, position)
      if (follows) model[identity].add(thread)
      else model[identity].delete(thread)

      if (subscriptions.isSubscribed(identity, thread) !== follows) throw new Error('S1: actor')
      if (
        subscriptions.changedAt(identity, thread) !== (changedAt.get(`${identity} ${thread}`) ?? 0)
      )
        throw new Error('the last change is another')
      compare(subscriptions, identity, model[identity])
    }
    for (const [identity, threads] of model.entries()) compare(subscriptions, identity, threads)
  })
  fc.assert(property, { numRuns: 300 })
})

function compare(subscriptions: Subscriptions, identity: number, threads: Set<number>): void {
  const count = subscriptions.followed(identity)
  const copied = new Uint32Array(count)
  subscriptions.copyThreads(identity, copied)
  const listed = [...copied]
  const same = count === threads.size && listed.every((thread) => threads.has(thread))
  if (!same || new Set(listed).size !== count) throw new Error(`S1: ${listed} of ${[...threads]}`)
}

t.test(
  'subscriptions: a pair that never was: left: nothing changes, nothing is made',
  async (t) => {
    const subscriptions = new Subscriptions()
    subscriptions.addIdentity()
    t.equal(subscriptions.unsubscribe(0, 5, 1), false)
    t.equal(subscriptions.changedAt(0, 5), 0)
    t.equal(subscriptions.count, 0)
  },
)

t.test('subscriptions: many pairs: each is told from all others', async (t) => {
  const subscriptions = new Subscriptions()
  for (let identity = 0; identity < 300; identity++) subscriptions.addIdentity()
  for (let identity = 0; identity < 300; identity++) {
    for (let thread = identity % 2; thread < 100; thread += 2) {
      subscriptions.subscribe(identity, thread, 1)
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
