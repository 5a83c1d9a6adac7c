// The activity of the node in each of the last 600 seconds, for the dashboard: a ring of samples in
// columns, which the instruments declare (instrument.ts).
//
// R1. Memory is bounded: a column is 600 numbers, 4.8 KB, allocated with its first value. The
//     number of columns is fixed, at most three for each route; together they take less than 1 MB.
// R2. A sample reads counters that exist anyway. The code that serves requests is unaware of it.
// R3. Rates are per second of measured time, so a late sample does not look like a peak.

import { emptyOf, type Series, samplesMax } from '../../people/browser/dashboard/status.ts'
import {
  type ColumnOf,
  type Distribution,
  firstLabel,
  type Instrument,
  type LoopDelay,
  type Reading,
  samplesOf,
} from './instrument.ts'
import { instruments } from './instruments/list.ts'
import type { Vitals } from './vitals.ts'

const digits = 3

class Column {
  readonly name: string
  readonly #read: (seconds: number) => number
  /** The value that is implied where the column is left out. */
  readonly #empty: number
  #values: Float64Array | null = null
  /** The newest value. */
  latest = Number.NaN

  /** `read` receives the seconds since its last call. */
  constructor(name: string, read: (seconds: number) => number) {
    this.name = name
    this.#read = read
    this.#empty = emptyOf(name) ?? Number.NaN
  }

  /** Returns whether the value is the one that is implied where the column is left out. */
  isEmpty(value: number): boolean {
    return Number.isNaN(value) || value === this.#empty
  }

  take(index: number, seconds: number): void {
    const value = this.#read(seconds)
    this.latest = Number.isFinite(value) ? Number(value.toPrecision(digits)) : Number.NaN
    if (this.#values === null && this.isEmpty(this.latest)) return
    this.#values ??= new Float64Array(samplesMax).fill(this.#empty)
    this.#values[index] = this.latest
  }

  /** Returns the values at these indexes of the ring, or null if all of them are empty. */
  list(indexes: readonly number[]): (number | null)[] | null {
    const values = this.#values
    if (values === null || indexes.every((index) => this.isEmpty(values[index]))) return null
    return indexes.map((index) => (Number.isNaN(values[index]) ? null : values[index]))
  }
}

export class Samples {
  readonly #columns: readonly Column[]
  /** One function for each instrument, called before its columns take their values. */
  readonly #readings: readonly (() => void)[]
  readonly loopDelay: LoopDelay
  readonly #at = new Float64Array(samplesMax)
  /** The number of the newest sample; the first one is 1. */
  #last = 0
  #takenMs: number

  /** `nowMs` is a time of performance.now(). */
  constructor(vitals: Vitals, loopDelay: LoopDelay, nowMs: number) {
    this.#takenMs = nowMs
    this.loopDelay = loopDelay
    const shown = instruments.filter(({ columns }) => columns !== undefined)
    const made = shown.map((instrument) => columnsOf(instrument, vitals, loopDelay))
    this.#readings = made.map(({ read }) => read)
    this.#columns = made.flatMap(({ columns }) => columns)
  }

