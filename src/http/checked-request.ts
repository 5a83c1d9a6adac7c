// A request that has passed every check of the edge in a process that follows another one, and is
// run by the edge of that one: a reader checks, its main process decides (readers/).
//
//   caller ──▶ every check ──CheckedRequest──▶ Edge.run: what may have changed, the route
//   caller ◀── renders, sends ◀────Settled────┘ when it is durable
//
// C1. What fails a check is passed on whole, or from its body on, and fails the same check there.
//     So the documented order of refusals is the same whichever process a caller is connected to.
// C2. Where it runs, only what time or a record may have changed is checked again: whether the
//     service runs, and whether the caller may still act.

import type { Call, Outcome, Route, Service } from '../api/route.ts'
import { isRejection } from '../forum/rejection.ts'
import type { Exchange, Settled } from './exchange.ts'
import { type Body, overloaded, tooLarge } from './incoming-body.ts'
import type { Prepared } from './prepared-route.ts'

/** A call whose type parameters are known to its route alone. */
export interface AnyCall extends Call<unknown, unknown> {
  bodyBytes: number
}

/** Why a body was not kept, or its bytes. */
export type UnreadBody = Uint8Array | 'too_large' | 'overloaded'

/** What another process needs of a call: `client` is the caller's address, needed or not. */
export type SentCall = Omit<AnyCall, 'connection' | 'found' | 'session'>

export interface CheckedRequest {
  /** The place of its route (prepared-route.ts). */
  place: number
  call: SentCall
  /** The body, if it failed a check: these checks, and those behind them, are left. */
  unread: UnreadBody | null
}

/**
 * The call that another process has sent. Its properties are listed, in the order of the edge's own
 * calls: all calls then have one shape in V8, where a spread gives each a new one (an eighth of the
 * processor time of a reply in a main process with readers).
 */
export function receivedCall(sent: SentCall, client: string, connection: Exchange): AnyCall {
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
    connection,
    found: undefined,
    bodyBytes: sent.bodyBytes,
  }
}

/** Where this process follows another one: how requests reach the one that decides. */
export interface Forward {
  /** Passes a request on as it came. Its body is not collected yet. */
  whole(exchange: Exchange, route: Route): void
  /** Passes on what has passed the checks; with an unread body, those before that of the body. */
  checked(exchange: Exchange, prepared: Prepared, call: AnyCall, unread: UnreadBody | null): void
  /** Whether checked requests are taken at present; otherwise all are passed on whole. */
  readonly takesChecked: boolean
}

/**
 * Runs a route for a process that renders the answer: where the route is a command, the outcome has
 * its decision in place of a body.
 */
export function runForAnother(
  route: Route,
  service: Service,
  call: AnyCall,
): Outcome | Promise<Outcome> {
  if (route.decide === undefined) return route.run(service, call)
  const decision = route.decide(service, call)
  if (isRejection(decision)) return decision
  return { status: 0, body: '', position: decision.position, decision }
}

/** What `runForAnother` left to this process. */
export function rendered(settled: Settled, route: Route, service: Service, call: AnyCall): Settled {
  if ('rejected' in settled || settled.decision === undefined) return settled
  return route.render!(service, call, settled.decision)
}

/** A body as it is sent. The bytes are copied. */
export function unreadBody(body: Body): UnreadBody {
  if (body === tooLarge) return 'too_large'
  return body === overloaded ? 'overloaded' : Buffer.from(body as Buffer)
}

/** The body that `unreadBody` was given. */
export function bodyOf(unread: UnreadBody): Body {
  if (unread === 'too_large') return tooLarge
  if (unread === 'overloaded') return overloaded
  return Buffer.from(unread.buffer, unread.byteOffset, unread.length)
}
