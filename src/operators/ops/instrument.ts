// An instrument: a number that the node measures, declared once. The lists of instruments/ hold all
// of them, and everything that operators see is generated from these lists:
//
//   /metrics         its family: name, kind, help                 (prometheus.ts)
//   /status.json     its field, with its limit                    (status.ts)
//   the samples      its columns: value, rate, change, quantile   (samples.ts)
//   the dashboard    its facts, and the lines of its columns      (panels.ts)
//   docs/metrics.md  all of this                                  (npm run fix)
//
// I1. An instrument is read for each answer of this port that shows it and, if it has columns, once
//     a second. The code that it measures is unaware of it.
// I2. A reading of null or undefined means that this node lacks the thing that is measured: the
//     family is left out, and the section of the status is null. NaN is an unknown number.
// I3. A label is a name of the program, never an id, name or text of a caller.

import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Histogram } from '../../base/histogram.ts'
import { latency } from '../../people/browser/dashboard/units.ts'
import type { Vitals } from './vitals.ts'

/** A part of the dashboard: the numbers at its top, or a panel (panels.ts). */
export type Place =
  | 'headline'
  | 'requests'
  | 'times'
  | 'log'
  | 'syncs'
  | 'waiting'
  | 'memory'
  | 'loop'
  | 'refusals'
  | 'checkpoints'
  | 'search'
  | 'readers'
  | 'replication'

export interface Sample {
  value: number
  labels?: Labels
}

type Labels = Record<string, string>

/** The current counts of a histogram, with its labels. */
export interface Distribution extends Pick<Histogram, 'bounds' | 'sum'> {
  counts: ArrayLike<number>
  labels?: Labels
}

/** `delays` are those of the consumer's window of time: the last second, or the last minutes. */
type Read<T> = (vitals: Vitals, delays: Delays) => T

export type Reading = number | string | readonly Sample[] | null | undefined

interface Numeric {
  /** A figure has no family in /metrics; its help is for docs/metrics.md. */
  kind: 'gauge' | 'counter' | 'figure'
  read: Read<Reading>
}

interface Distributed {
  kind: 'histogram'
  read: Read<readonly Distribution[] | null | undefined>
}

/** Where an instrument is shown, besides /metrics. */
interface Shown {
  /** The maximum of the value; `of` is its label in the family agent_forum_limit. */
  limit?: { of?: string; read(vitals: Vitals): number }
  /** SECTION.FIELD in /status.json, or a SECTION that has a field for each label. */
  status?: string
  columns?: readonly ColumnOf[]
  facts?: readonly FactOf[]
}

/**
 * A column of the samples. If the readings have labels, NAME is the column of all of them together,
 * and NAME:LABEL that of one value of the first label. A counter that does not exist yet is 0.
 */
export interface ColumnOf {
  /**
   * A name that ends with p50, p99 or max is that of a time. Where its column is left out, a time
   * is unknown, and any other value is 0.
   */
  name: string
  /** The value (the default), its growth per second or since the last sample, or a quantile. */
  as?: 'value' | 'rate' | 'change' | 'p50' | 'p99'
  line?: LineOf
}

/** A fact of a panel. An instrument with labels has one for each label whose value is above 0. */
export interface FactOf {
  on: Place
  /** The column whose newest sample is shown instead of the current value. */
  column?: string
  name: string | ((vitals: Vitals) => string)
  /** Formats the value for people; null is a value that is unknown, or is not a number. */
  show(value: number | null, vitals: Vitals): string
  /** Whether the value needs attention; by default, whether it is at nine tenths of its limit. */
  isBad?(value: number | null, vitals: Vitals): boolean
}

/** A line of a chart. */
interface LineOf {
  on: Place
  /** The label of the line of all labels together; without it there is no such line. */
  label?: string
  /** The number of labels with a line of their own: those with the greatest values have one. */
  most?: number
  /** The label of the line that shows the limit. */
  limit?: string
}

export type Instrument = (Numeric | Distributed) & Shown & { name: string; help: string }

/** Returns the reading of an instrument, which is taken on first use; null for a distribution. */
export type Readings = (instrument: Instrument) => Reading

/** Returns the readings for one answer, in which no instrument is read twice. */
export function readingsOf(vitals: Vitals, delays: Delays): Readings {
  const known = new Map<Instrument, Reading>()
  return (instrument) => {
    if (instrument.kind === 'histogram') return null
    if (!known.has(instrument)) known.set(instrument, instrument.read(vitals, delays))
    return known.get(instrument)
  }
}

