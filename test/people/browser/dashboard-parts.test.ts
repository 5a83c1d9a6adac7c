// The parts of the dashboard that need no browser: units, panels, its history, its tables.

import t from 'tap'
import { Histogram } from '../../../src/base/histogram.ts'
import { LoopDelay } from '../../../src/operators/ops/instrument.ts'
import { dashboardPage } from '../../../src/operators/ops/page.ts'
import { Samples } from '../../../src/operators/ops/samples.ts'
import { statusOf } from '../../../src/operators/ops/status.ts'
import { byMinute, History } from '../../../src/people/browser/dashboard/history.ts'
import { routeHeads, routeRows } from '../../../src/people/browser/dashboard/routes.ts'
import { type Series, samplesMax } from '../../../src/people/browser/dashboard/status.ts'
import * as units from '../../../src/people/browser/dashboard/units.ts'
import type { Journal } from '../../../wal/journal/journal.ts'
import { follower, someReaders, vitalsOf } from '../../operators/ops/vitals.ts'

function series(first: number, columns: Series['columns'], length: number): Series {
  const at = Array.from({ length }, (_, i) => first + i)
  return { first, last: first + length - 1, at, columns }
}

t.test('units: numbers of all sizes: as people read them', async (t) => {
  const { bytes, count, duration, latency, percent, rate, unknown } = units
  const cases: [units.Unit, number | null, string][] = [
    [count, 1234567, '1,234,567'],
    [count, 0, '0'],
    [rate, 0.123, '0.123'],
    [rate, 99.94, '99.9'],
    [rate, 12345.6, '12,346'],
    [percent, 0.256, '26 %'],
    [latency, 0, '0 s'],
    [latency, 0.0000123, '12.3 µs'],
    [latency, 0.00123, '1.23 ms'],
    [latency, 0.9994, '999 ms'],
    [latency, 12, '12 s'],
    [duration, 59.9, '59 s'],
    [duration, 3599, '59 min 59 s'],
    [duration, 7260, '2 h 1 min'],
    [duration, 90_000, '1 d 1 h'],
    [bytes, 999, '999 B'],
    [bytes, 1000, '0.977 KiB'],
    [bytes, 2 ** 20, '1 MiB'],
    [bytes, 1.5 * 2 ** 40, '1.5 TiB'],
    [bytes, 2000 * 2 ** 40, '2,000 TiB'],
  ]
  for (const [unit, value, text] of cases) t.equal(unit(value), text)
  for (const unit of [bytes, count, duration, latency, percent, rate]) {
    t.same([unit(null), unit(undefined), unit(Number.NaN)], [unknown, unknown, unknown])
  }
})

t.test('history: samples that follow: appended, and left out columns are empty', async (t) => {
  const history = new History()
  history.add(series(1, { waiting: [1, 2] }, 2))
  history.add(series(3, { waiting: [3], p50: [0.5] }, 1))
  history.add(series(4, {}, 1))
  history.add(series(5, {}, 0))
  t.strictSame([history.last, history.at], [4, [1, 2, 3, 4]])
  t.strictSame(history.column('waiting'), [1, 2, 3, 0])
  t.strictSame(history.column('p50'), [null, null, 0.5, null])
  t.strictSame(history.column('p99:reply'), [null, null, null, null])
  t.strictSame(history.column('requests:reply'), [0, 0, 0, 0])
})

t.test('history: a gap: begins anew', async (t) => {
  const history = new History()
  history.add(series(1, { waiting: [1, 2], gate: [1, 1] }, 2))
  history.add(series(4, { waiting: [4] }, 1))
  t.strictSame([history.last, history.at], [4, [4]])
  t.strictSame(history.column('waiting'), [4])
  t.strictSame(history.column('gate'), [0])
})

t.test('history: more than ten minutes: the newest ones', async (t) => {
  const history = new History()
  for (let first = 1; first <= samplesMax + 100; first += 50) {
    const { at, ...rest } = series(first, {}, 50)
    history.add({ ...rest, at, columns: { waiting: at } })
  }
  t.equal(history.at.length, samplesMax)
  t.strictSame(history.column('waiting'), history.at)
  t.equal(history.at.at(-1), history.last)
})

t.test('minutes: values and times: the mean, and the longest', async (t) => {
  const history = new History()
  const at = [10, 30, 70, 80, 140]
  const columns = { waiting: [1, 3, 5, 6, 7], p99: [0.1, 0.3, null, 0.2, null] }
  history.add({ first: 1, last: 5, at, columns })
  const lines = ['waiting', 'p99', 100].map((column) => ({ label: '', column }))
  t.strictSame(byMinute(history, 600, lines), [
    { minute: 12, values: [7, null, 100] },
    { minute: 11, values: [5.5, 0.2, 100] },
    { minute: 10, values: [2, 0.3, 100] },
  ])
})

