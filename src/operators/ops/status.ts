// Makes /status.json, whose shape people/browser/dashboard/status.ts declares.

import type { Meter } from '../../edge/http/meter.ts'
import type { Ready, RouteAnswers, Status } from '../../people/browser/dashboard/status.ts'
import { duration } from '../../people/browser/dashboard/units.ts'
import {
  finite,
  firstLabel,
  type Instrument,
  type Reading,
  type Readings,
  readingsOf,
  samplesOf,
} from './instrument.ts'
import { instruments } from './instruments/list.ts'
import { factsOn, panelsOf } from './panels.ts'
import { readiness, warningsOf } from './readiness.ts'
import type { Samples } from './samples.ts'
import { answersOf, type Vitals } from './vitals.ts'

/**
 * Returns the status, with the samples after number `after`; `nowMs` is that of performance.now().
 */
export function statusOf(vitals: Vitals, samples: Samples, after: number, nowMs: number): Status {
  const { version, http, durability, meter } = vitals
  const uptime = Math.round(nowMs / 10) / 100
  const [ready, latest] = [readyOf(vitals), samples.latest()]
  const readings = readingsOf(vitals, samples.loopDelay)
  const look = { vitals, readings, latest }
  return {
    format: 1,
    node: {
      version,
      node_version: process.version,
      http,
      durability,
      started_at: Math.round(performance.timeOrigin),
      uptime_seconds: uptime,
    },
    ready,
    routes: routesOf(meter),
    ...sectionsOf(vitals, readings),
    latest,
    series: samples.since(after),
    page: {
      state: stateNames[ready.state],
      uptime: duration(uptime),
      headline: factsOn('headline', look),
      panels: panelsOf(look),
    },
  }
}

const stateNames = {
  starting: 'Starting',
  serving: 'Serving',
  degraded: 'Degraded',
  draining: 'Stopping',
} as const

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
    }))
    .filter(({ answers }) => answers > 0)
    .sort((a, b) => b.answers - a.answers)
}

type Section = Record<string, unknown>

/**
 * Returns the sections with their instruments' fields; null for one whose subject the node lacks.
 */
function sectionsOf(vitals: Vitals, readings: Readings): Record<string, Section | null> {
  const sections: Record<string, Section | null> = {}
  for (const shown of instruments.filter(({ status }) => status !== undefined)) {
    const [name, field] = shown.status!.split('.') as [string, string?]
    const reading = readings(shown)
    const fields =
      field === undefined ? labelled(reading) : { [field]: fieldOf(shown, reading, vitals) }
    const isAbsent = reading === null || reading === undefined
    sections[name] = isAbsent ? (sections[name] ?? null) : { ...sections[name], ...fields }
  }
  return sections
}

function labelled(reading: Reading): Record<string, number> {
  return Object.fromEntries(samplesOf(reading).map((each) => [firstLabel(each), each.value]))
}

function fieldOf({ limit }: Instrument, reading: Reading, vitals: Vitals): unknown {
  const value = typeof reading === 'number' ? finite(Number(reading.toFixed(3))) : reading
  return limit === undefined ? value : { now: value, max: finite(limit.read(vitals)) }
}
