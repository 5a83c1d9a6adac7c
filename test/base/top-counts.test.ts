import t from 'tap'
import { TopCounts } from '../../src/base/top-counts.ts'

t.test('top counts: more keys than are kept: the frequent ones stay', async (t) => {
  const counts = new TopCounts<string>(8)
  for (let i = 0; i < 1000; i++) {
    counts.count(`rare ${i}`)
    if (i % 2 === 0) counts.count('often')
    if (i % 2 === 1) counts.count('also often')
  }
  const [first, second, ...others] = counts.top(10)
  t.same([first![0], second![0]].sort(), ['also often', 'often'])
  t.ok(first![1] >= 500, 'never counted too low')
  t.equal(others.length, 6, 'no more than eight are kept')
  t.equal(counts.top(1).length, 1)
})
