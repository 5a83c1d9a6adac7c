import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Heap, type HeapEntry } from '../../src/base/heap.ts'

t.test('H1, H2: heap: added, moved, deleted at random: the same as a plain set', async () => {
  const step = fc.record({
    does: fc.constantFrom('add', 'add', 'move', 'delete', 'delete the first'),
    which: fc.nat(30),
    key: fc.nat(20),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const heap = new Heap<HeapEntry>()
      const model = new Set<HeapEntry>()
      for (const { does, which, key } of steps) {
        const entry = [...model][which % model.size]
        if (does === 'add' || entry === undefined) {
          const added = { key, heapIndex: -1 }
          heap.add(added)
          model.add(added)
        } else if (does === 'move') {
          entry.key = key
          heap.moved(entry)
        } else {
          const deleted = does === 'delete' ? entry : heap.first
          heap.delete(deleted)
          model.delete(deleted)
        }
        assert.equal(heap.size, model.size)
        const places = [...model].map(({ heapIndex }) => heapIndex).sort((a, b) => a - b)
        assert.deepEqual(places, [...places.keys()])
        if (model.size === 0) continue
        assert.ok(model.has(heap.first))
        assert.equal(heap.first.key, Math.min(...[...model].map((each) => each.key)))
      }
    }),
  )
})
