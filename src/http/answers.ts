// How outcomes of requests leave: status, headers, body, and the count of them.

import { type ErrorCode, type ErrorKind, errorBody, errors } from '../api/errors.ts'
import type { Answer, AnyRoute } from '../api/route.ts'
import { isRejection, type Rejection } from '../forum/forum.ts'
import { type Exchange, jsonType } from './exchange.ts'
import { allow, type Match } from './router.ts'

/** Whether its page lies in memory that the next request uses (state/page.ts). */
export function isView(outcome: Answer | Rejection): outcome is Answer & { body: Uint8Array } {
  return !isRejection(outcome) && typeof outcome.body !== 'string' && outcome.isOwn !== true
}

/** Gives it a page of its own. (A Buffer's own `slice` would not copy it.) */
export function copyView(outcome: Answer | Rejection): void {
  if (isView(outcome)) outcome.body = Buffer.from(outcome.body)
}

/** Sends what came of a request, which is durable. */
export function leave(exchange: Exchange, { type }: AnyRoute, outcome: Answer | Rejection): void {
  if (isRejection(outcome)) return sendRejection(exchange, outcome)
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
function sendRejection(exchange: Exchange, { rejected, detail, retryAfter }: Rejection): void {
  const kind: ErrorKind = errors[rejected]
  const headers = retryHeader(retryAfter ?? kind.retryAfter)
  answer(exchange, kind.status, headers, errorBody(rejected, detail))
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
