import t from 'tap'
import { QuantileWindow } from '../../../src/operators/ops/samples.ts'

t.test('quantiles: nothing counted, or nothing lately: unknown', async (t) => {
  const window = new QuantileWindow([1, 2])
  t.ok(Number.isNaN(window.quantile(0.5)))
  for (let step = 0; step < 10; step++) {
    window.step([0, 4, 0])
    t.equal(window.quantile(0.5), 1.5, `step ${step}`)
  }
  window.step([0, 4, 0])
  t.ok(Number.isNaN(window.quantile(0.5)), 'the counts are of more than ten steps ago')
})

t.test('quantiles: counts in several buckets: within the bucket, spread evenly', async (t) => {
  const window = new QuantileWindow([1, 2, 4])
  window.step([10, 0, 80, 10])
  const found = [0.05, 0.1, 0.5, 0.9].map((q) => window.quantile(q))
  t.same(found, [0.5, 1, 3, 4])
  t.equal(window.quantile(0.99), 4, 'what is above the last bound is taken to be that bound')
})

t.test('quantiles: a change: shown at once, and alone after ten steps', async (t) => {
  const window = new QuantileWindow([1, 2])
  let counts = [0, 0, 0]
  for (let step = 0; step < 20; step++) {
    counts = [counts[0]! + 2, 0, 0]
    window.step(counts)
  }
  t.equal(window.quantile(0.5), 0.5)
  const found = Array.from({ length: 10 }, () => {
    counts = [counts[0]!, counts[1]! + 2, 0]
    window.step(counts)
    return window.quantile(1)
  })
  t.same(found, new Array(10).fill(2))
  t.equal(window.quantile(0.5), 1.5)
})
