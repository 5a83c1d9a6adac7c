// Rings of entries, compared with plain lists: E1 the oldest is first, E2 removed entries are
// reused.

import fc from 'fast-check'
import t from 'tap'
import { TopicRings } from '../../../src/forum/feed/waiting.ts'

const topics = 6

t.test('E1: requests come and go: the first of each topic is the oldest there', async () => {
  const any = fc.array(
    fc.record({
      leaves: fc.nat(9),
      isLeaving: fc.boolean(),
      joins: fc.array(fc.nat(topics - 1), { minLength: 1, maxLength: 4 }),
    }),
    { maxLength: 60, size: 'max' },
  )
  const property = fc.property(any, (steps) => {
    const rings = new TopicRings()
    const there: { request: number; entry: number; joins: number[] }[] = []
    let added = 0
    for (const { leaves, isLeaving, joins } of steps) {
      if (isLeaving && there.length > 0) {
        const [left] = there.splice(leaves % there.length, 1)
        rings.remove(left.entry)
      } else {
        const request = added++
        const entry = joins.reduce((entry, topic) => rings.add(topic, request, entry), 0)
        there.push({ request, entry, joins })
      }
      const firsts = Array.from({ length: topics }, (_, topic) => rings.first(topic))
      const expected = firsts.map((_, topic) => {
        return there.find(({ joins }) => joins.includes(topic))?.request ?? -1
      })
      if (String(firsts) !== String(expected)) throw new Error(`${firsts} is not ${expected}`)
      const length = there.reduce((sum, { joins }) => sum + joins.length, 0)
      if (rings.length !== length) throw new Error(`${rings.length} entries, not ${length}`)
    }
  })
  fc.assert(property, { numRuns: 300 })
})
