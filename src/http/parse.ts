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
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const body = value as Record<string, unknown>
  for (const name in body) {
    const text = body[name]
    if (typeof text === 'string' && !text.isWellFormed()) body[name] = text.toWellFormed()
  }
  return body
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
