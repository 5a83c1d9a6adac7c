// Reads the query of a request, as its route declares it.

import type { Violation } from '../api/schema.ts'
import { hasAny, hasUnknownOrRepeated, isWellEncoded, parseQuery } from './parse.ts'
import type { Prepared } from './prepared-route.ts'

const badEncoding = 'The query must be UTF-8 in percent-encoding: %25 for a percent sign.'

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
    if (!isWellEncoded(text)) return refuse({ code: 'invalid_query', detail: badEncoding })
    if (hasUnknownOrRepeated(text, parameters)) return refuse({ code: 'invalid_query' })
  }
  const query = route.query === undefined ? blankQuery : parseQuery(text, parameters, blankQuery)
  if (
    exclusive !== undefined &&
    has(query, [exclusive.parameter]) &&
    has(query, exclusive.others)
  ) {
    const others = exclusive.others.join(' or ')
    const detail = `${exclusive.parameter} cannot be given together with ${others}.`
    return refuse({ code: 'invalid_query', detail })
  }
  return { query, refusal: checkQuery(query) }
}

/** Returns whether one of these parameters is given. Defaults are not filled in yet. */
function has(query: Record<string, unknown>, names: readonly string[]): boolean {
  return names.some((name) => query[name] !== undefined)
}
