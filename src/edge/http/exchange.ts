// One request and its answer, independent of the HTTP server: uWebSockets.js if its native binding
// loads (uws.ts), otherwise Node's own server (node.ts). Callers see no difference.

import { STATUS_CODES } from 'node:http'
import type { ErrorPage } from '../api/errors.ts'
import type { Outcome } from '../api/route.ts'
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
 * Returns the header lines that follow an answer's content type, each after a CRLF: `own`, and
 * those of every answer. The answer may not be cached unless `own` has a Cache-Control line.
 * docs/interface.md, "Headers".
 */
export function headerLines(own: string): string {
  return own.includes(cacheControl)
    ? own + alwaysHeaders
    : `${own}${cacheControl}no-store${alwaysHeaders}`
}

/**
 * The maximum size of the request line and headers together. A publishing URL of more than 4,096
 * characters is answered with 414 (docs/interface.md), so the server has to read it.
 */
export const headBytesMax = 16 << 10

/** The reason phrases of statuses. Node's own list has the name that 413 had before RFC 9110. */
export const reasons: Record<number, string | undefined> = {
  ...STATUS_CODES,
  413: 'Content Too Large',
}

/** The part of an exchange that answers it, and all that is needed of it after the checks. */
export interface Responder {
  /** The counters that the answer updates, and the time at which the request began (meter.ts). */
  meter: RouteMeter | null
  startedMs: number
  /** Header lines that are added to the answer's own, each after a CRLF (cors.ts). */
  moreHeaders: string
  /** Renders errors for a browser that has requested a page; null: errors are JSON. */
  errorPage: ErrorPage | null
  /** Whether the client is known to have hung up. Meaningful only once the request is held. */
  readonly isGone: boolean
  /** Announces that the answer will come after the handler has returned. */
  hold(): void
  /** Calls a function if the client hangs up before it is answered. The request must be held. */
  onHangUp(call: () => void): void
  /**
   * Sends the answer; call it once. `type` is the media type, `headers` are further header lines,
   * each after a CRLF. `body` null: no content. The caller may overwrite the bytes of the body
   * afterwards. Does nothing if the client has disconnected.
   */
  answer(status: number, type: string, headers: string, body: string | Uint8Array | null): void
  /** Takes the outcome, instead of `answer`, if another process answers (checked-request.ts). */
  complete?(outcome: Outcome): void
  /**
   * For a request of a batch (batch.ts): notes the position that must be durable before the batch
   * is answered. Its own answer does not wait for that, and its work not for the end of the tick.
   */
  shows?(position: number): void
  /**
   * For a request of a batch or of another node: called when it begins to wait for news, with a
   * function that ends the wait.
   */
  onWait?(end: () => void): void
}

/** A request and what answers it. */
export interface Exchange extends Responder {
  /** In lower case. */
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** Without the question mark. Must be read for the first time before the handler returns. */
  readonly query: string
  /** A request header by its lower-case name, or ''. Call before the handler returns. */
  header(name: string): string
  /** All values of a repeatable header, in order, joined by commas. Call it like `header`. */
  allOf(name: string): string
  /** The address of the connection's peer, in any spelling. Read before the handler returns. */
  readonly remoteAddress: string
  /**
   * Collects the body and calls `done` once, or never if the client disconnects before its end. A
   * body over `bytesMax` is read to its end and discarded, so that the connection stays usable.
   */
  collect(bytesMax: number, done: (body: Body) => void): void
}

export type Handler = (exchange: Exchange) => void

/** How an HTTP server treats its connections. */
export interface ListenOptions {
  /** The counts of what the server holds, and their limits. */
  load: Load
  /** Whether a proxy is in front, which may disagree about where a request ends (framing.ts). */
  behindProxy: boolean
  /**
   * Set if several processes listen on the port and the kernel distributes connections among them.
   * The first of them checks that the port is free; the others join it.
   */
  sharing?: 'first' | 'joins' | undefined
}

/** Listens on host and port (0: any free port). Rejects with a `PortError` (port-error.ts). */
export type Listen = (
  host: string,
  port: number,
  handler: Handler,
  options: ListenOptions,
) => Promise<Listener>

export interface Listener {
  port: number
  /** Stops accepting connections. Open connections stay until they end. */
  stop(): void
  /** Ends the connections that are still open after `stop`, if the process goes on. */
  close?(): void
  /**
   * Starts or stops accepting connections on a shared port. Returns whether that is done. If not,
   * because another process has taken the port or because opening takes a moment, call it again.
   */
  setOpen?(isOpen: boolean): boolean
  /** Overwrites what the server's buffers keep of earlier requests and answers. */
  overwriteBuffers?(): Promise<void>
}
