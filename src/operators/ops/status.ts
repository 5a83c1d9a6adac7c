// Renders the instruments: as /status.json, whose shape people/browser/dashboard/status.ts
// declares, and as /metrics, in the text format of Prometheus (version 0.0.4).

import type { Meter } from '../../edge/http/meter.ts'
import type {
  Ready,
  RouteAnswers,
  Sections,
  Status,
} from '../../people/browser/dashboard/status.ts'
import { commit } from './commit.ts'
import {
  type Delays,
  type Distribution,
  finite,
  firstLabel,
  type Instrument,
  type Reading,
  type Sample,
  samplesOf,
} from './instrument.ts'
import { instruments } from './instruments/list.ts'
import { readiness, warningsOf } from './readiness.ts'
import { quantileOf, type Samples } from './samples.ts'
import { answersOf, type Vitals } from './vitals.ts'

/**
 * Returns the status, with the samples after number `after`; `nowMs` is that of performance.now().
 */
export function statusOf(vitals: Vitals, samples: Samples, after: number, nowMs: number): Status {
  const { version, http, durability, retentionDays, meter, url, logOutput } = vitals
  return {
    format: 1,
    node: {
      version,
      commit,
      node_version: process.version,
      http,
      durability,
      retention_days: retentionDays,
      started_at: Math.round(performance.timeOrigin),
      uptime_seconds: Math.round(nowMs / 10) / 100,
      url,
    },
    ready: readyOf(vitals),
    routes: routesOf(meter),
    latest: samples.latest(),
    series: samples.since(after),
    refused_callers: vitals.refusedCallers.top(callersMax).map(([identity, refused]) => {
      return { identity, refused }
    }),
    log_lines: [...logOutput.newest],
    ...(sectionsOf(vitals, samples.loopDelay) as unknown as Sections),
  }
}

const callersMax = 10

function readyOf(vitals: Vitals): Ready {
  const { text } = readiness(vitals, false)
  const { refusal } = vitals.availability
  const warnings = warningsOf(vitals)
  const serving = text === 'ok\n' ? 'serving' : 'degraded'
  const state = ({ starting: 'starting', shutting_down: 'draining', ok: serving } as const)[
    refusal ?? 'ok'
  ]
  return { state, text: text.trimEnd(), warnings }
}

function routesOf({ routes }: Meter): RouteAnswers[] {
  return routes
    .map((route) => ({
      route: route.name,
      answers: answersOf(route),
      refused: route.answers[4],
      failed: route.answers[5],
      p99_seconds: finite(quantileOf(route.times.bounds, route.times.counts, 0.99)),
    }))
    .filter(({ answers }) => answers > 0)
    .sort((a, b) => b.answers - a.answers)
}

type Section = Record<string, unknown>

/**
 * Returns the sections with their instruments' fields; null for one whose subject the node lacks.
 */
function sectionsOf(vitals: Vitals, delays: Delays): Record<string, Section | null> {
  const sections: Record<string, Section | null> = {}
  for (const shown of instruments.filter(({ status }) => status !== undefined)) {
    const [name, field] = shown.status!.split('.') as [string, string?]
    const reading = shown.kind === 'histogram' ? null : shown.read(vitals, delays)
    const fields =
      field === undefined
        ? Object.fromEntries(samplesOf(reading).map((each) => [firstLabel(each), each.value]))
        : { [field]: fieldOf(shown, reading, vitals) }
    const isAbsent = reading === null || reading === undefined
    sections[name] = isAbsent ? (sections[name] ?? null) : { ...sections[name], ...fields }
  }
  return sections
}

function fieldOf({ limit }: Instrument, reading: Reading, vitals: Vitals): unknown {
  const value = typeof reading === 'number' ? finite(Number(reading.toFixed(3))) : reading
  return limit === undefined ? value : { now: value, max: finite(limit.read(vitals)) }
}

/** Returns all metrics. Reading them changes nothing, so there may be any number of readers. */
export function metrics(vitals: Vitals, delays: Delays): string {
  return instruments.map((instrument) => familyOf(instrument, vitals, delays)).join('')
}

/** Returns the family of an instrument, or '' if it has none or the node lacks what it measures. */
export function familyOf(instrument: Instrument, vitals: Vitals, delays: Delays): string {
  const { kind, name, help, read } = instrument
  if (kind === 'figure') return ''
  const reading = read(vitals, delays)
  if (reading === null || reading === undefined) return ''
  const lines =
    typeof reading === 'object'
      ? reading.flatMap((each) => ('counts' in each ? buckets(name, each) : [sample(name, each)]))
      : [`${name} ${reading}\n`]
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join('')}`
}

function buckets(name: string, { labels = {}, bounds, counts, sum }: Distribution): string[] {
  let count = 0
  const lines = [...bounds, Number.POSITIVE_INFINITY].map((bound, i) => {
    count += counts[i]
    const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : `${bound}`
    return sample(`${name}_bucket`, { labels: { ...labels, le }, value: count })
  })
  const ends = [
    sample(`${name}_sum`, { labels, value: sum }),
    sample(`${name}_count`, { labels, value: count }),
  ]
  return [...lines, ...ends]
}

function sample(name: string, { labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
