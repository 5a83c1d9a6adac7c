// One request and its answer, independent of the HTTP server: uWebSockets.js where its native
// binding loads (uws.ts), Node's own server elsewhere (node.ts). Callers see no difference.

import type { ErrorCode, ErrorPage } from '../api/errors.ts'
import type { Answer } from '../api/route.ts'
import type { Rejection } from '../forum/rejection.ts'
import type { Body } from './incoming-body.ts'
import type { Load } from './load.ts'
import type { RouteMeter } from './meter.ts'

export const jsonType = 'application/json; charset=utf-8'

const cacheControl = '\r\nCache-Control: '
const alwaysHeaders =
  '\r\nX-Content-Type-Options: nosniff' +
  '\r\nReferrer-Policy: no-referrer' +
  '\r\nX-Robots-Tag: noindex, nofollow'

/**
 * The header lines of an answer after its content type, each after a CRLF: its own, and those of
 * every answer. Unless its own say so, it is kept nowhere. docs/interface.md, "Headers".
 */
export function headerLines(own: string): string {
  return own.includes(cacheControl)
    ? own + alwaysHeaders
    : `${own}${cacheControl}no-store${alwaysHeaders}`
}

/**
 * The maximum size of request line and headers together. A publishing URL of more than 4,096
 * characters is answered with 414 (docs/interface.md), so it has to be read.
 */
export const headBytesMax = 16 << 10

/** The reason phrase of every status that the service answers with. */
export const reasons: Record<number, string> = {
  200: 'OK',
  201: 'Created',
  204: 'No Content',
  303: 'See Other',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  421: 'Misdirected Request',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
}

/** The refusal of a check; with a position, one that depends on the state. */
export type Refused = Omit<Rejection, 'rejected' | 'detail'> & {
  rejected: ErrorCode
  detail?: string | undefined
}

/** How a request ends, before it is rendered. */
export type Settled = Answer | Refused

export interface Exchange {
  /** The counters of the answer, and the time at which the request began (meter.ts). */
  meter: RouteMeter | null
  startedMs: number
  /** Header lines that are added to the answer's own, each after a CRLF (cors.ts). */
  moreHeaders: string
  /** Shows errors to a browser that has requested a page; null: they are JSON. */
  errorPage: ErrorPage | null
  /** Whether the client is known to have hung up, once the exchange is held. */
  readonly isGone: boolean
  /** In lower case. */
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** Without the question mark. Must be read for the first time before the handler returns. */
  readonly query: string
  /** A request header by its lower-case name, or ''. Call before the handler returns. */
  header(name: string): string
  /** All values of a header that may be repeated, in order, joined by commas. Likewise. */
  allOf(name: string): string
  /** The address at the other end of the connection, in any spelling. Likewise. */
  readonly remoteAddress: string
  /**
   * Collects the body and calls `done` once, or never if the client disconnects before its end. A
   * body over `bytesMax` is read to its end and discarded, so that the connection stays usable.
   */
  collect(bytesMax: number, done: (body: Body) => void): void
  /** Announces that the answer will come after the handler has returned. */
  hold(): void
  /** Calls a function when the client hangs up before it is answered. Only once it is held. */
  onHangUp(call: () => void): void
  /**
   * Sends the answer; call it once. `type` is the media type, `headers` are further header lines,
   * each after a CRLF. Does nothing if the client has disconnected. `body` null: no content. The
   * caller may overwrite its bytes afterwards.
   */
  answer(status: number, type: string, headers: string, body: string | Uint8Array | null): void
  /** Takes the outcome in place of `answer`, which another process calls (checked-request.ts). */
  settle?(outcome: Settled): void
}

export type Handler = (exchange: Exchange) => void

/** How an HTTP server treats its connections. */
export interface ListenOptions {
  /** Counts what the server holds, and has the limits on it. */
  load: Load
  /** Whether a proxy is in front, which may find the end of a request elsewhere (framing.ts). */
  behindProxy: boolean
  /**
   * Several processes listen on the port, and the system deals connections out to them: this one
   * is the first, which finds out whether the port is free, or joins others.
   */
  sharing?: 'first' | 'joins' | undefined
}

/** Listens on host and port (0: any free one). Rejects with a sentence (port-error.ts). */
export type Listen = (
  host: string,
  port: number,
  handler: Handler,
  options: ListenOptions,
) => Promise<Listener>

export interface Listener {
  port: number
  /** Stops accepting connections. Those that are open stay until they end. */
  stop(): void
  /** After `stop`: ends the connections that are still open, where the process goes on. */
  close?(): void
  /**
   * Starts or stops accepting connections on a shared port. Returns whether that is done: another
   * process may have taken the port, or it may take a moment; then call it again.
   */
  setOpen?(isOpen: boolean): boolean
}
