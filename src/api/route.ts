// A route is a declaration: its name, who may call it, its input and its output. http/ executes it,
// openapi.ts describes it. No route reads a header or writes a byte itself.
//
// R1. A route is declared without a forum: it imports the types of commands, and runs those that
//     the service has. So whoever reads declarations alone loads no state.

import type { Challenger } from '../delivery/challenge.ts'
import type { Forum, Positioned } from '../forum/forum.ts'
import type { Registration } from '../forum/identities.ts'
import type { Making } from '../forum/page-making.ts'
import { isRejection, type Rejection } from '../forum/rejection.ts'
import type { Session } from '../forum/sessions.ts'
import type { MessageSearch } from '../search/find.ts'
import type { Action } from '../state/quotas.ts'
import type { ErrorCode, ErrorPage } from './errors.ts'
import type { Schema } from './schema.ts'

/** A node's part among those that have the same log; `single`: it is alone. */
export type RoleName = 'single' | 'leader' | 'follower'

export type Commands = typeof import('../forum/commands.ts')

/** Whom a node lets in. docs/interface.md, "Access". */
export interface Access {
  /** Whether what shows content needs a token. */
  membersOnly: boolean
  registration: Registration
}

/** What every route can reach. */
export interface Service {
  forum: Forum
  /** What routes run, on the forum. */
  commands: Commands
  /** The service's own origin, without a slash at the end. */
  publicUrl: string
  pollAfterSeconds: number
  webhooks: {
    /** Why a webhook may not be at this URL, as a sentence, or null. */
    refuseUrl(url: string): string | null
    /** Challenges an endpoint to prove that its owner controls it. */
    challenge: Challenger['verify']
  }
  /** Whom the node lets in. */
  access: Access
  /** Whether messages can be published by GET. */
  compat: boolean
  /** How messages are found by their words; null: this node does not offer it. */
  search: MessageSearch | null
  /** The name of the durability mode. */
  durability: string
  version: string
  /** The id of the log's present history (storage/node-files.ts). */
  epoch: string
  /** Whether this node decides: alone, or for others; or follows the one that does. */
  role: () => RoleName
  /** Seconds since the process began to serve. */
  uptimeSeconds(): number
}

/** A request that has passed every check its route declares. */
export interface Call<Body, Query, Found = Finding | undefined> {
  /** The identity's number; `nobody` on a route that lets anonymous callers in. */
  caller: number
  /** Which of its tokens the caller has sent (forum/identities.ts). */
  token: number
  /** The session of a person, on pages and their forms; null: the caller is not signed in. */
  session: Session | null
  /** The id in the path, or an empty string. */
  id: string
  query: Query
  body: Body
  /** The caller's address where the route `needsClient`; otherwise an empty string. */
  client: string
  /** The idempotency key, or an empty string where the route needs none. */
  key: string
  /** The service's origin as the caller knows it, where the route `namesOrigin`; otherwise ''. */
  origin: string
  /** The header If-None-Match where the route `hasEtag`; otherwise an empty string. */
  ifNoneMatch: string
  /** Tells whether the caller has hung up. */
  connection: { readonly isGone: boolean }
  /** What the route's `find` has found; undefined where it has none. */
  found: Found
}

export interface Answer {
  status: number
  /**
   * A text, usually JSON, or bytes: a view of the page buffer (text/page.ts) unless either of
   * the next two says otherwise.
   */
  body: string | Uint8Array
  /** Whether the bytes belong to the answer; otherwise the next page overwrites them. */
  isOwn?: boolean
  /** Whether they are cached, so that they stay until the answers of this tick have left. */
  isCached?: boolean
  /** Makes the body, which is empty until then. */
  making?: Making
  /** The answer leaves when this position is durable. */
  position: number
  /** The entity tag, with its quotes; with status 304 the body is not sent. */
  etag?: string
  /** Set if the page is empty and its caller would wait: for what, and how long. */
  wait?: { topic: number; seconds: number } | undefined
  /** Header lines in place of the route's, each after a CRLF. */
  headers?: string
  /** The seconds of Retry-After, for a refusal that has a body of its own. */
  retryAfter?: number
  /** In place of a body, for the process that renders it (`Command`). */
  decision?: Positioned
}

