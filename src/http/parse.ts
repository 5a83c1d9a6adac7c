// From bytes to values: queries, bodies, headers. What they may be is said by schemas (api/).

import { isUtf8 } from 'node:buffer'

const digits = /^\d+$/

/**
 * The parameters named in `numbers` and `texts`; others are ignored, as is a name's second value.
 * A number that is not all digits stays text, which its schema refuses.
 */
export function parseQuery(
  query: string,
  kinds: ReadonlyMap<string, 'number' | 'text'>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  if (query === '') return values
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    const kind = kinds.get(name)
    if (kind === undefined || name in values) continue
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1))
    values[name] = kind === 'number' && digits.test(value) ? Number(value) : value
  }
  return values
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

/** A form-encoded text; one that is encoded wrongly stays as it is. */
function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

/** The body's JSON object, or null. Unpaired surrogates in its texts become U+FFFD. */
export function parseBody(bytes: Buffer): Record<string, unknown> | null {
  if (!isUtf8(bytes)) return null
  const text = bytes.toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  if (surrogate.test(text)) mendTexts(value)
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