/** A number that goes up and down. */
export const gauge = numeric('gauge')
/** A number that only grows while the process lives. Its name ends with `_total`. */
export const counter = numeric('counter')

function numeric(kind: 'gauge' | 'counter') {
  return (name: string, help: string, read: Numeric['read'], shown: Shown = {}): Instrument => {
    return { kind, name: fullName(name), help, read, ...shown }
  }
}

export function histogram(
  name: string,
  help: string,
  read: Distributed['read'],
  shown: Shown = {},
): Instrument {
  return { kind: 'histogram', name: fullName(name), help, read, ...shown }
}

/**
 * Returns the name with our prefix, except for metrics that all programs or all programs for
 * Node.js have: these have common names.
 */
function fullName(name: string): string {
  return /^(?:process|nodejs)_/.test(name) ? name : `agent_forum_${name}`
}

/** Declares a number that is shown but is not a metric, because it follows from metrics. */
export function figure(help: string, read: Numeric['read'], shown: Shown): Instrument {
  return { kind: 'figure', name: '', help, read, ...shown }
}

/** Turns an object of numbers into samples with one label, whose values are the object's keys. */
export function by(
  label: string,
  read: (vitals: Vitals) => Readonly<Record<string, number>> | null | undefined,
): Read<Reading> {
  return (vitals) => {
    const readings = read(vitals)
    return (
      readings &&
      Object.entries(readings).map(([name, value]) => ({ labels: { [label]: name }, value }))
    )
  }
}

/** Returns the samples of a reading; a text has none. */
export function samplesOf(reading: Reading): readonly Sample[] {
  if (typeof reading === 'number') return [{ value: reading }]
  return typeof reading === 'object' && reading !== null ? reading : []
}

/** Returns the first label, which names the reading's column, or '' if there is none. */
export function firstLabel({ labels }: Sample | Distribution): string {
  for (const name in labels) return labels[name]
  return ''
}

export function fact(
  on: Place,
  name: FactOf['name'],
  show: FactOf['show'],
  isBad?: FactOf['isBad'],
): FactOf {
  return { on, name, show, ...(isBad && { isBad }) }
}

/** Declares a fact that shows the newest sample of a column. */
export function latest(column: string, ...rest: Parameters<typeof fact>): FactOf {
  return { column, ...fact(...rest) }
}

/**
 * Declares the columns `${prefix}p50` and `${prefix}p99` of a distribution of times, on a panel.
 */
export function quantiles(prefix: string, on: Place, more: FactOf[] = []): Shown {
  const [p50, p99] = [`${prefix}p50`, `${prefix}p99`]
  return {
    columns: [
      { name: p50, as: 'p50', line: { on, label: 'p50' } },
      { name: p99, as: 'p99', line: { on, label: 'p99' } },
    ],
    facts: [
      latest(p50, on, 'Half are faster than', latency),
      latest(p99, on, '99 of 100 are faster than', latency),
      ...more,
    ],
  }
}

/** Returns the number, or null if it is unknown or is that of a limit that is not set. */
export function finite(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null
}

/** Delays of the event loop's timers during a window of time. */
export interface Delays {
  /** Returns a quantile in seconds; 1 is the longest delay. */
  quantile(q: number): number
}

const resolutionMs = 10
/** The seconds after which the windows of `LoopDelay.recent` change. */
const windowSeconds = 60

/**
 * Measures the delay of the event loop's timers. Everything runs in one event loop, so anything
 * that blocks it delays every answer.
 */
export class LoopDelay implements Delays {
  /** The delays of the last one to two minutes, however many readers there are. */
  readonly recent: Delays = { quantile: (q) => secondsOf(this.#older, q) }
  readonly #second = measure()
  #older = measure()
  #newer = measure()
  #seconds = 0

  /** Returns a quantile of the delays since the last second ended. */
  quantile(q: number): number {
    return secondsOf(this.#second, q)
  }

  /** Called once a second: begins another second. */
  endSecond(): void {
    this.#second.reset()
    this.#seconds += 1
    if (this.#seconds % windowSeconds !== 0) return
    this.#older.reset()
    const emptied = this.#older
    this.#older = this.#newer
    this.#newer = emptied
  }

  stop(): void {
    for (const each of [this.#second, this.#older, this.#newer]) each.disable()
  }
}

function measure(): IntervalHistogram {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs })
  delays.enable()
  return delays
}

function secondsOf(delays: IntervalHistogram, q: number): number {
  const nanoseconds = q === 1 ? delays.max : delays.percentile(q * 100)
  return Math.max(0, nanoseconds / 1e6 - resolutionMs) / 1e3
}
