// The parts of the dashboard: the numbers at its top, and panels, each with facts and a chart. The
// node renders them into the page, and the page's script refreshes them from /status.json.
//
// P1. A panel is declared here. Its facts and lines come from the instruments that name the panel.

import { emptyOf, type Fact, type Line, type Panel } from '../../people/browser/dashboard/status.ts'
import type { UnitName } from '../../people/browser/dashboard/units.ts'
import {
  type FactOf,
  finite,
  firstLabel,
  type Instrument,
  type Place,
  type Readings,
  samplesOf,
} from './instrument.ts'
import { instruments } from './instruments/list.ts'
import { lagName } from './instruments/processes.ts'
import type { Vitals } from './vitals.ts'

interface PanelOf {
  title: string
  chart: string | ((vitals: Vitals) => string)
  unit: UnitName
  note?: string
  /** Whether the panel is shown; without this function it always is. */
  isShown?(vitals: Vitals): boolean
}

/** The panels, in the order of the page. */
const panels: Record<Exclude<Place, 'headline'>, PanelOf> = {
  requests: { title: 'Requests', chart: 'Answers a second', unit: 'rate' },
  times: { title: 'Time to answer', chart: 'How long answers take, all routes', unit: 'latency' },
  log: { title: 'Log', chart: 'Records a second that became durable', unit: 'rate' },
  syncs: { title: 'Syncs', chart: 'How long a sync of the log takes', unit: 'latency' },
  waiting: { title: 'Waiting', chart: 'Waiting polls and connections', unit: 'count' },
  memory: { title: 'Memory', chart: 'Memory, and its limits where they are near', unit: 'bytes' },
  loop: { title: 'Event loop', chart: 'How late the event loop runs', unit: 'latency' },
  refusals: { title: 'Refusals', chart: 'Refusals a second', unit: 'rate' },
  checkpoints: {
    title: 'Checkpoints',
    chart: 'Records that a start would replay',
    unit: 'count',
    note: 'Dotted vertical lines in all charts mark when one was taken.',
  },
  search: {
    title: 'Search',
    chart: 'Messages that are not indexed yet',
    unit: 'count',
    isShown: ({ search }) => search !== null,
  },
  readers: {
    title: 'Readers',
    chart: 'Records that the slowest reader is behind',
    unit: 'count',
    isShown: ({ readers }) => readers !== null,
  },
  replication: {
    title: 'Replication',
    chart: lagName,
    unit: 'count',
    isShown: ({ replication }) => replication !== null,
  },
}

const facts = instruments.flatMap((instrument) => {
  return (instrument.facts ?? []).map((fact) => ({ instrument, fact }))
})

const lines = instruments.flatMap((instrument) => {
  const { columns = [] } = instrument
  return columns.flatMap(({ name, line }) => (line ? [{ instrument, column: name, line }] : []))
})

/** The data that panels show. */
interface Look {
  vitals: Vitals
  readings: Readings
  /** The newest value of each column that has one. */
  latest: Readonly<Record<string, number>>
}

export function panelsOf(look: Look): Panel[] {
  const { vitals } = look
  return Object.entries(panels)
    .filter(([, { isShown }]) => isShown?.(vitals) ?? true)
    .map(([id, { title, chart, unit, note }]) => ({
      id,
      title,
      facts: factsOn(id as Place, look),
      chart: { title: worded(chart, vitals), unit, lines: linesOn(id as Place, look) },
      ...(note !== undefined && { note }),
    }))
}

export function factsOn(place: Place, look: Look): Fact[] {
  const here = facts.filter(({ fact }) => fact.on === place)
  return here.flatMap(({ instrument, fact }) => factsOf(instrument, fact, look))
}

function factsOf(instrument: Instrument, fact: FactOf, { vitals, readings, latest }: Look): Fact[] {
  const { column } = fact
  if (column !== undefined) return [shownAs(fact, latest[column] ?? emptyOf(column), vitals)]
  const reading = readings(instrument)
  if (typeof reading === 'object' && reading !== null) {
    const counted = reading.filter(({ value }) => value > 0)
    if (counted.length === 0) return [{ name: worded(fact.name, vitals), value: 'none' }]
    return counted.map((sample) => {
      const label = firstLabel(sample)
      const isBad = instrument.columns?.some(({ name }) => latest[`${name}:${label}`])
      return { name: words(label), value: fact.show(sample.value, vitals), isBad: !!isBad }
    })
  }
  const value = typeof reading === 'number' ? finite(reading) : null
  const max = instrument.limit ? finite(instrument.limit.read(vitals)) : null
  const shown = shownAs(fact, value, vitals)
  if (value === null || max === null || fact.on === 'headline') return [shown]
  const isBad = fact.isBad ? shown.isBad! : value >= 0.9 * max
  return [{ ...shown, value: `${shown.value} of ${fact.show(max, vitals)}`, isBad }]
}

function shownAs({ name, show, isBad }: FactOf, value: number | null, vitals: Vitals): Fact {
  return {
    name: worded(name, vitals),
    value: show(value, vitals),
    isBad: isBad?.(value, vitals) ?? false,
  }
}

/** Returns the lines of a chart; those of limits come last. */
function linesOn(place: Place, { vitals, readings }: Look): Line[] {
  const here = lines.filter(({ line }) => line.on === place)
  const limits = here.flatMap(({ instrument, line }) => {
    const max = finite(instrument.limit?.read(vitals))
    return line.limit === undefined || max === null ? [] : [{ label: line.limit, column: max }]
  })
  const values = here.flatMap(({ instrument, column, line: { label, most = 0 } }) => {
    const each = greatest(most, instrument, readings).map((label) => {
      return { label: words(label), column: `${column}:${label}` }
    })
    return label === undefined ? each : [{ label, column }, ...each]
  })
  return [...values, ...limits]
}

/** Returns up to `most` labels, those with the greatest values above 0. */
function greatest(most: number, instrument: Instrument, readings: Readings): string[] {
  if (most === 0) return []
  return samplesOf(readings(instrument))
    .filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value)
    .slice(0, most)
    .map(firstLabel)
}

function worded(text: string | ((vitals: Vitals) => string), vitals: Vitals): string {
  return typeof text === 'string' ? text : text(vitals)
}

function words(name: string): string {
  return name.replaceAll('_', ' ')
}
