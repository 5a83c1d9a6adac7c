import t from 'tap'
import { Histogram } from '../../src/base/histogram.ts'

t.test('histogram: durations at, between and above the bounds: each in one bucket', async (t) => {
  const times = new Histogram([0.001, 0.01, 0.1])
  for (const seconds of [0, 0.001, 0.002, 0.01, 0.1, 0.2, 60]) times.add(seconds)
  t.strictSame([...times.counts], [2, 2, 1, 2])
  t.equal(times.count, 7)
  t.ok(Math.abs(times.sum - 60.313) < 1e-9)
})

t.test('histogram: reports of another process: added: only what it has grown by', async (t) => {
  const [there, here] = [new Histogram([1, 2]), new Histogram([1, 2])]
  here.add(3)
  there.add(0.5)
  const first = there.report()
  here.grow(undefined, first)
  there.add(1.5)
  there.add(3)
  t.strictSame(first.counts, [1, 0, 0], 'a report does not change')
  here.grow(first, there.report())
  t.strictSame(here.report(), { counts: [1, 1, 2], sum: 8 })
})
