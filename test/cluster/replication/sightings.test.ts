// The check of histories detects each way in which nodes can contradict one history.

import t from 'tap'
import { type Acknowledged, type Final, type Page, type Shown, Sightings } from './sightings.ts'

const thread = '/api/threads/a'
const feed = '/api/notifications of w'
const item = (seq: number, content = `c${seq}`): Shown => ({
  seq,
  id: `m${seq}`,
  json: JSON.stringify({ seq, content }),
})
const all = [item(3), item(5), item(9)]
const page = (fields: Partial<Page>): Page => ({
  place: 'leader',
  list: thread,
  after: 0,
  items: all,
  hasMore: false,
  atLeast: 0,
  acknowledged: [],
  ...fields,
})
const write = (fields: Partial<Acknowledged>): Acknowledged => ({
  key: 'k5',
  place: 'leader',
  list: thread,
  id: 'm5',
  content: 'c5',
  behind: 3,
  ...fields,
})
const final = (items = all): Final =>
  new Map([
    [thread, items],
    [feed, [item(3), item(9)]],
  ])
const both = (one = final(), two = final()) =>
  new Map([
    ['leader', one],
    ['standby', two],
  ])

t.test('history: pages and writes of one history: no differences', async (t) => {
  const seen = new Sightings()
  seen.acknowledge(write({}))
  seen.acknowledge(write({ place: 'standby' }))
  seen.see(page({}))
  seen.see(page({ items: [item(3)], hasMore: true }))
  seen.see(page({ after: 3, place: 'standby', items: [item(5)], hasMore: true }))
  seen.see(page({ after: 9, items: [] }))
  seen.see(page({ list: feed, items: [item(3)], place: 'standby' }))
  seen.see(page({ list: feed, ...seen.expectation('standby', feed), items: [item(3), item(9)] }))
  seen.see(page({ ...seen.expectation('leader', thread) }))
  t.same(seen.expectation('leader', thread), {
    atLeast: 9,
    acknowledged: [{ id: 'm5', behind: 3 }],
  })
  t.same(seen.differences(both()), [])
})

const contradictions: Record<string, (seen: Sightings) => ReadonlyMap<string, Final> | undefined> =
  {
    'S1 a node that lacks the newest message': () => both(final(), final(all.slice(0, 2))),
    'S1 a message that differs in a field': () =>
      both(final(), final([...all.slice(0, 2), item(9, 'x')])),
    'S2 an acknowledged write that is gone': (seen) => {
      seen.acknowledge(write({ id: 'm6', content: 'c6' }))
    },
    'S2 an acknowledged write with another id': (seen) => {
      seen.acknowledge(write({ id: 'm3' }))
    },
    'S2 a repeated write with another answer': (seen) => {
      seen.acknowledge(write({}))
      seen.acknowledge(write({ id: 'm9', content: 'c9' }))
    },
    'S2 a message that is in two threads': () => {
      const twice = new Map([...final(), ['/api/threads/b', [item(3, 'other')]]])
      return both(twice, twice)
    },
    'S3 a write that took effect twice': () => {
      const twice = final([...all, { ...item(11, 'c5'), id: 'm11' }])
      return both(twice, twice)
    },
    'S4 a page with a gap': (seen) => {
      seen.see(page({ items: [item(3), item(9)] }))
    },
    'S4 a page with a message that is gone': (seen) => {
      seen.see(page({ items: [item(3), item(4), item(5)] }))
    },
    'S4 a page that is out of order': (seen) => {
      seen.see(page({ items: [item(5), item(3)] }))
    },
    'S4 a page that read otherwise': (seen) => {
      seen.see(page({ items: [item(3, 'x')], hasMore: true }))
    },
    'S5 a position that two messages had': (seen) => {
      seen.see(page({ items: [{ ...item(3), id: 'm4' }], hasMore: true }))
    },
    'S6 a place that goes back': (seen) => {
      seen.see(page({}))
      seen.see(page({ ...seen.expectation('leader', thread), items: [item(3), item(5)] }))
    },
    'S7 a write that its caller does not read': (seen) => {
      seen.acknowledge(write({ place: 'standby' }))
      const expectation = seen.expectation('standby', thread)
      seen.see(page({ place: 'standby', after: 3, items: [], ...expectation }))
    },
  }

for (const [what, contradict] of Object.entries(contradictions)) {
  t.test(`history: ${what}: found, and named`, async (t) => {
    const seen = new Sightings()
    const found = seen.differences(contradict(seen) ?? both())
    t.ok(found.length > 0)
    t.ok(
      found.some((text) => text.startsWith(`${what.slice(0, 2)}:`)),
      found.join('\n'),
    )
  })
}
