// What the page shows beside its panels: the node's state, the numbers at the top, and the table of
// routes.

import type { Fact } from './panel.ts'
import type { Ready, Status } from './status.ts'
import { bytes, count, latency, rate } from './units.ts'

const stateNames = {
  starting: 'Starting',
  serving: 'Serving',
  degraded: 'Degraded',
  draining: 'Stopping',
} as const

export function stateName(state: Ready['state']): string {
  return stateNames[state]
}

/** The numbers at the top of the page. */
export function headline({ latest, log, load, memory, content }: Status): Fact[] {
  return [
    { name: 'answers a second', value: rate(latest.requests ?? 0) },
    { name: 'p99 to answer', value: latency(latest.p99) },
    { name: 'durable position', value: count(log?.durable_position) },
    { name: 'waiting polls', value: count(load.waiting.now) },
    { name: 'memory', value: bytes(memory.resident_bytes.now) },
    { name: 'messages', value: count(content.messages) },
    { name: 'threads', value: count(content.threads) },
    { name: 'identities', value: count(content.identities) },
  ]
}

/** The heads of the columns of the table of routes; the first one is that of the routes' names. */
export const routeHeads: readonly string[] = [
  'Route',
  'a second',
  'p50',
  'p99',
  'answered',
  '4xx',
  '5xx',
]

/** The rows of the table of routes, those with most answers first. */
export function routeRows({ routes, latest }: Status): string[][] {
  return routes.map(({ route, answers, refused, failed }) => [
    route,
    rate(latest[`requests:${route}`] ?? 0),
    latency(latest[`p50:${route}`]),
    latency(latest[`p99:${route}`]),
    count(answers),
    count(refused),
    count(failed),
  ])
}
