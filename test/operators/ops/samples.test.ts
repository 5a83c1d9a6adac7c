import t, { type Test } from 'tap'
import { Histogram } from '../../../src/base/histogram.ts'
import { LoopDelay } from '../../../src/operators/ops/instrument.ts'
import { Samples } from '../../../src/operators/ops/samples.ts'
import type { Vitals } from '../../../src/operators/ops/vitals.ts'
import { type Series, samplesMax } from '../../../src/people/browser/dashboard/status.ts'
import type { Journal } from '../../../wal/journal/journal.ts'
import { follower, vitalsOf } from './vitals.ts'

function samplesOf(t: Test, vitals: Vitals): Samples {
  const delay = new LoopDelay()
  t.teardown(() => delay.stop())
  return new Samples(vitals, delay, 0)
}

/** Returns the columns that requests affect. */
function requestColumns({ columns }: Series): Series['columns'] {
  const names = Object.keys(columns).filter((name) => /^(?:requests|failed|p\d)/.test(name))
  return Object.fromEntries(names.map((name) => [name, columns[name]!]))
}

t.test('samples: requests of two routes: rates by measured time, and times', async (t) => {
  const vitals = vitalsOf(null, null)
  const [read, write] = [vitals.meter.add('read'), vitals.meter.add('write')]
  vitals.meter.add('neverUsed')
  const samples = samplesOf(t, vitals)
  read.answers[2] = 10
  samples.take(1000)
  read.answers[2] = 30
  write.answers[2] = 4
  write.answers[5] = 2
  write.times.counts[1] = 5 // between 0.05 and 0.1 ms
  samples.take(3000) // a second late
  samples.take(4000)
  const series = samples.since(0)
  t.strictSame([series.first, series.last, series.at], [1, 3, [1, 3, 4]])
  t.strictSame(requestColumns(series), {
    requests: [10, 13, 0],
    failed: [0, 1, 0],
    p50: [null, 0.000075, 0.000075],
    p99: [null, 0.0000995, 0.0000995],
    'requests:read': [10, 10, 0],
    'requests:write': [0, 3, 0],
    'p50:write': [null, 0.000075, 0.000075],
    'p99:write': [null, 0.0000995, 0.0000995],
  })
  t.match(samples.latest(), { p50: 0.000075, 'p99:write': 0.0000995 })
  t.notOk('requests' in samples.latest(), 'nothing was answered in the last second')
})

t.test('samples: more than are kept: the newest ten minutes', async (t) => {
  const vitals = vitalsOf(null, null)
  const samples = samplesOf(t, vitals)
  const taken = samplesMax + 50
  for (let i = 1; i <= taken; i++) {
    vitals.waiting = { ...vitals.waiting, length: i }
    samples.take(i * 1000)
  }
  const { first, last, at, columns } = samples.since(0)
  t.strictSame([first, last, at.length], [51, taken, samplesMax])
  t.strictSame([at[0], at.at(-1)], [51, taken])
  const expected = at.map((i) => Number(i.toPrecision(3)))
  t.strictSame(columns.waiting, expected)
  t.strictSame(samples.since(10).columns.waiting, expected, 'what is gone is not waited for')
})

t.test('samples: requested after one: what followed it', async (t) => {
  const vitals = vitalsOf(null, null)
  const samples = samplesOf(t, vitals)
  t.match(samples.since(0), { first: 1, last: 0, at: [] })
  for (let i = 1; i <= 5; i++) {
    vitals.waiting = { ...vitals.waiting, length: i % 4 }
    samples.take(i * 1000)
  }
  t.match(samples.since(3), { first: 4, last: 5, at: [4, 5], columns: { waiting: [0, 1] } })
  const none = samples.since(5)
  t.strictSame(none, { first: 6, last: 5, at: [], columns: {} })
  t.match(samples.since(6), { first: 1, last: 5 }, 'a number of another process: all there are')
})

t.test('samples: the log is replayed: its positions are no peak', async (t) => {
  const vitals = vitalsOf('starting', null)
  const samples = samplesOf(t, vitals)
  samples.take(1000)
  const syncs = new Histogram([])
  const journal = { durable: 1_000_000, position: 1_000_000, stats: () => ({ syncs }) }
  vitals.journal = journal as unknown as Journal
  samples.take(2000)
  journal.durable += 500
  journal.position += 900
  samples.take(3000)
  const { records, behind } = samples.since(0).columns
  t.strictSame(records, [0, 0, 500])
  t.strictSame(behind, [0, 1_000_000, 1_000_000])
})

t.test('samples: the process that counts was started again: no negative rate', async (t) => {
  const vitals = vitalsOf(null, null)
  const samples = samplesOf(t, vitals)
  for (const [second, taken] of [0, 4, 1, 3].entries()) {
    vitals.checkpoints = { ...vitals.checkpoints, taken }
    samples.take((second + 1) * 1000)
  }
  t.strictSame(samples.since(0).columns.checkpoints, [0, 4, 0, 2])
})

t.test('samples: refusals, checkpoints, replication: a column for each', async (t) => {
  const vitals = vitalsOf(null, null)
  vitals.checkpoints = { ...vitals.checkpoints, taken: 0 }
  const samples = samplesOf(t, vitals)
  samples.take(1000)
  vitals.load.refused.memory += 3
  vitals.checkpoints.taken += 1
  vitals.replication = follower
  samples.take(2000)
  const { columns } = samples.since(0)
  t.strictSame(columns['refusals:memory'], [0, 3])
  t.notOk('refusals:writes' in columns)
  t.strictSame(columns.checkpoints, [0, 1])
  t.strictSame(columns.lag, [0, 12])
})
