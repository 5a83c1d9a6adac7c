// What the node did in each of the last 600 seconds, for the dashboard: a ring of samples in
// columns (browser/dashboard/status.ts says which).
//
// R1. Memory is bounded: a column is 600 numbers, 4.8 KB, and is made when it has its first value.
//     There is a fixed number of them, four for a route at most, under 1 MB in all.
// R2. A sample reads counters that exist anyway. Requests do not know of it.
// R3. Rates are per second of measured time: a sample that is late is not a peak.

import { getHeapStatistics } from 'node:v8'
import { syncBoundsSeconds } from '../../wal/journal/sync-queue.ts'
import { emptyOf, type Series, samplesMax } from '../browser/dashboard/status.ts'
import { latencyBoundsSeconds, type RouteMeter } from '../http/meter.ts'
import { residentMemory } from '../http/open-files.ts'
import type { LoopDelay } from './loop-delay.ts'
import { QuantileWindow } from './quantiles.ts'
import { readersBehind, recordsBehind, refusalsOf, type Vitals } from './vitals.ts'

/** Reads a value; `seconds` have passed since it was read last. */
type Read = (seconds: number) => number

const digits = 3

class Column {
  readonly name: string
  readonly #read: Read
  #values: Float64Array | null = null
  /** The newest value. */
  latest = Number.NaN

  constructor(name: string, read: Read) {
    this.name = name
    this.#read = read
  }

  /** Whether the value says no more than that the column is left out. */
  isEmpty(value: number): boolean {
    return Number.isNaN(value) || value === emptyOf(this.name)
  }

  take(slot: number, seconds: number): void {
    const value = this.#read(seconds)
    this.latest = Number.isFinite(value) ? Number(value.toPrecision(digits)) : Number.NaN
    if (this.#values === null && this.isEmpty(this.latest)) return
    this.#values ??= new Float64Array(samplesMax).fill(emptyOf(this.name) ?? Number.NaN)
    this.#values[slot] = this.latest
  }

  /** The values in these slots, or null if they are all empty. */
  list(slots: readonly number[]): (number | null)[] | null {
    const values = this.#values
    if (values === null || slots.every((slot) => this.isEmpty(values[slot]))) return null
    return slots.map((slot) => (Number.isNaN(values[slot]) ? null : values[slot]))
  }
}

export class Samples {
  readonly #columns: readonly Column[]
  readonly #loopDelay: LoopDelay
  readonly #at = new Float64Array(samplesMax)
  /** The number of the newest sample; the first one is 1. */
  #last = 0
  #takenMs: number

  /** `nowMs` as performance.now(). */
  constructor(vitals: Vitals, loopDelay: LoopDelay, nowMs: number) {
    this.#takenMs = nowMs
    this.#loopDelay = loopDelay
    this.#columns = columnsOf(vitals, loopDelay)
  }

