// A route is a declaration: its name, who may call it, its input and its output. http/ executes it,
// and openapi.ts describes it. No route reads a header or writes a byte itself.
//
// R1. A route is declared without a forum: it imports the types of commands, and runs those that
//     the service provides. A program that reads only the declarations therefore loads no state.

import type { Forum, Positioned } from '../../forum/forum.ts'
import type { Registration } from '../../forum/identities/commands.ts'
import type { MessageSearch } from '../../forum/search/find.ts'
import type { Session } from '../../forum/sessions/commands.ts'
import type { Challenger } from '../../forum/webhooks/challenge.ts'
import type { Action } from '../../kernel/quotas.ts'
import { type ErrorCode, isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Making } from '../../people/page-making.ts'
import type { ErrorPage } from './errors.ts'
import type { Schema } from './schema.ts'

/** A node's role among the nodes that share its log; `single` if no others share it. */
export type RoleName = 'single' | 'leader' | 'follower'

export type Commands = typeof import('../../forum/commands.ts')

/** The access modes of a node. docs/interface.md, "Access". */
export interface Access {
  /** Whether routes that show content need a token. */
  membersOnly: boolean
  registration: Registration
}

/** The parts of a node that every route can use. */
export interface Service {
  forum: Forum
  /** The commands and queries that routes run on the forum. */
  commands: Commands
  /** The service's own origin, without a trailing slash. */
  publicUrl: string
  /** The name of the forum on its pages for people. */
  title: string
  pollAfterSeconds: number
  webhooks: {
    /** Returns a sentence that says why a webhook may not be at this URL, or null if it may. */
    refuseUrl(url: string): string | null
    /** Challenges an endpoint, to verify that the owner of the webhook controls it. */
    challenge: Challenger['verify']
  }
  access: Access
  /** Whether messages can be published by GET. */
  compat: boolean
  /** The full-text search of messages, or null if this node does not offer it. */
  search: MessageSearch | null
  durability: string
  version: string
  /** The id of the log's current history (engine/storage/node-files.ts). */
  epoch: string
  /** Returns whether this node decides alone, leads other nodes, or follows the leader. */
  role: () => RoleName
  /** Seconds since the process began to serve. */
  uptimeSeconds(): number
}

/** A request that has passed every check its route declares. */
export interface Call<Body, Query, Found = Finding | undefined> {
  /** The number of the caller's identity, or `nobody` for an anonymous caller. */
  caller: number
  /** The number of the token that the caller has sent (forum/identities/commands.ts). */
  token: number
  /** On pages and their forms, the visitor's session; null if the visitor is not signed in. */
  session: Session | null
  /** The id in the path, or an empty string. */
  id: string
  query: Query
  body: Body
  /** The caller's address if the route `needsClient`; otherwise an empty string. */
  client: string
  /** The idempotency key, or an empty string if the route needs none. */
  key: string
  /** The service's origin as the caller knows it, if the route `namesOrigin`; otherwise ''. */
  origin: string
  /** The If-None-Match header if the route `hasEtag`; otherwise an empty string. */
  ifNoneMatch: string
  /** Whether the caller prefers an answer without `follow_up` (follow-up.ts). */
  isMinimal: boolean
  /** Shows whether the caller has hung up. */
  connection: { readonly isGone: boolean }
  /** The result of the route's `find`; undefined if it has none. */
  found: Found
}

export interface Answer {
  status: number
  /**
   * A text, usually JSON, or bytes. Bytes are a view of the page buffer (kernel/text/page.ts)
   * unless either of the next two fields is set.
   */
  body: string | Uint8Array
  /** Whether the answer owns the bytes; otherwise the next page overwrites them. */
  isOwn?: boolean
  /** Whether the bytes are in a cache, which keeps them until the answers of this tick are sent. */
  isCached?: boolean
  /** The steps that make the body, which is empty until they are complete. */
  making?: Making
  /** The position that must be durable before the answer is sent. */
  position: number
  /** The entity tag, including its quotes. With status 304 the body is not sent. */
  etag?: string
  /** Set if the page is empty and its caller is ready to wait: the topic, and the seconds. */
  wait?: { topic: number; seconds: number } | undefined
  /** Header lines that replace those of the route, each preceded by a CRLF. */
  headers?: string | undefined
  /** The seconds of Retry-After, for a refusal with a body of its own. */
  retryAfter?: number
  /** What was decided, in place of a body, for the process that renders the answer (`Command`). */
  decision?: Positioned
}

