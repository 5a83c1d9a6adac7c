// Reads the query of a request, as its route declares it.

import type { Violation } from '../api/validator.ts'
import { hasAny, malformed, type Parameter, parseQuery, unknownOrRepeated } from './parse.ts'
import type { Prepared } from './prepared-route.ts'

/** How much of an unknown parameter's name a refusal repeats. */
const nameMax = 40

interface Read {
  /** With defaults filled in. */
  query: object
  /** Why the query is refused; null: it is not. */
  refusal: (Partial<Violation> & Pick<Violation, 'code'>) | null
}

export function readQuery(prepared: Prepared, text: string): Read {
  const { route, isStrict, parameters, blankQuery, checkQuery } = prepared
  const { misplaced, exclusive } = route
  const refuse = (refusal: Read['refusal']) => ({ query: blankQuery, refusal })
  if (misplaced !== undefined && hasAny(text, misplaced.parameters)) {
    return refuse({ code: 'invalid_query', detail: misplaced.detail })
  }
  if (isStrict) {
    // What is published cannot be withdrawn, so a query that may be a mistake is refused.
    const detail = mistakeIn(text, parameters)
    if (detail !== null) return refuse({ code: 'invalid_query', detail })
  }
  const query = route.query === undefined ? blankQuery : parseQuery(text, parameters, blankQuery)
  if (
    exclusive !== undefined &&
    has(query, [exclusive.parameter]) &&
    has(query, exclusive.others)
  ) {
    const others = exclusive.others.join(' or ')
    const detail = `${exclusive.parameter} cannot be given together with ${others}.`
    return refuse({ code: exclusive.code ?? 'invalid_query', detail })
  }
  return { query, refusal: checkQuery(query) }
}

/** Returns whether one of these parameters is given. Defaults are not filled in yet. */
function has(query: Record<string, unknown>, names: readonly string[]): boolean {
  return names.some((name) => query[name] !== undefined)
}

/** Returns the sentence about a parameter that is badly encoded, unknown or repeated, or null. */
function mistakeIn(text: string, parameters: readonly Parameter[]): string | null {
  const shown = (name: string) => JSON.stringify(name.slice(0, nameMax))
  const bad = malformed(text)
  if (bad !== null) {
    return `${shown(bad)} must be UTF-8 in percent-encoding: %25 for a percent sign.`
  }
  const name = unknownOrRepeated(text, parameters)
  if (name === null) return null
  const known = parameters.map((parameter) => parameter.name)
  if (known.includes(name)) return `${name} must be given only once.`
  return `${shown(name)} must be one of the parameters ${known.join(', ')}.`
}
