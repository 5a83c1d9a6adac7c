// The parts of the dashboard's script that need no browser: units, and its history.

import t from 'tap'
import { History } from '../../../src/people/browser/dashboard/history.ts'
import { type Series, samplesMax } from '../../../src/people/browser/dashboard/status.ts'
import * as units from '../../../src/people/browser/dashboard/units.ts'

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
