// The table of routes, as the node writes it into its page, and as the dashboard renews it.

import type { Status } from './status.ts'
import { count, latency, rate } from './units.ts'

/** The heads of its columns; the first one is that of the routes' names. */
export const routeHeads: readonly string[] = [
  'Route',
  'a second',
  'p50',
  'p99',
  'answered',
  '4xx',
  '5xx',
]

/** What people read for a route; `none` counts requests that no route takes. */
export function routeName(route: string): string {
  return route === 'none' ? 'unknown path' : route
}

/** Its rows, those with most answers first. */
export function routeRows({ routes, latest }: Status): string[][] {
  return routes.map(({ route, answers, refused, failed }) => [
    routeName(route),
    rate(latest[`requests:${route}`] ?? 0),
    latency(latest[`p50:${route}`]),
    latency(latest[`p99:${route}`]),
    count(answers),
    count(refused),
    count(failed),
  ])
}
