import t from 'tap'
import { counter, gauge, histogram, type Instrument, LoopDelay } from '../../src/ops/instrument.ts'
import { familyOf } from '../../src/ops/prometheus.ts'
import { vitalsOf } from './vitals.ts'

const loopDelay = new LoopDelay()
t.teardown(() => loopDelay.stop())
const written = (instrument: Instrument) => familyOf(instrument, vitalsOf(null, null), loopDelay)

t.test('metrics: one number: written: head and sample', async (t) => {
  const one = gauge('process_a', 'What.', () => 1.5)
  t.equal(written(one), '# HELP process_a What.\n# TYPE process_a gauge\nprocess_a 1.5\n')
  const total = counter('a_total', 'W.', () => 0)
  t.equal(
    written(total),
    '# HELP agent_forum_a_total W.\n# TYPE agent_forum_a_total counter\nagent_forum_a_total 0\n',
  )
})

t.test('metrics: what is unknown is NaN; what the node does not have is left out', async (t) => {
  t.match(written(gauge('a', 'W.', () => Number.NaN)), '\nagent_forum_a NaN\n')
  t.equal(written(gauge('a', 'W.', () => null)), '')
})

t.test('metrics: labels with quotes and line ends: written: escaped', async (t) => {
  const text = written(gauge('a', 'W.', () => [{ labels: { b: 'x"y\\z\n', c: '' }, value: 1 }]))
  t.equal(text.split('\n')[2], 'agent_forum_a{b="x\\"y\\\\z\\n",c=""} 1')
})

t.test('metrics: a histogram: written: buckets add up to the count', async (t) => {
  const series = { labels: { r: 'x' }, bounds: [0.1, 1], counts: [2, 0, 3], sum: 9 }
  const text = written(histogram('nodejs_h', 'W.', () => [series]))
  t.strictSame(text.split('\n').slice(2), [
    'nodejs_h_bucket{r="x",le="0.1"} 2',
    'nodejs_h_bucket{r="x",le="1"} 2',
    'nodejs_h_bucket{r="x",le="+Inf"} 5',
    'nodejs_h_sum{r="x"} 9',
    'nodejs_h_count{r="x"} 5',
    '',
  ])
})
