// One request and its answer, as the HTTP library under us shows them: uWebSockets.js where its
// native binding loads (uws.ts), Node's own server elsewhere (node.ts). Callers see no difference.

import type { Body } from './incoming-body.ts'
import type { Load } from './load.ts'
import type { RouteMeter } from './meter.ts'

export const jsonType = 'application/json; charset=utf-8'

/** The lines of every answer, each after a CRLF. docs/interface.md, "Headers". */
export const standardHeaders =
  '\r\nCache-Control: no-store' +
  '\r\nX-Content-Type-Options: nosniff' +
  '\r\nReferrer-Policy: no-referrer' +
  '\r\nX-Robots-Tag: noindex, nofollow'

/**
 * The longest request line and headers together. A publishing URL of more than 4,096 characters is
 * answered with 414 (docs/interface.md), so it has to be read.
 */
export const headBytesMax = 16 << 10

/** The status line's text for every status that the service answers with. */
export const reasons: Record<number, string> = {
  200: 'OK',
  201: 'Created',
  204: 'No Content',
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
  429: 'Too Many Requests',
  503: 'Service Unavailable',
}

export interface Exchange {
  /** Where the edge counts the answer, and when the request began (meter.ts). */
  meter: RouteMeter | null
  startedMs: number
  /** Header lines that its answer has besides those it is given, each after a CRLF (cors.ts). */
  moreHeaders: string
  /** In lower case. */
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** Without the question mark. Asked for the first time before the handler returns. */
  readonly query: string
  /** A request header by its lower-case name, or ''. Only until the handler returns. */
  header(name: string): string
  /** Every value of a header that may come more than once, in order, between commas. Likewise. */
  allOf(name: string): string
  /** The address at the other end of the connection, in any spelling. Likewise. */
  readonly remoteAddress: string
  /**
   * Collects the body and calls `done` once; never when the client hangs up before its end. A body
   * over `bytesMax` is read to its end and dropped, so that the connection stays usable.
   */
  collect(bytesMax: number, done: (body: Body) => void): void
  /** Says that the answer comes after the handler returned. */
  hold(): void
  /**
   * Answers, once. `type` is the media type, `headers` are further header lines, each after a CRLF.
   * A client that hung up gets nothing. `body` null: no content.
   */
  answer(status: number, type: string, headers: string, body: string | Uint8Array | null): void
}

export type Handler = (exchange: Exchange) => void

/** How an HTTP server is to treat those who connect. */
export interface ListenOptions {
  /** What it holds is counted here, within the limits there. */
  load: Load
  /** A proxy stands in front, and may have read differently where a request ends. */
  behindProxy: boolean
}

/** Listens on host and port (0: any free one). Rejects when it cannot (port-error.ts). */
export type Listen = (
  host: string,
  port: number,
  handler: Handler,
  options: ListenOptions,
) => Promise<Listener>

export interface Listener {
  port: number
  /** Accepts no more connections; those that are open stay until they end. */
  stop(): void
}
