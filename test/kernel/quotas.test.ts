import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Quotas, Window } from '../../src/kernel/quotas.ts'

/** An implementation of the same rule that keeps and examines every event. */
class NaiveWindow {
  readonly #events: { subject: string; at: number }[] = []
  readonly most: number
  readonly windowMs: number

  constructor(most: number, windowMs: number) {
    this.most = most
    this.windowMs = windowMs
  }

  count(subject: string, at: number): void {
    this.#events.push({ subject, at })
  }

  isAllowed(subject: string, at: number): boolean {
    const inside = this.#events.filter((event) => {
      return event.subject === subject && event.at > at - this.windowMs
    })
    return inside.length < this.most
  }
}

// Time steps from zero to more than two windows. Some events are counted although they were not
// allowed, as in a log that was written under other limits.
const anyStep = fc.record({
  subject: fc.constantFrom('a', 'b', 'c'),
  after: fc.oneof(fc.nat(4), fc.nat(25)),
  isForced: fc.constantFrom(false, false, false, true),
})

t.test('W1: window: any events: allows exactly what the naive window allows', async () => {
  const windowMs = 10
  const property = fc.property(
    fc.integer({ min: 1, max: 5 }),
    fc.array(anyStep, { maxLength: 80, size: 'max' }),
    (most, steps) => {
      const window = new Window(most, windowMs)
      const naive = new NaiveWindow(most, windowMs)
      let at = 0
      for (const { subject, after, isForced } of steps) {
        at += after
        const wait = window.waitMs(subject, at)
        assert.equal(wait === 0, naive.isAllowed(subject, at))
        if (wait > 0) {
          assert.ok(naive.isAllowed(subject, at + wait), 'there is room after the wait')
          assert.ok(!naive.isAllowed(subject, at + wait - 1), 'and not before')
        }
        if (wait > 0 && !isForced) continue
        window.count(subject, at)
        naive.count(subject, at)
      }
    },
  )
  fc.assert(property, { numRuns: 2000 })
})

t.test('W2: window: a new subject every millisecond: two generations are kept', async (t) => {
  const windowMs = 100
  const window = new Window(5, windowMs)
  let most = 0
  for (let at = 0; at < 50 * windowMs; at++) {
    window.count(at, at)
    most = Math.max(most, window.subjects)
  }
  t.ok(most <= 2 * windowMs, `${most} subjects`)
})

const ana = { by: 1, client: 'a', at: 0 }
const ben = { by: 2, client: 'b', at: 0 }

t.test('quotas: limits of every scope: each counts its own: the longest wait holds', async (t) => {
  const quotas = new Quotas({ messages: { all: 3, identity: 1, address: 2 } })
  const elsewhere = { ...ana, client: 'c' }
  const together = { ...ben, client: 'a' }
  const allowed = (...doings: (typeof ana)[]) =>
    doings.map((doing) => quotas.waitMs('messages', doing) === 0)

  quotas.count('messages', ana)
  t.same(allowed(elsewhere, together, ben), [false, true, true], 'an identity has one')
  quotas.count('messages', together)
  t.same(allowed({ by: 3, client: 'a', at: 0 }, { by: 3, client: 'b', at: 0 }), [false, true])
  quotas.count('messages', { by: 4, client: 'd', at: 0 })
  t.same(allowed({ by: 5, client: 'e', at: 0 }), [false], 'all together have three')
  t.equal(quotas.waitMs('governance', ana), 0, 'another action')
})

t.test('quotas: no limits, or limits of 0: never wait, need no address', async (t) => {
  for (const limits of [{}, { messages: { all: 0, identity: 0, address: 0 } }]) {
    const quotas = new Quotas(limits)
    for (let i = 0; i < 100; i++) quotas.count('messages', ana)
    t.equal(quotas.waitMs('messages', ana), 0)
    t.equal(quotas.needsClient('messages'), false)
  }
})

t.test('quotas: records without an address: counted in total, for no address', async (t) => {
  const quotas = new Quotas({ tickets: { all: 2, address: 1 } })
  t.ok(quotas.needsClient('tickets'))
  quotas.count('tickets', { ...ana, client: '' })
  t.equal(quotas.waitMs('tickets', { ...ana, client: '' }), 0)
  t.equal(quotas.waitMs('tickets', ana), 0)
  quotas.count('tickets', ana)
  t.equal(quotas.waitMs('tickets', ben), 3_600_000)
})

t.test('window: full more than once, saved and restored: waits for the oldest event', async (t) => {
  const window = new Window(3, 100)
  for (const at of [10, 20, 30, 40]) window.count('a', at)
  const restored = new Window(3, 100)
  restored.restore(window.facts())
  for (const each of [window, restored]) {
    t.equal(each.waitMs('a', 50), 70, 'until the event at 20 has left')
    each.count('a', 60)
    t.equal(each.waitMs('a', 70), 60, 'until that at 30 has')
  }
})
