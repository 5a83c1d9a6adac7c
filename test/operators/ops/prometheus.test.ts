import t from 'tap'
import {
  counter,
  gauge,
  histogram,
  type Instrument,
  LoopDelay,
} from '../../../src/operators/ops/instrument.ts'
import { familyOf, metrics } from '../../../src/operators/ops/status.ts'
import { answersOf } from '../../../src/operators/ops/vitals.ts'
import { samples } from '../../api/operators.ts'
import { noDelays, vitalsOf, vitalsOfAll } from './vitals.ts'

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

t.test('metrics: answers of every class of status: all are counted', async (t) => {
  const vitals = vitalsOf(null, null)
  const { none } = vitals.meter
  for (const status of [200, 201, 303, 304, 400, 421, 503]) none.count(status, 0)
  const counted = [...samples(metrics(vitals, noDelays))].filter(([name]) => {
    return name.startsWith('agent_forum_http_requests_total{route="none"')
  })
  t.equal(
    counted.reduce((sum, [, value]) => sum + value, 0),
    answersOf(none),
  )
})

// https://prometheus.io/docs/practices/naming/ and the rules of `promtool check metrics`.
t.test('metrics: all of a node: names, types and labels as Prometheus recommends', async (t) => {
  const text = metrics(vitalsOfAll(), noDelays)
  const families = text.split(/^(?=# HELP )/m)
  t.ok(families.length > 70)
  const names = families.map((family) => {
    const [, name, type, rest] = /^# HELP (\w+) \S.*\n# TYPE \1 (\w+)\n(.*)$/s.exec(family) ?? []
    if (name === undefined) return t.fail(`not a family: ${family}`)
    t.match(name, /^[a-z]+(?:_[a-z0-9]+)+$/)
    t.equal(name.endsWith('_total'), type === 'counter', `${name} is a ${type}`)
    t.notMatch(
      name,
      /_(?:count|sum|bucket|gauge|counter|histogram|ms|millis\w*|kb|mb|mib|percent)\b/,
    )
    const lines = rest!.trim().split('\n')
    const parts = type === 'histogram' ? '_(?:bucket|sum|count)' : ''
    for (const line of lines) t.match(line, new RegExp(`^${name}${parts}(?:{.*})? \\S+$`))
    const reserved = type === 'histogram' ? /[{,]quantile=/ : /[{,](?:quantile|le)=/
    t.notMatch(rest, reserved)
    t.equal(new Set(lines.map((line) => line.split(' ')[0])).size, lines.length, 'no sample twice')
    return name
  })
  t.equal(new Set(names).size, names.length, 'no family twice')
})
