// Parses queries, bodies and headers. Schemas (api/) say which values are valid.

import { isAscii, isUtf8 } from 'node:buffer'
import { parseJson } from '../../base/json.ts'

const digits = /^\d+$/
/** Numbers with more digits may not be exact. */
const exactDigitsMax = 15

/** Returns the path of a request target in absolute form, as proxies get it (RFC 9112, 3.2.2). */
export function originForm(target: string): string {
  return target.replace(/^https?:\/\/[^/]*/i, '') || '/'
}

/** A parameter that a route knows. */
export interface Parameter {
  name: string
  isNumber: boolean
  /** Whether it may be repeated; its value is the list of all values. */
  isList?: boolean
}

/**
 * Returns the values of the known parameters. Unknown parameters are ignored, as are repeated ones
 * that are no lists. A number
 * that does not consist of digits stays a string, which its schema rejects. `blank` has every known
 * name with the value undefined, so that all queries of a route have one shape.
 */
export function parseQuery(
  query: string,
  known: readonly Parameter[],
  blank: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values = { ...blank }
  for (let from = 0; from < query.length; ) {
    const end = indexOr(query, '&', from, query.length)
    const parameter = parameterAt(query, from, end, known)
    if (parameter !== undefined && (parameter.isList || values[parameter.name] === undefined)) {
      const { name, isList } = parameter
      const value = valueAt(query, indexOr(query, '=', from, end) + 1, end, parameter)
      if (!isList) values[name] = value
      else if (values[name] === undefined) values[name] = [value]
      else (values[name] as unknown[]).push(value)
    }
    from = end + 1
  }
  return values
}

/** Returns the known parameter that begins at `from`. Usually its name is not encoded. */
function parameterAt(
  query: string,
  from: number,
  end: number,
  known: readonly Parameter[],
): Parameter | undefined {
  for (const parameter of known) {
    const { name } = parameter
    if (query[from + name.length] === '=' && query.startsWith(name, from)) return parameter
  }
  const name = decode(query.slice(from, indexOr(query, '=', from, end)))
  return known.find((parameter) => parameter.name === name)
}

function valueAt(
  query: string,
  start: number,
  end: number,
  { isNumber }: Parameter,
): string | number {
  const number = isNumber ? numberAt(query, start, end) : -1
  if (number !== -1) return number
  const value = decode(query.slice(start, end))
  return isNumber && digits.test(value) ? Number(value) : value
}

/** Returns the number that the text from `start` to `end` spells; -1 if it is long or no number. */
function numberAt(text: string, start: number, end: number): number {
  if (start >= end || end - start > exactDigitsMax) return -1
  let number = 0
  for (let i = start; i < end; i++) {
    const digit = text.charCodeAt(i) - 0x30
    if (digit < 0 || digit > 9) return -1
    number = number * 10 + digit
  }
  return number
}

/** Returns the first index of `mark` between `from` and `end`, or `end`. */
function indexOr(text: string, mark: string, from: number, end: number): number {
  // Not by indexOf, which would search the whole rest of the text.
  for (let at = from; at < end; at++) if (text[at] === mark) return at
  return end
}

/** Returns the name of a parameter that is unknown or repeated, or null. */
export function unknownOrRepeated(query: string, known: readonly Parameter[]): string | null {
  const seen = new Set<string>()
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const name = decode(pair.split('=', 1)[0])
    const parameter = known.find((each) => each.name === name)
    if (parameter === undefined || (seen.has(name) && !parameter.isList)) return name
    seen.add(name)
  }
  return null
}

/** Returns whether the query has a parameter with one of these names. */
export function hasAny(query: string, names: readonly string[]): boolean {
  if (query === '') return false
  return query.split('&').some((pair) => names.includes(decode(pair.split('=', 1)[0])))
}

/** Returns the name of a parameter that is not UTF-8 in percent-encoding, or null. */
export function malformed(query: string): string | null {
  for (const pair of query.split('&')) {
    try {
      decodeURIComponent(pair)
    } catch {
      return pair.split('=', 1)[0]
    }
  }
  return null
}

