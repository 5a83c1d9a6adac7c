// A route is a declaration: what it is called, who may call it, what goes in and what comes out.
// http/ runs it, openapi.ts describes it. No route reads a header or writes a byte by itself.

import type { Challenger } from '../delivery/challenge.ts'
import type { Forum, Refusal } from '../forum/forum.ts'
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
  /** The durability mode, for people. */
  durability: string
  version: string
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
  /** The idempotency key, or an empty string where the route needs none. */
  key: string
}

export interface Answer {
  status: number
  /** JSON text, or a page (state/page.ts): valid until the next one is put together. */
  body: string | Uint8Array
  /** The answer leaves when this position is durable. */
  position: number
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
  query?: Schema
  body?: Schema
  /** What each status answers with. */
  answers: Record<number, Schema>
  errors: readonly ErrorCode[]
}

/** A route that answers at once. */
export interface SyncRoute<Body = unknown, Query = unknown> extends Operation {
  run(service: Service, call: Call<Body, Query>): Answer | Refusal
  runLater?: undefined
}

/** A route that has to wait for something outside. */
export interface AsyncRoute<Body = unknown, Query = unknown> extends Operation {
  runLater(service: Service, call: Call<Body, Query>): Promise<Answer | Refusal>
}

/** Answers by the rules of one operation. */
export type Route = SyncRoute | AsyncRoute

/** Declares a route; the type parameters are the shapes that its schemas let through. */
export function route<Body = unknown, Query = unknown>(
  declared: SyncRoute<Body, Query>,
): SyncRoute {
  return declared as SyncRoute
}

/** Declares a route that has to wait for something outside. */
export function asyncRoute<Body = unknown, Query = unknown>(
  declared: AsyncRoute<Body, Query>,
): AsyncRoute {
  return declared as AsyncRoute
}