  /** Takes a sample. */
  take(nowMs: number): void {
    const seconds = (nowMs - this.#takenMs) / 1000
    if (seconds <= 0) return
    this.#takenMs = nowMs
    this.#last += 1
    const slot = this.#last % samplesMax
    this.#at[slot] = Math.round(nowMs / 10) / 100
    for (const column of this.#columns) column.take(slot, seconds)
    this.#loopDelay.restart()
  }

  /** The number of the newest sample; 0: there is none yet. */
  get last(): number {
    return this.#last
  }

  /** The newest value of each column that has one. */
  latest(): Record<string, number> {
    const known = this.#columns.filter((column) => !column.isEmpty(column.latest))
    return Object.fromEntries(known.map(({ name, latest }) => [name, latest]))
  }

  /** The samples after number `after`, or all that are kept if there is no such sample. */
  since(after: number): Series {
    const oldest = Math.max(1, this.#last - samplesMax + 1)
    const first = after > this.#last ? oldest : Math.max(oldest, after + 1)
    const length = this.#last - first + 1
    const slots = Array.from({ length }, (_, i) => (first + i) % samplesMax)
    const columns: Series['columns'] = {}
    for (const column of this.#columns) {
      const values = column.list(slots)
      if (values !== null) columns[column.name] = values
    }
    return { first, last: this.#last, at: slots.map((slot) => this.#at[slot]), columns }
  }
}

function columnsOf(vitals: Vitals, loopDelay: LoopDelay): Column[] {
  const { meter, load } = vitals
  return [
    ...routeColumns(meter.routes),
    ...syncColumns(vitals),
    new Column(
      'records',
      rateOf(() => vitals.journal?.durable ?? Number.NaN),
    ),
    new Column('waiting', () => vitals.waiting.length),
    new Column('gate', () => vitals.gateLength()),
    new Column('connections', () => load.connections()),
    new Column('resident', residentMemory),
    new Column('heap', () => getHeapStatistics().used_heap_size),
    new Column('text', () => vitals.state.text.bytesInMemory + vitals.state.text.blocks.bytes),
    ...Object.keys(refusalsOf(vitals)).map((why) => {
      return new Column(
        `refusals:${why}`,
        rateOf(() => refusalsOf(vitals)[why]),
      )
    }),
    new Column(
      'checkpoints',
      changeOf(() => vitals.checkpoints.taken),
    ),
    new Column('behind', () => recordsBehind(vitals)),
    new Column('loop_p50', () => loopDelay.quantile(0.5)),
    new Column('loop_max', () => loopDelay.quantile(1)),
    new Column('cpu', rateOf(cpuSeconds)),
    ...readerColumns(vitals),
    new Column('lag', () => vitals.replication?.lagPositions() ?? Number.NaN),
  ]
}

function readerColumns(vitals: Vitals): Column[] {
  return [
    new Column('readers_behind', () => readersBehind(vitals)),
    new Column(
      'readers_forwarded',
      rateOf(() => vitals.readers?.forwarded ?? 0),
    ),
    new Column(
      'readers_cpu',
      rateOf(() => vitals.readers?.cpuSeconds ?? 0),
    ),
  ]
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** For each route and for all together: answers a second, and how long they took. */
function routeColumns(routes: readonly RouteMeter[]): Column[] {
  const answersOf = ({ answers }: RouteMeter) => answers.reduce((sum, count) => sum + count, 0)
  const all = new Float64Array(latencyBoundsSeconds.length + 1)
  const addUp = () => {
    all.fill(0)
    for (const { buckets } of routes) for (let i = 0; i < all.length; i++) all[i] += buckets[i]
    return all
  }
  const sumOf = (count: (route: RouteMeter) => number) => {
    return rateOf(() => routes.reduce((sum, route) => sum + count(route), 0))
  }
  return [
    new Column('requests', sumOf(answersOf)),
    new Column(
      'failed',
      sumOf(({ answers }) => answers[5]),
    ),
    ...quantileColumns('', '', latencyBoundsSeconds, addUp),
    ...routes.flatMap((route) => [
      new Column(
        `requests:${route.name}`,
        rateOf(() => answersOf(route)),
      ),
      ...quantileColumns('', `:${route.name}`, latencyBoundsSeconds, () => route.buckets),
    ]),
  ]
}

function syncColumns(vitals: Vitals): Column[] {
  const none = new Float64Array(syncBoundsSeconds.length + 1)
  const counts = () => vitals.journal?.stats().syncs.buckets.map(({ count }) => count) ?? none
  return quantileColumns('sync_', '', syncBoundsSeconds, counts)
}

/** Columns `p50` and `p99`; `counts` reads the histogram: counts by bucket since the start. */
function quantileColumns(
  before: string,
  after: string,
  bounds: readonly number[],
  counts: () => ArrayLike<number>,
): Column[] {
  const window = new QuantileWindow(bounds)
  return [
    new Column(`${before}p50${after}`, () => {
      window.step(counts())
      return window.quantile(0.5)
    }),
    new Column(`${before}p99${after}`, () => window.quantile(0.99)),
  ]
}

/** How fast a number grows, per second. */
function rateOf(read: () => number): Read {
  const change = changeOf(read)
  return (seconds) => change() / seconds
}

/** By how much a number has grown since it was read last. */
function changeOf(read: () => number): () => number {
  let before = read()
  return () => {
    const now = read()
    const change = now - before
    before = now
    return change
  }
}