/** Decodes a form-encoded text; a malformed one keeps its percent signs. */
function decode(text: string): string {
  return percentDecoded(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

/** Decodes the percent-encoding of a text; a malformed one is returned unchanged. */
export function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the body's text, or null if it is not UTF-8. */
export function bodyText(bytes: Buffer): string | null {
  const isAsciiOnly = isAscii(bytes)
  if (!isAsciiOnly && !isUtf8(bytes)) return null
  return bytes.toString(isAsciiOnly ? 'latin1' : 'utf8') // for ASCII they are the same
}

/** No request needs more values. They determine the cost of parsing: 20 ms for 120,000 brackets. */
export const valuesMax = 2_000
export const depthMax = 32

/** Returns whether a JSON text is within these limits. For other text the result is arbitrary. */
export function isWithinLimits(text: string): boolean {
  let values = 0
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const mark = text[i]
    if (mark === '"') i = stringEnd(text, i)
    else if (mark === ',') values += 1
    else if (mark === '}' || mark === ']') depth -= 1
    else if (mark === '{' || mark === '[') {
      values += 1
      depth += 1
    }
    if (values > valuesMax || depth > depthMax) return false
  }
  return true
}

/** Returns the index of the closing quotation mark of the string that is opened at `begin`. */
function stringEnd(text: string, begin: number): number {
  for (let end = begin; ; ) {
    end = text.indexOf('"', end + 1)
    if (end === -1) return text.length
    if (!isEscaped(text, end)) return end
  }
}

/** Returns whether an odd number of backslashes precedes the quotation mark at `end`. */
export function isEscaped(text: string, end: number): boolean {
  let first = end
  while (text[first - 1] === '\\') first -= 1
  return (end - first) % 2 === 1
}

/** Returns the body's JSON object, or null if it is none, or is not within the limits. */
export function parseBody(text: string): Record<string, unknown> | null {
  return isWithinLimits(text) ? parseObject(text) : null
}

/** Returns a text's JSON object, or null. Unpaired surrogates in its strings become U+FFFD. */
export function parseObject(text: string): Record<string, unknown> | null {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  if (text.includes('\\u') && surrogate.test(text)) repairStrings(value)
  return value as Record<string, unknown>
}

/** Only such an escape can put an unpaired surrogate into a text that is valid UTF-8. */
const surrogate = /\\u[dD][89a-fA-F]/

/** Makes all strings of a JSON value well-formed, in place and without recursion. */
function repairStrings(root: object): void {
  const waiting: object[] = [root]
  for (let holder = waiting.pop(); holder !== undefined; holder = waiting.pop()) {
    if (Array.isArray(holder)) {
      for (let i = 0; i < holder.length; i++) holder[i] = wellFormed(holder[i], waiting)
    } else {
      const fields = holder as Record<string, unknown>
      for (const name in fields) fields[name] = wellFormed(fields[name], waiting)
    }
  }
}

/** Returns the value, well-formed if it is a string. Adds an object or array to `waiting`. */
function wellFormed(value: unknown, waiting: object[]): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value === 'object' && value !== null) waiting.push(value)
  return value
}

const fieldsMax = 100

/** Returns the fields of a form, or null if it has more than any form of the service. */
export function parseForm(text: string): URLSearchParams | null {
  let fields = 1
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) fields += 1
  return fields > fieldsMax ? null : new URLSearchParams(text)
}

const bearer = /^bearer +(\S+)$/i

/** Returns the token of an Authorization header, or null if it has none. */
export function parseBearer(header: string): string | null {
  if (header.startsWith('Bearer aic_')) return header.slice('Bearer '.length)
  return bearer.exec(header)?.[1] ?? null
}

export function isJson(contentType: string): boolean {
  if (contentType === 'application/json') return true
  return contentType.split(';', 1)[0].trim().toLowerCase() === 'application/json'
}

// The choice between the representation in HTML and the one for programs.

/**
 * Returns whether an Accept header names HTML, and does not give plain text a greater weight. A
 * header that accepts anything, as curl and fetch send it, prefers nothing. RFC 9110, 12.5.1.
 */
export function prefersHtml(accept: string): boolean {
  if (!accept.includes('text/html')) return false
  const html = weightOf(accept, 'text/html')
  return html > 0 && html >= weightOf(accept, 'text/plain')
}

/** The Prefer header that the clients of this project send. */
export const minimal = 'return=minimal'

/**
 * Returns whether a Prefer header has `return=minimal` (RFC 7240). If a preference is repeated, the
 * first one counts.
 */
export function prefersMinimal(prefer: string): boolean {
  if (prefer === '' || prefer === minimal) return prefer === minimal
  for (const preference of prefer.toLowerCase().split(',', partsMax)) {
    const [name, value] = preference.split(/[=;]/, 2).map((part) => part.trim())
    if (name === 'return') return value === 'minimal' || value === '"minimal"'
  }
  return false
}

/** How many parts of a header are read, and how many of each part; browsers send about eight. */
const partsMax = 32

/** Returns the weight that the header gives the type by its name, from 0 to 1. */
function weightOf(accept: string, type: string): number {
  for (const range of accept.toLowerCase().split(',', partsMax)) {
    const [name, ...parameters] = range.split(';', partsMax).map((part) => part.trim())
    if (name !== type) continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return weight === undefined ? 1 : Number(weight.slice('q='.length)) || 0
  }
  return 0
}
