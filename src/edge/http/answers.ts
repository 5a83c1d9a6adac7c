// Turns the outcome of a request into an answer (status, headers, body), and counts it.

import {
  type ErrorCode,
  type ErrorKind,
  errors,
  isRejection,
  type Rejection,
} from '../../kernel/rejection.ts'
import { errorBody } from '../api/errors.ts'
import type { Answer, Outcome, Route } from '../api/route.ts'
import { jsonType, type Responder } from './exchange.ts'
import type { Gate } from './gate.ts'
import { isWrite } from './prepared-route.ts'
import { allow, type Match } from './router.ts'

type Bytes = Answer & { body: Uint8Array }

/**
 * Returns whether the body is in the page buffer, which requests overwrite (kernel/text/page.ts).
 */
export function isView(outcome: Answer | Rejection): outcome is Bytes {
  return isShared(outcome) && outcome.isCached !== true
}

/** Returns whether the answer does not own the bytes of its body. */
function isShared(outcome: Answer | Rejection): outcome is Bytes {
  return !isRejection(outcome) && typeof outcome.body !== 'string' && outcome.isOwn !== true
}

/** Makes an answer keep its body until it leaves: copies bytes that may be overwritten before. */
export function keepBody(outcome: Answer | Rejection, until: 'end of tick' | 'durable'): void {
  if (!isShared(outcome)) return
  if (until === 'end of tick' && outcome.isCached === true) return
  outcome.body = Buffer.from(outcome.body) // `Buffer.prototype.slice` would not copy it
  outcome.isOwn = true
}

/** Returns whether an outcome that needs no new record may leave now (gate.ts, G4). */
export function mayLeave(outcome: Answer | Rejection, route: Route, gate: Gate): boolean {
  if (gate.mayDecide) return true
  const { status } = isRejection(outcome) ? errors[outcome.rejected] : outcome
  return status === 503 || (status < 400 && !isWrite(route) && gate.mayShow)
}

/**
 * Sends the outcome of a request. Everything that it shows must be durable. A body that the answer
 * owns is overwritten afterwards, because the text in it may be erased one day.
 */
export function sendOutcome(
  responder: Responder,
  { type, headers: own = '' }: Route,
  outcome: Outcome,
): void {
  if (responder.complete !== undefined) return responder.complete(outcome)
  if ('rejected' in outcome) return sendRejection(responder, outcome)
  const { status, retryAfter, etag, body, isOwn } = outcome
  const headers =
    (outcome.headers ?? own) +
    retryHeader(retryAfter) +
    (etag === undefined ? '' : `\r\nETag: ${etag}`)
  answer(responder, status, headers, status === 304 ? null : body, type)
  if (isOwn === true && typeof body !== 'string') body.fill(0)
}

/**
 * Answers with an error of kernel/rejection.ts; `headers` are additional lines, each after a CRLF.
 */
export function refuse(responder: Responder, code: ErrorCode, detail?: string, headers = ''): void {
  if (responder.complete !== undefined) return responder.complete({ rejected: code, detail })
  sendError(responder, { rejected: code, detail }, errors[code], headers)
}

/** Sends the refusal that a route returned. */
function sendRejection(responder: Responder, refused: Rejection): void {
  const { rejected, retryAfter } = refused
  const kind: ErrorKind = errors[rejected]
  sendError(responder, refused, retryAfter === undefined ? kind : { ...kind, retryAfter })
}

function sendError(
  responder: Responder,
  { rejected: code, detail, fields }: Rejection,
  kind: ErrorKind,
  headers = '',
): void {
  const lines = headers + errorHeaders(kind)
  const page = responder.errorPage?.(code, detail, kind.retryAfter)
  if (page === undefined) {
    return answer(responder, kind.status, lines, errorBody(code, detail, fields))
  }
  answer(responder, kind.status, page.headers + lines, page.body, page.type)
}

/** Sends and counts an answer. Every answer passes through here; `headers` as in `refuse`. */
export function answer(
  responder: Responder,
  status: number,
  headers: string,
  body: string | Uint8Array | null,
  type: string = jsonType,
): void {
  responder.answer(status, type, headers + responder.moreHeaders, body)
  responder.meter!.count(status, responder.startedMs)
}

/** Returns the Allow header line, after a CRLF. */
export function allowHeader({ methods }: Match<unknown>): string {
  return `\r\nAllow: ${allow(methods)}`
}

/** Returns the header lines that belong to an error, each after a CRLF. */
function errorHeaders({ retryAfter, challenge }: ErrorKind): string {
  const challenged = challenge === undefined ? '' : `\r\nWWW-Authenticate: ${challenge}`
  return retryHeader(retryAfter) + challenged
}

function retryHeader(seconds: number | undefined): string {
  return seconds === undefined ? '' : `\r\nRetry-After: ${seconds}`
}
