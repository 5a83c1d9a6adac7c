// How outcomes of requests leave: status, headers, body, and the count of them.

import { type ErrorCode, type ErrorKind, errorBody, errors } from '../api/errors.ts'
import type { Answer, AnyRoute } from '../api/route.ts'
import { isRefusal, type Refusal } from '../forum/forum.ts'
import { type Exchange, jsonType } from './exchange.ts'
import { allow, type Match } from './router.ts'

/** Whether its page lies in memory that the next request uses (state/page.ts). */
export function isView(outcome: Answer | Refusal): outcome is Answer & { body: Uint8Array } {
  return !isRefusal(outcome) && typeof outcome.body !== 'string' && outcome.isOwn !== true
}

/** Gives it a page of its own. (A Buffer's own `slice` would not copy it.) */
export function copyView(outcome: Answer | Refusal): void {
  if (isView(outcome)) outcome.body = Buffer.from(outcome.body)
}

/** Sends what came of a request, which is durable. */
export function leave(exchange: Exchange, { type }: AnyRoute, outcome: Answer | Refusal): void {
  if (isRefusal(outcome)) return sendRefusal(exchange, outcome)
  const { status, retryAfter, etag, body } = outcome
  const headers = retryHeader(retryAfter) + (etag === undefined ? '' : `\r\nETag: ${etag}`)
  answer(exchange, status, headers, status === 304 ? null : body, type)
}

/** Refuses a request; `headers` are further header lines, each after a CRLF. */
export function refuse(exchange: Exchange, code: ErrorCode, detail?: string, headers = ''): void {
  const { status, retryAfter }: ErrorKind = errors[code]
  answer(exchange, status, headers + retryHeader(retryAfter), errorBody(code, detail))
}

/** Sends a route's own refusal. */
function sendRefusal(exchange: Exchange, { refused, detail, retryAfter }: Refusal): void {
  const kind: ErrorKind = errors[refused]
  const headers = retryHeader(retryAfter ?? kind.retryAfter)
  answer(exchange, kind.status, headers, errorBody(refused, detail))
}

/** The one way out; `headers` as in `refuse`. */
export function answer(
  exchange: Exchange,
  status: number,
  headers: string,
  body: string | Uint8Array | null,
  type: string = jsonType,
): void {
  exchange.answer(status, type, headers + exchange.moreHeaders, body)
  exchange.meter!.count(status, exchange.startedMs)
}

/** The header line Allow, after a CRLF. */
export function allowHeader({ methods }: Match<unknown>): string {
  return `\r\nAllow: ${allow(methods)}`
}

function retryHeader(seconds: number | undefined): string {
  return seconds === undefined ? '' : `\r\nRetry-After: ${seconds}`
}
