// Prepares the routes at startup, by compiling their schemas and looking up their parameters, and
// checks requests against the result.

import type { ErrorCode, Rejection } from '../../kernel/rejection.ts'
import { hasFollowUp } from '../api/follow-up.ts'
import type { Call, Route, Service } from '../api/route.ts'
import type { Schema } from '../api/schema.ts'
import { bodyValidator, mustBe, type Violation, validator, wordsOf } from '../api/validator.ts'
import type { Exchange } from './exchange.ts'
import { bodyBytesMax, ParsedBody } from './incoming-body.ts'
import type { Meter, RouteMeter } from './meter.ts'
import {
  bodyText,
  depthMax,
  isJson,
  minimal,
  type Parameter,
  parseBody,
  parseForm,
  valuesMax,
} from './parse.ts'

const anything: Schema = {}

/** A route with its schemas compiled. */
export interface Prepared {
  route: Route
  /** The index of its meter, which is the same in all processes of a node. */
  routeIndex: number
  meter: RouteMeter
  idPattern: RegExp | null
  /** Why an id that does not match is refused. */
  idRule: string
  parameters: Parameter[]
  /** A query with all parameters undefined. */
  blankQuery: Record<string, undefined>
  /** Whether unknown and repeated parameters are refused. */
  isStrict: boolean
  checkQuery: (value: unknown) => Violation | null
  checkBody: (body: Record<string, unknown>) => Violation | null
  /** Whether its answers have `follow_up`, unless the caller prefers them without it. */
  hasFollowUp: boolean
  /** The route that answers a caller that prefers HTML; null: this one. */
  html: Prepared | null
  /** Whether it answers with a page for people. */
  isPage: boolean
}

/** Compiles a route and adds its counters to the meter. */
export function prepare(route: Route, meter: Meter): Prepared {
  const parameters = Object.entries(route.query?.properties ?? {})
  return {
    route,
    routeIndex: meter.routes.length,
    meter: meter.add(route.name),
    idPattern: route.id?.pattern === undefined ? null : new RegExp(route.id.pattern),
    idRule: mustBe(/:(\w+)/.exec(route.path)?.[1] ?? '', route.id ?? anything),
    parameters: parameters.map(([name, { type }]) => ({
      name,
      isNumber: [type].flat().includes('integer'),
      isList: type === 'array',
    })),
    blankQuery: Object.fromEntries(parameters.map(([name]) => [name, undefined])),
    isStrict: route.query?.additionalProperties === false,
    checkQuery: validator(earlyQuery(route)),
    checkBody: bodyValidator(route.body ?? anything, route.idempotent ? ['idempotency_key'] : []),
    hasFollowUp: hasFollowUp(route),
    isPage: isPage(route),
    html: route.html === undefined ? null : prepare(route.html, meter),
  }
}

/** Returns the query's schema without the checks that the route itself makes later. */
function earlyQuery({ query = anything, checkedLate = [] }: Route): Schema {
  if (checkedLate.length === 0) return query
  const properties = { ...query.properties }
  for (const name of checkedLate) {
    // Only the error of a missing parameter remains.
    const { 'x-error': code = 'invalid_field' } = properties[name]
    properties[name] = { 'x-error': code, description: `${wordsOf(properties[name])}.` }
  }
  return { ...query, properties }
}

/** Returns whether the route changes state, or is guarded as if it did. */
export function isWrite({ method, guarded }: Route): boolean {
  return method !== 'get' || guarded === true
}

/** Returns whether the URL, with the service's origin, is longer than the route allows. */
export function isUrlTooLong(
  { urlCharactersMax }: Route,
  { path, query }: Exchange,
  { publicUrl }: Service,
): boolean {
  if (urlCharactersMax === undefined) return false
  const queryCharacters = query === '' ? 0 : '?'.length + query.length
  return publicUrl.length + path.length + queryCharacters > urlCharactersMax
}

/** Returns all Prefer headers, unless the first one decides: reading all headers takes longer. */
export function preferOf(exchange: Exchange): string {
  const first = exchange.header('prefer')
  return first === '' || first === minimal ? first : exchange.allOf('prefer')
}

export function isPage({ type }: Route): boolean {
  return type?.startsWith('text/html') === true
}

/** Returns how long a body may be; `isStranger`: its sender has no session. */
export function bytesMaxOf(route: Route, isStranger: boolean): number {
  const most = route.bodyBytesMax ?? bodyBytesMax
  return isStranger ? (route.strangerBytesMax ?? most) : most
}

/** Returns why a body is refused that is longer than `bytesMaxOf`. */
export function codeOfLong(route: Route, isStranger: boolean): ErrorCode {
  return isStranger && route.strangerBytesMax !== undefined ? 'token_required' : 'too_large'
}

/** The detail of `invalid_json`. It names the limits, because nobody would guess them. */
const notABody =
  'The body does not parse as one JSON object in UTF-8, ' +
  `or has more than ${valuesMax} values or ${depthMax} levels.`

const keyPattern = /^[A-Za-z0-9_.:-]{8,128}$/

/** Returns why the route does not read a body of this content type, or null. */
export function rejectType(exchange: Exchange, route: Route): Rejection | null {
  const { body, isForm, hasOptionalBody } = route
  if (body === undefined) return null
  const type = exchange.header('content-type')
  if (isForm) return type.split(';', 1)[0].trim().toLowerCase() === formType ? null : notAForm
  if (isJson(type) || (hasOptionalBody === true && type === '')) return null
  return { rejected: 'json_required' }
}

const formType = 'application/x-www-form-urlencoded'
const notAForm = { rejected: 'invalid_field', detail: `A form is sent as ${formType}.` } as const
const tooManyFields = { code: 'invalid_field', detail: 'The form has too many fields.' } as const

/** Returns the body as text, or null if it is not UTF-8. A parsed body stays as it is. */
export function contentOf(
  body: Buffer | ParsedBody,
  { hasOptionalBody }: Route,
): string | ParsedBody | null {
  if (body instanceof ParsedBody) return body
  return hasOptionalBody && body.length === 0 ? '{}' : bodyText(body)
}

/** Adds the body and the idempotency key in it to the call, or returns why they are refused. */
export function readBody(
  { route, checkBody }: Prepared,
  call: Pick<Call<unknown, unknown>, 'key' | 'body'>,
  content: string | ParsedBody,
): { code: ErrorCode; detail?: string } | null {
  if (route.isForm) {
    call.body = parseForm(content as string) // a batch has no forms
    return call.body === null ? tooManyFields : null
  }
  const body = typeof content === 'string' ? parseBody(content) : content.fields
  if (body === null) return { code: 'invalid_json', detail: notABody }
  if (route.idempotent) {
    const { idempotency_key: property } = body
    // The key is not part of the command; it is removed so that schemas need not declare it.
    if (property !== undefined) delete body.idempotency_key
    if (call.key === '' && typeof property === 'string') call.key = property
    const isNone = call.key === '' && property === undefined && route.idempotent === 'optional'
    if (!isNone && !keyPattern.test(call.key)) return { code: 'idempotency_required' }
  }
  call.body = body
  return checkBody(body)
}
