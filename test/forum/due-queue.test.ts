import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { DueQueue } from '../../src/forum/due-queue.ts'

t.test('Q1: due queue: put, moved, deleted, taken at random: as a plain map says', async () => {
  const step = fc.record({
    does: fc.constantFrom('set', 'set', 'set', 'delete', 'take'),
    item: fc.nat(30),
    at: fc.nat(20),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new DueQueue<number>()
      const model = new Map<number, number>()
      for (const { does, item, at } of steps) {
        if (does === 'set') {
          queue.set(item, at)
          model.set(item, at)
        } else if (does === 'delete') {
          queue.delete(item)
          model.delete(item)
        } else {
          const isDue = Math.min(...model.values()) <= at
          const taken = queue.take(at)
          assert.equal(taken !== undefined, isDue)
          if (taken !== undefined) {
            assert.equal(model.get(taken), Math.min(...model.values()))
            model.delete(taken)
          }
        }
        assert.equal(queue.size, model.size)
        assert.equal(queue.nextAt, Math.min(Number.POSITIVE_INFINITY, ...model.values()))
      }
    }),
  )
})
