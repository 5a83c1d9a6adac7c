// A route is a declaration: what it is called, who may call it, what goes in and what comes out.
// http/ runs it, openapi.ts describes it. No route reads a header or writes a byte by itself.

import type { Challenger } from '../delivery/challenge.ts'
import type { Forum, Rejection } from '../forum/forum.ts'
import type { Action } from '../state/quotas.ts'
import type { ErrorCode } from './errors.ts'
import type { Schema } from './schema.ts'

/** What every route can reach. */
export interface Service {
  forum: Forum
  /** The service's own origin, without a slash at the end. */
  publicUrl: string
  pollAfterSeconds: number
  webhooks: {
    /** Why a webhook may not be at this URL, as a sentence, or null. */
    refuseUrl(url: string): string | null
    /** Has an endpoint prove that it listens. */
    challenge: Challenger['ask']
  }
  /** Whether messages can be published by GET. */
  compat: boolean
  /** The durability mode, for people. */
  durability: string
  version: string
  /** Which history of the log this is (epoch.ts). */
  epoch: string
  /** Seconds since the process began to serve. */
  uptimeSeconds(): number
}

/** A request that has passed every check its route declares. */
export interface Call<Body, Query> {
  /** The identity's number; `nobody` on a route that lets anonymous callers in. */
  caller: number
  /** The id in the path, or an empty string. */
  id: string
  query: Query
  body: Body
  /** The caller's address where the route `needsClient`; otherwise an empty string. */
  client: string
  /** The idempotency key, or an empty string where the route needs none. */
  key: string
  /** The service's origin, as the caller may know it, where the route `namesOrigin`; else ''. */
  origin: string
  /** The header If-None-Match where the route `hasEtag`; otherwise an empty string. */
  ifNoneMatch: string
}

export interface Answer {
  status: number
  /** A text, mostly JSON, or bytes: unless `isOwn` a page, until the next one (state/page.ts). */
  body: string | Uint8Array
  /** Its bytes are no view that the next page overwrites: they stay as they are. */
  isOwn?: boolean
  /** The answer leaves when this position is durable. */
  position: number
  /** The entity tag, with its quotes; with status 304 the body is not sent. */
  etag?: string
  /** Seconds after which asking again makes sense, of a refusal that says more than an error. */
  retryAfter?: number
}

/** An operation of the OpenAPI document. */
interface Operation {
  /** The operation's name in the document. */
  name: string
  summary: string
  method: 'get' | 'post' | 'delete'
  /** At most one `:parameter`. */
  path: string
  /** Schema of the path parameter. */
  id?: Schema
  auth: 'none' | 'optional' | 'bearer'
  /** Whether an idempotency key is required. */
  idempotent?: boolean
  /** Whether `run` wants to know the caller's address; asked at each request. */
  needsClient?(service: Service): boolean
  /** A GET to be guarded like a write: no HEAD, no prefetch, nothing from other sites. */
  guarded?: boolean
  /** The most characters of the URL, with the service's origin. */
  urlCharactersMax?: number
  /** Where it allows no other properties, an unknown or repeated parameter is refused. */
  query?: Schema
  /** Parameters whose values `run` checks itself: something else must be refused first. */
  checkedLate?: readonly string[]
  body?: Schema
  /** What is documented of a body that the operation accepts without reading it. */
  unreadBody?: Schema
  /** Its answers carry an ETag, and a caller who has the current one is answered 304. */
  hasEtag?: boolean
  /** Its answer has URLs of the service; without a public URL, of the host in the request. */
  namesOrigin?: boolean
  /** The media type of its answers; refusals are JSON whatever it is. Default: JSON. */
  type?: string
  /** Acts, though it is a GET: tool-calling clients are told to ask before they call it. */
  consequential?: boolean
  /** What each status answers with. */
  answers: Record<number, Schema>
  errors: readonly ErrorCode[]
}

/** Answers at once by the rules of one operation. */
export interface Route<Body = unknown, Query = unknown> extends Operation {
  run(service: Service, call: Call<Body, Query>): Answer | Rejection
  runLater?: undefined
}

/** Answers after something outside has answered. */
export interface AsyncRoute<Body = unknown, Query = unknown> extends Operation {
  runLater(service: Service, call: Call<Body, Query>): Promise<Answer | Rejection>
}

export type AnyRoute = Route | AsyncRoute

/** Declares a route; the type parameters are the shapes that its schemas let through. */
export function route<Body = unknown, Query = unknown>(declared: Route<Body, Query>): Route {
  return declared as Route
}

/** Declares a route that has to wait for something outside. */
export function asyncRoute<Body = unknown, Query = unknown>(
  declared: AsyncRoute<Body, Query>,
): AsyncRoute {
  return declared as AsyncRoute
}

/** For `needsClient`: whether a limit of this action counts by the caller's address. */
export function countsAddresses(action: Action): (service: Service) => boolean {
  return ({ forum }) => forum.state.quotas.needsClient(action)
}
