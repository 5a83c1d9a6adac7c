// A set of numbers, compared with JavaScript's own Set.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { BitSet } from '../../src/columns/bit-set.ts'

const anySteps = fc.constantFrom(31, 40, 1100, 5000, 3_000_000).chain((most) => {
  const number = fc.oneof(fc.nat(most), fc.nat(Math.min(most, 200)))
  return fc.array(fc.record({ adds: fc.boolean(), number }), { maxLength: 300, size: 'max' })
})

t.test('B1, B2: any numbers: the greatest below any other, in steps to the least', async () => {
  const property = fc.property(anySteps, (steps) => {
    const bits = new BitSet()
    const numbers = new Set<number>()
    for (const { adds, number } of steps) {
      if (adds) bits.add(number)
      else bits.delete(number)
      numbers[adds ? 'add' : 'delete'](number)
      assert.equal(bits.has(number), adds)
    }
    const found: number[] = []
    for (let last = Number.POSITIVE_INFINITY; last !== -1; ) {
      last = bits.before(last)
      if (last !== -1) found.push(last)
    }
    assert.deepEqual(
      found,
      [...numbers].sort((a, b) => b - a),
    )
    for (const { number } of steps) {
      const below = found.filter((each) => each < number)
      assert.equal(bits.before(number), Math.max(-1, ...below))
    }
  })
  fc.assert(property, { numRuns: 100 })
})

t.test('an empty set: nothing below any number', async (t) => {
  const bits = new BitSet()
  t.same(
    [0, 1, 32, 1e9, Number.POSITIVE_INFINITY].map((end) => bits.before(end)),
    [-1, -1, -1, -1, -1],
  )
  t.notOk(bits.has(7))
  bits.delete(7)
  t.equal(bits.before(100), -1)
})