/** An operation of the OpenAPI document. */
interface Operation {
  /** The operation's name in the document. */
  name: string
  summary: string
  method: 'get' | 'post' | 'put' | 'delete'
  /** At most one `:parameter`. */
  path: string
  /** Schema of the path parameter. */
  id?: Schema
  /** `member`: as `optional`, without anonymous callers; access.ts makes routes that. */
  auth: 'none' | 'optional' | 'bearer' | 'member'
  /** Whether it shows no content, so that it is served without a token everywhere. */
  open?: boolean
  /** Whether callers without an identity publish with it: only where anybody can have one. */
  admits?: boolean
  /** Whether an idempotency key is required. */
  idempotent?: boolean
  /** Whether `run` needs the caller's address; evaluated for each request. */
  needsClient?(service: Service, caller: number, query: unknown): boolean
  /** Whether a GET is guarded like a write: no HEAD, no prefetch, no cross-site requests. */
  guarded?: boolean
  /** The maximum length of the URL, including the service's origin. */
  urlCharactersMax?: number
  /** If it allows no additional properties, an unknown or repeated parameter is refused. */
  query?: Schema
  /** Parameters that callers expect here and another operation has: they are refused. */
  misplaced?: { parameters: readonly string[]; detail: string }
  /** A parameter that cannot stand beside these others. */
  apart?: { parameter: string; others: readonly string[] }
  /** Parameters whose values `run` checks itself, because other errors take precedence. */
  checkedLate?: readonly string[]
  body?: Schema
  /** The maximum length of the body; 256 KiB by default. */
  bodyBytesMax?: number
  /**
   * Whether the body is that of a form, an object of `URLSearchParams`, which only pages of the
   * service itself may send. Then the process that decides makes all checks.
   */
  isForm?: boolean
  /** Whether a request without a body is one with an empty object. */
  hasOptionalBody?: boolean
  /** The documentation of a body that the operation accepts without reading it. */
  unreadBody?: Schema
  /** Whether answers carry an ETag, and a caller that has the current one gets 304. */
  hasEtag?: boolean
  /** Whether answers contain URLs of the service. */
  namesOrigin?: boolean
  /** The media type of its answers; JSON by default. Refusals are always JSON. */
  type?: string
  /** Further header lines of its answers, each after a CRLF. */
  headers?: string
  /** Whether a GET has an effect: the document asks tool-calling clients to confirm the call. */
  consequential?: boolean
  /** The schemas of the answers, by status. */
  answers: Record<number, Schema>
  errors: readonly ErrorCode[]
}

/** What a route's `find` has found. */
export interface Finding {
  /** Called when the route has run, or will not run. */
  done(): void
}

export interface Route<
  Body = unknown,
  Query = unknown,
  Found extends Finding | undefined = Finding | undefined,
> extends Operation {
  /**
   * Finds, outside of the event loop, what `run` needs. Then `run` is heavy work (http/tick.ts): it
   * decides access anew, by the state of that time.
   */
  find?(service: Service, call: Call<Body, Query>): Promise<NonNullable<Found> | Rejection>
  /** A promise where the answer has to wait for something, or takes long to find. */
  run(service: Service, call: Call<Body, Query, Found>): Outcome | Promise<Outcome>
  /** Both halves of `run`, where the route is declared by `command`. */
  decide?: Command<Body, Query>['decide']
  render?: Command<Body, Query>['render']
  /** Shows errors of a request whose form has been read: with what the person typed. */
  onError?(service: Service, call: Call<Body, Query>): ErrorPage
  /** The route that answers in its place where the caller prefers HTML. */
  html?: Route
}

export type Outcome = Answer | Rejection

/**
 * A route in two halves, so that one process decides and another one renders what was decided: with
 * `--readers`, the main process and the reader that has the caller.
 */
interface Command<Body, Query, Decision extends Positioned = Positioned> {
  /** Runs the command. The decision consists of values that can be sent to another process. */
  decide(service: Service, call: Call<Body, Query>): Decision | Rejection
  /**
   * Makes the answer. The state may have gone on since the decision, so only those parts of it may
   * be read that never change: ids, times, who wrote what.
   */
  render(service: Service, call: Call<Body, Query>, decision: Decision): Answer
}

/** Declares a route; the type parameters are the shapes that its schemas let through. */
export function route<
  Body = unknown,
  Query = unknown,
  Found extends Finding | undefined = Finding | undefined,
>(declared: Route<Body, Query, Found>): Route {
  return declared as Route
}

/** The id of the history of the log in which positions have their present meaning. */
export function epochOf({ forum, commands, epoch }: Service): string {
  return commands.hasNewerEpoch(forum) ? forum.state.epoch!.id : epoch
}

/** Declares a route that runs a command, by its two halves. */
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

/** For `needsClient`: whether a caller without a token would wait; it has a share by address. */
export function waitsUnnamed({ commands }: Service, caller: number, query: unknown): boolean {
  return caller === commands.nobody && (query as { wait: number }).wait > 0
}

/** The `wait` of a page: for news of the topic, unless the page has items or nobody would wait. */
export function waitFor(topic: number, hasItems: boolean, seconds: number): Answer['wait'] {
  return hasItems || seconds === 0 ? undefined : { topic, seconds }
}

/** For `needsClient`: whether a limit on this action counts by the caller's address. */
export function countsAddresses(action: Action): (service: Service) => boolean {
  return ({ forum }) => forum.state.quotas.needsClient(action)
}
