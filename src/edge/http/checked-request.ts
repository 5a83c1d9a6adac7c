// A request that one process has checked and another one runs. The edge of a process that follows
// another one makes every check; the edge of the process that it follows runs the route. So a
// reader checks, and its main process decides (readers/).
//
//   caller ──▶ every check ──CheckedRequest──▶ Edge.run: what may have changed, the route
//   caller ◀── renders, sends ◀────Outcome────┘ when it is durable
//
// C1. A request that fails a check is forwarded whole, or from its body on, and fails the same
//     check there. So the documented order of refusals is the same whichever process a caller is
//     connected to.
// C2. The process that runs the route checks again only what time or a record may have changed:
//     whether the service runs, and whether the caller may still act.

import { isRejection } from '../../kernel/rejection.ts'
import type { Call, Outcome, Result, Route, Service } from '../api/route.ts'
import type { Exchange, Responder } from './exchange.ts'
import { type Body, overloaded, ParsedBody, tooLarge } from './incoming-body.ts'
import { RouteMeter } from './meter.ts'
import type { Prepared } from './prepared-route.ts'

/** A call whose type parameters only its route knows. */
export interface AnyCall extends Call<unknown, unknown> {
  bodyBytes: number
}

/** The bytes of a body, or why it was not kept. */
export type UnreadBody = Uint8Array | 'too_large' | 'overloaded'

/**
 * The part of a call that is sent. `client` is the caller's address, even if nothing needs it.
 * `isMinimal` is for the process that renders the answer.
 */
export type SentCall = Omit<AnyCall, 'connection' | 'found' | 'session' | 'isMinimal'>

export interface CheckedRequest {
  /** The place of its route (prepared-route.ts). */
  routeIndex: number
  call: SentCall
  /** The body, if it failed a check. That check, and those that follow it, are still to be made. */
  unread: UnreadBody | null
}

/**
 * Returns the call that another process has sent. Its properties are listed in the order of the
 * edge's own calls, so that all calls have one shape in V8; a spread would give each a new one (an
 * eighth of the processor time of a reply in a main process with readers).
 */
export function receivedCall(sent: SentCall, client: string, connection: Responder): AnyCall {
  return {
    caller: sent.caller,
    token: sent.token,
    session: null,
    id: sent.id,
    query: sent.query,
    body: sent.body,
    client,
    key: sent.key,
    origin: sent.origin,
    ifNoneMatch: sent.ifNoneMatch,
    isMinimal: false,
    connection,
    found: undefined,
    bodyBytes: sent.bodyBytes,
  }
}

/** Sends the requests of a process that follows another one to the process that decides. */
export interface Forward {
  /** Forwards a request as it came. Its body is not collected yet. */
  whole(exchange: Exchange, route: Route, bytesMax: number): void
  /** Forwards a request that has passed all checks, or those before its unread body's. */
  checked(responder: Responder, prepared: Prepared, call: AnyCall, unread: UnreadBody | null): void
  /** Whether checked requests are accepted at present. If not, all requests are forwarded whole. */
  readonly takesChecked: boolean
}

/**
 * Runs a route for a process that renders the answer. If the route is a command, the outcome has
 * the decision instead of a body.
 */
export function runForAnother(
  route: Route,
  service: Service,
  call: AnyCall,
): Result | Promise<Result> {
  if (route.decide === undefined) return route.run(service, call)
  const decision = route.decide(service, call)
  if (isRejection(decision)) return decision
  return { status: 0, body: '', position: decision.position, decision }
}

/** Renders the decision that `runForAnother` left to this process, if there is one. */
export function rendered(outcome: Outcome, route: Route, service: Service, call: AnyCall): Outcome {
  if ('rejected' in outcome || outcome.decision === undefined) return outcome
  return route.render!(service, call, outcome.decision)
}

/** Discarded: the process that has the caller counts the request. */
const uncounted = new RouteMeter('another process')

/** Answers a request whose caller is connected to another process. */
export class RemoteResponder {
  startedMs = 0
  moreHeaders = ''
  errorPage: Responder['errorPage'] = null
  /** The other process needs the outcome even if its caller has hung up. */
  readonly isGone = false

  get meter(): RouteMeter {
    return uncounted
  }

  set meter(_: RouteMeter | null) {}

  hold(): void {}

  onHangUp(): void {}
}

/** Converts a body to the form in which it is sent. Copies no bytes. */
export function unreadBody(body: Body): UnreadBody {
  if (body === tooLarge) return 'too_large'
  if (body === overloaded) return 'overloaded'
  return body instanceof ParsedBody ? Buffer.from(body.text) : (body as Buffer)
}

/** Returns the body from which `unreadBody` made `unread`. */
export function bodyOf(unread: UnreadBody): Body {
  if (unread === 'too_large') return tooLarge
  if (unread === 'overloaded') return overloaded
  return Buffer.from(unread.buffer, unread.byteOffset, unread.length)
}
