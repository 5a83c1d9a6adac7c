// Routes made ready for their requests: schemas compiled, names looked up, once at the start.

import type { AnyRoute } from '../api/route.ts'
import { bodyValidator, type Schema, type Violation, validator } from '../api/schema.ts'
import type { Meter, RouteMeter } from './meter.ts'
import type { Parameter } from './parse.ts'

/** One object, like `earlyQueries`: the validator of a schema is found again by it. */
const anything: Schema = {}

/** A route with its schemas compiled. */
export interface Prepared {
  route: AnyRoute
  meter: RouteMeter
  idPattern: RegExp | null
  parameters: Parameter[]
  /** A query of nothing. */
  blankQuery: Record<string, undefined>
  /** Whether parameters that are unknown or come twice are refused. */
  isStrict: boolean
  checkQuery: (value: unknown) => Violation | null
  checkBody: (body: Record<string, unknown>) => Violation | null
}

export function prepare(route: AnyRoute, meter: Meter): Prepared {
  const parameters = Object.entries(route.query?.properties ?? {})
  return {
    route,
    meter: meter.add(route.name),
    idPattern: route.id?.pattern === undefined ? null : new RegExp(route.id.pattern),
    parameters: parameters.map(([name, { type }]) => ({ name, isNumber: type === 'integer' })),
    blankQuery: Object.fromEntries(parameters.map(([name]) => [name, undefined])),
    isStrict: route.query?.additionalProperties === false,
    checkQuery: validator(earlyQuery(route)),
    checkBody: bodyValidator(route.body ?? anything, route.idempotent ? ['idempotency_key'] : []),
  }
}

/** The early schema of each query that has one. */
const earlyQueries = new WeakMap<Schema, Schema>()

/** The schema of the query without what the route checks itself, later. */
function earlyQuery({ query = anything, checkedLate = [] }: AnyRoute): Schema {
  if (checkedLate.length === 0) return query
  const known = earlyQueries.get(query)
  if (known !== undefined) return known
  const properties = { ...query.properties }
  for (const name of checkedLate) {
    // What is left says how the lack of it is answered.
    const { 'x-error': code = 'invalid_field' } = properties[name]
    properties[name] = { 'x-error': code }
  }
  const early = { ...query, properties }
  earlyQueries.set(query, early)
  return early
}

/** Whether it changes something, or is guarded as if it did. */
export function isWrite({ method, guarded }: AnyRoute): boolean {
  return method !== 'get' || guarded === true
}
