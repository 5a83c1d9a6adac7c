// The table of routes, as the node writes it into the page and as the dashboard refreshes it.

import type { Status } from './status.ts'
import { count, latency, rate } from './units.ts'

/** The heads of the table's columns, the first of which holds the names of the routes. */
export const routeHeads: readonly string[] = [
  'Route',
  'a second',
  'p50',
  'p99',
  'answered',
  '4xx',
  '5xx',
]

/** Returns the name of a route for people; `none` counts requests that match no route. */
export function routeName(route: string): string {
  return route === 'none' ? 'unknown path' : route
}

/** Returns the rows of the table, with the routes that have most answers first. */
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
