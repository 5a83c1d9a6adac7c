import t from 'tap'
import { counter, gauge, histogram } from '../../src/ops/prometheus.ts'

t.test('metrics: one number: written: head and sample', async (t) => {
  t.equal(gauge('a', 'What.', 1.5), '# HELP a What.\n# TYPE a gauge\na 1.5\n')
  t.equal(counter('a_total', 'W.', 0), '# HELP a_total W.\n# TYPE a_total counter\na_total 0\n')
})

t.test('metrics: labels with quotes and line ends: written: escaped', async (t) => {
  const text = gauge('a', 'W.', [{ labels: { b: 'x"y\\z\n', c: '' }, value: 1 }])
  t.equal(text.split('\n')[2], 'a{b="x\\"y\\\\z\\n",c=""} 1')
})

t.test('metrics: a histogram: written: buckets add up to the count', async (t) => {
  const series = { labels: { r: 'x' }, bounds: [0.1, 1], counts: [2, 0, 3], sum: 9 }
  t.strictSame(histogram('h', 'W.', [series]).split('\n').slice(2), [
    'h_bucket{r="x",le="0.1"} 2',
    'h_bucket{r="x",le="1"} 2',
    'h_bucket{r="x",le="+Inf"} 5',
    'h_sum{r="x"} 9',
    'h_count{r="x"} 5',
    '',
  ])
})
