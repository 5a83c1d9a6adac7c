// An instrument: a number that the node measures, declared once. The lists of instruments/ hold all
// of them, and everything that operators see is generated from these lists:
//
//   /metrics         its family: name, kind, help                 (status.ts)
//   /status.json     its field, with its limit                    (status.ts)
//   the samples      its columns: value, rate, change, quantile   (samples.ts)
//   docs/metrics.md  all of this                                  (npm run fix)
//
// The dashboard shows what /status.json has (panels.ts).
//
// I1. An instrument is read for each answer of this port that shows it and, if it has columns, once
//     a second. The code that it measures is unaware of it.
// I2. A reading of null or undefined means that this node lacks the thing that is measured: the
//     family is left out, and the section of the status is null. NaN is an unknown number.
// I3. A label is a name of the program, never an id, name or text of a caller.

import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Histogram } from '../../base/histogram.ts'
import type { Vitals } from './vitals.ts'

export interface Sample {
  value: number
  labels?: Labels
}

type Labels = Record<string, string>

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
}

export type Instrument = (Numeric | Distributed) & Shown & { name: string; help: string }

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

/** Returns the columns of a distribution of times. */
export function quantiles(prefix: string): ColumnOf[] {
  return [
    { name: `${prefix}p50`, as: 'p50' },
    { name: `${prefix}p99`, as: 'p99' },
  ]
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
