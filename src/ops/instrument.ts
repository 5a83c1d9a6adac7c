// An instrument: a number that the node measures, declared once. The lists of instruments/ hold
// all of them, and everything that operators see is made from these lists:
//
//   /metrics         its family: name, kind, help                 (prometheus.ts)
//   /status.json     its field, with its limit                    (status.ts)
//   the samples      its columns: value, rate, change, quantile   (samples.ts)
//   the dashboard    its facts, and the lines of its columns      (panels.ts)
//   docs/metrics.md  all of this                                  (npm run fix)
//
// I1. It is read for each answer of this port, and once a second where it has columns. The code
//     that is measured does not know of it.
// I2. Reading null or undefined means that this node does not have the thing that is measured: the
//     family is left out, and the section of the status is null. NaN is an unknown number.
// I3. A label is a name of the program, never an id, a name or a text of a caller.

import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Histogram } from '../base/histogram.ts'
import { latency } from '../browser/dashboard/units.ts'
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

/** A histogram as it is read, with its labels. */
export interface Distribution extends Pick<Histogram, 'bounds' | 'sum'> {
  counts: ArrayLike<number>
  labels?: Labels
}

/** `loopDelay` is the reader's own: it measures since that reader looked last. */
type Read<T> = (vitals: Vitals, loopDelay: LoopDelay) => T

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

/** Where an instrument is shown besides /metrics. */
interface Shown {
  /** Its maximum; `of` is its label in the family agent_forum_limit. */
  limit?: { of?: string; read(vitals: Vitals): number }
  /** SECTION.FIELD in /status.json; of an instrument with labels, the section of all of them. */
  status?: string
  columns?: readonly ColumnOf[]
  facts?: readonly FactOf[]
}

/**
 * A column of the samples. Where the readings have labels, it is that of all of them together, and
 * NAME:LABEL is one for each value of the first label. A counter that does not exist yet is 0.
 */
export interface ColumnOf {
  /** With p50, p99 or max at its end it is of times, unknown where it is left out; else 0 then. */
  name: string
  /** The value (the default), its growth a second or since the last sample, or a quantile. */
  as?: 'value' | 'rate' | 'change' | 'p50' | 'p99'
  line?: LineOf
}

/** A fact of a panel. Of an instrument with labels: one for each label that has counted. */
export interface FactOf {
  on: Place
  /** The newest sample of this column is shown, instead of the current value. */
  column?: string
  name: string | ((vitals: Vitals) => string)
  /** The value as people read it; it is null where it is unknown, or no number. */
  show(value: number | null, vitals: Vitals): string
  /** Whether people should look at it; where there is a limit, from nine tenths of it on. */
  isBad?(value: number | null, vitals: Vitals): boolean
}

/** A line of a chart. */
interface LineOf {
  on: Place
  /** Without one there is no line of all labels together. */
  label?: string
  /** The number of labels that have a line of their own, those with the greatest values. */
  most?: number
  /** The label of the line of the limit. */
  limit?: string
}

export type Instrument = (Numeric | Distributed) & Shown & { name: string; help: string }

/** Reads an instrument when it is first looked at; of distributions it reads nothing. */
export type Readings = (instrument: Instrument) => Reading

/** The readings of one look, in which no instrument is read twice. */
export function readingsOf(vitals: Vitals, loopDelay: LoopDelay): Readings {
  const known = new Map<Instrument, Reading>()
  return (instrument) => {
    if (instrument.kind === 'histogram') return null
    if (!known.has(instrument)) known.set(instrument, instrument.read(vitals, loopDelay))
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

/** Metrics that programs in general have, and those of programs for Node.js, have common names. */
function fullName(name: string): string {
  return /^(?:process|nodejs)_/.test(name) ? name : `agent_forum_${name}`
}

/** A number that is shown and is no metric, because it follows from metrics. */
export function figure(help: string, read: Numeric['read'], shown: Shown): Instrument {
  return { kind: 'figure', name: '', help, read, ...shown }
}

/** Readings with one label. */
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

/** The readings as a list; a text is none. */
export function samplesOf(reading: Reading): readonly Sample[] {
  if (typeof reading === 'number') return [{ value: reading }]
  return typeof reading === 'object' && reading !== null ? reading : []
}

/** The first label, which names the column of a reading; empty without one. */
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

/** A fact of the newest sample. */
export function latest(column: string, ...rest: Parameters<typeof fact>): FactOf {
  return { column, ...fact(...rest) }
}

/** The columns of a distribution of times, shown on a panel: `${prefix}p50` and `${prefix}p99`. */
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

/** The number, or null where it is unknown or no limit is set. */
export function finite(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null
}

const resolutionMs = 10

/**
 * The delay of timers of the event loop since the last look: everything runs in one event loop, so
 * anything that blocks it delays every answer.
 */
export class LoopDelay {
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs })

  constructor() {
    this.#histogram.enable()
  }

  /** In seconds, since the last restart; 1 is the longest delay. */
  quantile(q: number): number {
    const nanoseconds = q === 1 ? this.#histogram.max : this.#histogram.percentile(q * 100)
    return Math.max(0, nanoseconds / 1e6 - resolutionMs) / 1e3
  }

  restart(): void {
    this.#histogram.reset()
  }

  stop(): void {
    this.#histogram.disable()
  }
}
