// From bytes to values: queries, bodies, headers. What they may be is said by schemas (api/).

import { isAscii, isUtf8 } from 'node:buffer'

const digits = /^\d+$/

/**
 * The parameters named in `kinds`; others are ignored, as is a name's second value. A number that
 * is not all digits stays text, which its schema refuses. `blank` has every name, undefined: all
 * queries of a route have one shape.
 */
export function parseQuery(
  query: string,
  kinds: ReadonlyMap<string, 'number' | 'text'>,
  blank: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values = { ...blank }
  for (let from = 0; from < query.length; ) {
    const end = indexOr(query, '&', from, query.length)
    const equals = indexOr(query, '=', from, end)
    const name = decode(query.slice(from, equals))
    const kind = kinds.get(name)
    if (kind !== undefined && values[name] === undefined) {
      const value = decode(query.slice(equals + 1, end))
      values[name] = kind === 'number' && digits.test(value) ? Number(value) : value
    }
    from = end + 1
  }
  return values
}

/** Where `mark` stands first between `from` and `end`, or `end`. */
function indexOr(text: string, mark: string, from: number, end: number): number {
  const index = text.indexOf(mark, from)
  return index === -1 || index > end ? end : index
}

/** Whether a parameter is not among `kinds`, or comes twice. */
export function hasStray(query: string, kinds: ReadonlyMap<string, unknown>): boolean {
  const seen = new Set<string>()
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const name = decode(pair.split('=', 1)[0])
    if (!kinds.has(name) || seen.has(name)) return true
    seen.add(name)
  }
  return false
}

/** Whether every name and value is UTF-8 in percent-encoding. */
export function isWellEncoded(query: string): boolean {
  try {
    decodeURIComponent(query)
    return true
  } catch {
    return false
  }
}

/** A form-encoded text; one that is encoded wrongly stays as it is. */
function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

/** The body's text, or null when it is not UTF-8. */
export function bodyText(bytes: Buffer): string | null {
  const isPlain = isAscii(bytes)
  if (!isPlain && !isUtf8(bytes)) return null
  return bytes.toString(isPlain ? 'latin1' : 'utf8') // for ASCII they are the same
}

/** The body's JSON object, or null. Unpaired surrogates in its texts become U+FFFD. */
export function parseBody(text: string): Record<string, unknown> | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  if (text.includes('\\u') && surrogate.test(text)) mendTexts(value)
  return value as Record<string, unknown>
}

/** Only such an escape brings half a character into a text that is UTF-8. */
const surrogate = /\\u[dD][89a-fA-F]/

/** Mends the texts of a JSON value in place. Callers choose how deep it is, so no recursion. */
function mendTexts(root: object): void {
  const waiting: object[] = [root]
  for (let holder = waiting.pop(); holder !== undefined; holder = waiting.pop()) {
    if (Array.isArray(holder)) {
      for (let i = 0; i < holder.length; i++) holder[i] = mended(holder[i], waiting)
    } else {
      const fields = holder as Record<string, unknown>
      for (const name in fields) fields[name] = mended(fields[name], waiting)
    }
  }
}

/** The value, mended if it is a text; what holds other values has to wait. */
function mended(value: unknown, waiting: object[]): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value === 'object' && value !== null) waiting.push(value)
  return value
}

const bearer = /^bearer +(\S+)$/i

/** The token of an Authorization header, or null when there is none. */
export function parseBearer(header: string): string | null {
  if (header.startsWith('Bearer aic_')) return header.slice('Bearer '.length)
  return bearer.exec(header)?.[1] ?? null
}

export function isJson(contentType: string): boolean {
  if (contentType === 'application/json') return true
  return contentType.split(';', 1)[0].trim().toLowerCase() === 'application/json'
}