interface Operation {
  /** The operationId in the document. */
  name: string
  summary: string
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** At most one `:parameter`. */
  path: string
  /** Another path that leads here, which the document does not name. */
  alsoAt?: string
  id?: Schema
  /** `member` is `optional` without anonymous callers. Only access.ts sets it. */
  auth: 'none' | 'optional' | 'bearer' | 'member'
  /** Whether the operation shows no content, so that every node serves it without a token. */
  open?: boolean
  /**
   * Whether callers publish with it without an identity, which requires that anybody may register.
   */
  admits?: boolean
  /** Whether an idempotency key is required, or may be sent. */
  idempotent?: boolean | 'optional'
  /** Whether `run` needs the caller's address; evaluated for each request. */
  needsClient?(service: Service, caller: number, query: unknown): boolean
  /** Whether a GET is guarded like a write: no HEAD, no prefetch, no cross-site requests. */
  guarded?: boolean
  /** The maximum length of the URL, including the service's origin. */
  urlCharactersMax?: number
  /**
   * The schema of the query. If it allows no additional properties, a request with an unknown or
   * repeated parameter is refused.
   */
  query?: Schema
  /**
   * Parameters that callers expect here but that belong to another operation, so they are refused.
   */
  misplaced?: { parameters: readonly string[]; detail: string }
  /** A parameter that cannot be combined with these others. */
  exclusive?: { parameter: string; others: readonly string[]; code?: ErrorCode }
  /** Parameters whose values `run` checks itself, because other errors take precedence. */
  checkedLate?: readonly string[]
  body?: Schema
  /** The maximum length of the body; 256 KiB by default. */
  bodyBytesMax?: number
  /** The same for a form that somebody who is not signed in sends. */
  strangerBytesMax?: number
  /**
   * Whether the body is that of a form, an object of `URLSearchParams`, which only the service's
   * own pages may send. All of its checks are made by the process that decides.
   */
  isForm?: boolean
  /**
   * Whether the body is a list of requests, which the edge carries out (edge/http/batch.ts) in
   * place of `run`. The process that receives it does so, whichever process decides.
   */
  isBatch?: boolean
  /** Whether a request without a body is treated as one with an empty object. */
  hasOptionalBody?: boolean
  /** The schema that documents a body which the operation accepts without reading it. */
  unreadBody?: Schema
  /** Whether answers carry an ETag, so that a caller that has the current version gets 304. */
  hasEtag?: boolean
  /** Whether answers contain URLs of the service. */
  namesOrigin?: boolean
  /** The media type of the answers; JSON by default. Refusals are always JSON. */
  type?: string
  /** Additional header lines of the answers, each preceded by a CRLF. */
  headers?: string
  /**
   * Whether a GET has a side effect: the document asks tool-calling clients to confirm the call.
   */
  consequential?: boolean
  answers: Record<number, Schema>
  /** The error codes besides those that follow from the other fields (openapi.ts). */
  errors?: readonly ErrorCode[]
}

/** The result of a route's `find`. */
export interface Finding {
  /** Called when the route has run, or when it is certain not to run. */
  done(): void
}

export interface Route<
  Body = unknown,
  Query = unknown,
  Found extends Finding | undefined = Finding | undefined,
> extends Operation {
  /**
   * Finds what `run` needs, outside of the event loop. `run` is then scheduled as heavy work
   * (edge/http/heavy-work.ts), and decides access anew, by the state of that time.
   */
  find?(service: Service, call: Call<Body, Query>): Promise<NonNullable<Found> | Rejection>
  /** Answers the call: with a promise if the answer has to wait, or takes long to find. */
  run(service: Service, call: Call<Body, Query, Found>): Result | Promise<Result>
  /** The two halves of `run`, if the route was declared by `command`. */
  decide?: Command<Body, Query>['decide']
  render?: Command<Body, Query>['render']
  /** Renders errors of a request whose form has been read, together with what the person typed. */
  onError?(service: Service, call: Call<Body, Query>): ErrorPage
  /** The route that answers instead if the caller prefers HTML. */
  html?: Route
}

export type Outcome = Answer | Rejection

/**
 * The result of running a route. Null: it needs text from disk, which it has noted
 * (kernel/text/cold-reads.ts), and runs again once the text is in memory.
 */
export type Result = Outcome | null

/**
 * A route in two halves, so that one process can decide and another one can render the outcome:
 * with `--readers`, the main process and the reader that serves the caller.
 */
interface Command<Body, Query, Decision extends Positioned = Positioned> {
  /** Runs the command. The decision consists of values that can be sent to another process. */
  decide(service: Service, call: Call<Body, Query>): Decision | Rejection
  /**
   * Renders the answer. The state may have advanced since the decision, so `render` may read only
   * its immutable parts, such as ids, times and authors.
   */
  render(service: Service, call: Call<Body, Query>, decision: Decision): Answer
}

/** Declares a route. The type parameters are the shapes that its schemas accept. */
export function route<
  Body = unknown,
  Query = unknown,
  Found extends Finding | undefined = Finding | undefined,
>(declared: Route<Body, Query, Found>): Route {
  return declared as Route
}

export function command<Decision extends Positioned, Body = unknown, Query = unknown>(
  declared: Omit<Route<Body, Query>, 'run' | 'find' | 'decide' | 'render'> &
    Command<Body, Query, Decision>,
): Route {
  const { decide, render } = declared
  return route<Body, Query>({
    ...(declared as Omit<Route<Body, Query>, 'run'>),
    run(service, call) {
      const decision = decide(service, call)
      return isRejection(decision) ? decision : render(service, call, decision)
    },
  })
}

/** For `needsClient`: an anonymous caller's share of long reads goes by its address. */
export function isUnnamed({ commands }: Service, caller: number): boolean {
  return caller === commands.nobody
}

/**
 * For `needsClient`: returns whether an anonymous caller is ready to wait, since its share of the
 * waiting requests goes by its address.
 */
export function waitsUnnamed({ commands }: Service, caller: number, query: unknown): boolean {
  return caller === commands.nobody && (query as { wait: number }).wait > 0
}

/**
 * Returns the `wait` for news of the topic, unless the page has items or the caller does not wait.
 */
export function waitFor(topic: number, hasItems: boolean, seconds: number): Answer['wait'] {
  return hasItems || seconds === 0 ? undefined : { topic, seconds }
}

/** Makes a `needsClient`: whether a rate limit on this action counts by the caller's address. */
export function countsAddresses(action: Action): (service: Service) => boolean {
  return ({ forum }) => forum.state.quotas.needsClient(action)
}