function newStatus(change: (vitals: ReturnType<typeof vitalsOf>) => void) {
  const vitals = vitalsOf('starting', null)
  const delay = new LoopDelay()
  const samples = new Samples(vitals, delay, 0)
  change(vitals)
  samples.take(1000)
  delay.stop()
  return statusOf(vitals, samples, 0, 1000)
}

function factsOf(status: ReturnType<typeof newStatus>, id: string) {
  const { facts } = status.page.panels.find((panel) => panel.id === id)!
  return Object.fromEntries(facts.map(({ name, value, isBad }) => [name, isBad ? [value] : value]))
}

t.test('panels: a node that starts: everything is known to be unknown', async (t) => {
  const status = newStatus(() => {})
  t.match(status.ready, { state: 'starting', text: /^starting: 0% of the checkpoint/ })
  t.match(factsOf(status, 'log'), { 'Durable position': units.unknown, Storage: 'not open yet' })
  t.match(factsOf(status, 'refusals'), { 'By a limit, since the start': 'none' })
  t.match(factsOf(status, 'checkpoints'), { 'Position of the newest': 'none yet', Age: '–' })
  t.notOk(status.page.panels.some(({ id }) => id === 'replication'))
  t.same(routeRows(status), [])
  t.equal(status.page.headline.length, 8)
})

t.test('page: a node that starts: says how far it is; one that serves: says no more', async (t) => {
  const starting = dashboardPage(newStatus(() => {}))
  t.match(starting, 'data-state="starting">Starting</p>')
  t.match(starting, '<p class="notice" id="readiness">starting: 0% of the checkpoint read')
  const serving = newStatus((vitals) => {
    vitals.availability.refusal = null
  })
  t.match(dashboardPage(serving), '<p class="notice" id="readiness" hidden>ok</p>')
  const degraded = newStatus((vitals) => {
    vitals.availability.refusal = null
    vitals.warnings = () => ['disk: <slow>']
  })
  t.match(dashboardPage(degraded), 'id="readiness">degraded: disk: &lt;slow&gt;</p>')
  t.match(degraded.ready, { state: 'degraded', warnings: ['disk: <slow>'] })
})

t.test('panels: limits nearly reached, refusals, failures: what is bad', async (t) => {
  const status = newStatus((vitals) => {
    vitals.load.connections = () => 90
    Object.assign(vitals.load.limits, { connectionsMax: 100 })
    vitals.load.refused.slow_bodies = 2
    vitals.checkpoints = { ...vitals.checkpoints, failed: 1 }
    vitals.meter.none.answers[5] = 3
  })
  t.same(factsOf(status, 'requests')['Open connections'], ['90 of 100'])
  t.same(factsOf(status, 'requests')['Failed (5xx) a second'], ['3'])
  t.same(factsOf(status, 'refusals'), { 'slow bodies': ['2'] })
  t.same(factsOf(status, 'checkpoints')['Failed since the start'], ['1'])
  t.same(routeRows(status)[0]!.length, routeHeads.length)
  t.same(routeRows(status), [['unknown path', '3', '–', '–', '3', '0', '3']])
})

t.test('panels: a follower, a leader: how far one is behind the other', async (t) => {
  const factsWith = (replication: typeof follower) => {
    const status = newStatus((vitals) => {
      vitals.replication = replication
    })
    return factsOf(status, 'replication')
  }
  t.same(factsWith(follower), {
    Role: 'follower',
    Term: '3',
    'Records behind the stream': '12',
    'Missing for': '500 ms',
    'Requests passed on to the leader': '40',
    'Took over since the start': '1',
    'Replaced by another since the start': '2',
  })
  const leader = { ...follower, role: 'leader', lagSeconds: () => Number.NaN } as const
  t.match(factsWith(leader), {
    Role: 'leader',
    'Records that the stream lacks': '12',
    'Missing for': units.unknown,
  })
})

t.test('panels: readers: how many serve, and the slowest', async (t) => {
  const readers = someReaders()
  const status = newStatus((vitals) => {
    vitals.readers = readers
    vitals.journal = { durable: 9, position: 9, health: 'ok', warnings: [] as string[] } as Journal
    Object.assign(vitals.journal, {
      stats: () => ({ syncs: new Histogram([]), segment: 1, bytes: 1 }),
    })
    readers.forwarded = 30
    readers.cpuSeconds = 1.5
  })
  t.same(factsOf(status, 'readers'), {
    Serve: ['2 of 3'],
    'Records that the slowest reader is behind': '5',
    'Requests a second passed on': '30',
    'Memory, together': '2 MiB',
    'Processor, together': '150 %',
    'Started again': '1',
  })
  t.match(status.readers, { forwarded: 30, cpu_seconds: 1.5, behind_records: 5 })
  t.match(status.ready, { warnings: ['readers: 2 of 3 serve'] })
})