  take(nowMs: number): void {
    const seconds = (nowMs - this.#takenMs) / 1000
    if (seconds <= 0) return
    this.#takenMs = nowMs
    this.#last += 1
    const index = this.#last % samplesMax
    this.#at[index] = Math.round(nowMs / 10) / 100
    for (const read of this.#readings) read()
    for (const column of this.#columns) column.take(index, seconds)
    this.loopDelay.endSecond()
  }

  /** The number of the newest sample, or 0 if there is none yet. */
  get last(): number {
    return this.#last
  }

  /** Returns the newest value of each column that has one. */
  latest(): Record<string, number> {
    const known = this.#columns.filter((column) => !column.isEmpty(column.latest))
    return Object.fromEntries(known.map(({ name, latest }) => [name, latest]))
  }

  /** Returns the samples after number `after`, or all that are kept if there is no such sample. */
  since(after: number): Series {
    const oldest = Math.max(1, this.#last - samplesMax + 1)
    const first = after > this.#last ? oldest : Math.max(oldest, after + 1)
    const length = this.#last - first + 1
    const indexes = Array.from({ length }, (_, i) => (first + i) % samplesMax)
    const columns: Series['columns'] = {}
    for (const column of this.#columns) {
      const values = column.list(indexes)
      if (values !== null) columns[column.name] = values
    }
    return { first, last: this.#last, at: indexes.map((index) => this.#at[index]), columns }
  }
}

/** The columns of an instrument, and the function that reads it once for all of them. */
interface Columns {
  read(): void
  columns: Column[]
}

/** Makes a column for each label that exists at the start: a route, or a reason for refusals. */
function columnsOf(instrument: Instrument, vitals: Vitals, loopDelay: LoopDelay): Columns {
  const { columns = [] } = instrument
  if (instrument.kind === 'histogram') {
    return quantileColumns(columns, () => instrument.read(vitals, loopDelay) ?? [])
  }
  let now = totals(instrument.read(vitals, loopDelay))
  const absent = instrument.kind === 'counter' ? 0 : Number.NaN
  const labels = new Set(['', ...now.keys()])
  return {
    read() {
      now = totals(instrument.read(vitals, loopDelay))
    },
    columns: columns.flatMap(({ name, as }) =>
      [...labels].map((label) => {
        return new Column(
          nameOf(name, label),
          asOf(as, () => now.get(label) ?? absent),
        )
      }),
    ),
  }
}

/** Makes the columns of a distribution: quantiles of the last ten seconds (Q1). */
function quantileColumns(
  columns: readonly ColumnOf[],
  read: () => readonly Distribution[],
): Columns {
  const windows = new Map<string, QuantileWindow>()
  const step = (label: string, { bounds, counts }: Distribution) => {
    if (!windows.has(label)) windows.set(label, new QuantileWindow(bounds))
    windows.get(label)!.step(counts)
  }
  const labels = new Set(['', ...read().map(firstLabel)])
  return {
    read() {
      const all = read()
      for (const each of all) if (firstLabel(each) !== '') step(firstLabel(each), each)
      if (all.length > 0) step('', addedUp(all))
    },
    columns: columns.flatMap(({ name, as }) =>
      [...labels].map((label) => {
        const quantile = as === 'p50' ? 0.5 : 0.99
        return new Column(nameOf(name, label), () => {
          return windows.get(label)?.quantile(quantile) ?? Number.NaN
        })
      }),
    ),
  }
}

function addedUp(all: readonly Distribution[]): Distribution {
  const counts = new Float64Array(all[0].counts.length)
  for (const each of all) for (let i = 0; i < counts.length; i++) counts[i] += each.counts[i]
  return { ...all[0], counts }
}

function nameOf(name: string, label: string): string {
  return label === '' ? name : `${name}:${label}`
}

/**
 * Returns the sums of the readings by their first label, and the sum of all under the empty one.
 */
function totals(reading: Reading): Map<string, number> {
  const sums = new Map<string, number>()
  const add = (label: string, value: number) => sums.set(label, (sums.get(label) ?? 0) + value)
  for (const each of samplesOf(reading)) {
    add('', each.value)
    if (firstLabel(each) !== '') add(firstLabel(each), each.value)
  }
  return sums
}

function asOf(as: ColumnOf['as'], read: () => number): (seconds: number) => number {
  const change = changeOf(read)
  if (as === 'change') return change
  return as === 'rate' ? (seconds) => change() / seconds : read
}

/**
 * Returns a function that returns the growth of a number since its last call: 0 if it has fallen,
 * as when the process that counts was started again.
 */
function changeOf(read: () => number): () => number {
  let before = read()
  return () => {
    const now = read()
    const growth = Math.max(0, now - before)
    before = now
    return growth
  }
}

// Quantiles of the recent growth of a histogram.
//
// Q1. They cover the last `stepsMax` steps: with one step a second, about ten seconds.
// Q2. Values are assumed to be spread evenly within a bucket, as Prometheus does; those above the
//     last bound are assumed to equal it.

/** The number of steps; more make the quantiles smoother, and slower to show a change. */
const stepsMax = 10

export class QuantileWindow {
  readonly #bounds: readonly number[]
  /** The counts of the last steps; the next step replaces the oldest. */
  readonly #past: Float64Array[]
  readonly #recent: Float64Array
  #next = 0

  /** `bounds` are the upper bounds of the buckets, which begin at 0. The counts have one more. */
  constructor(bounds: readonly number[]) {
    const empty = () => new Float64Array(bounds.length + 1)
    this.#bounds = bounds
    this.#past = Array.from({ length: stepsMax }, empty)
    this.#recent = empty()
  }

  /** Takes the current counts of the buckets, which are totals since the beginning. */
  step(counts: ArrayLike<number>): void {
    const oldest = this.#past[this.#next]
    for (let i = 0; i < oldest.length; i++) this.#recent[i] = counts[i] - oldest[i]
    oldest.set(counts)
    this.#next = (this.#next + 1) % stepsMax
  }

  /** Returns the value below which the share `q` of the values lies, or NaN if there were none. */
  quantile(q: number): number {
    return quantileOf(this.#bounds, this.#recent, q)
  }
}

/** Returns a quantile of a histogram (Q2), or NaN if it has no values. */
export function quantileOf(
  bounds: readonly number[],
  counts: ArrayLike<number>,
  q: number,
): number {
  let total = 0
  for (let i = 0; i < counts.length; i++) total += counts[i]
  if (total === 0) return Number.NaN
  let left = q * total
  for (let i = 0; i < bounds.length; i++) {
    if (left <= counts[i] && counts[i] > 0) {
      const begin = i === 0 ? 0 : bounds[i - 1]
      return begin + ((bounds[i] - begin) * left) / counts[i]
    }
    left -= counts[i]
  }
  return bounds[bounds.length - 1]
}
