// Decides which pages of other origins may use the API from a browser (--cors). Tokens are sent in
// a header that scripts set, never by the browser itself, so credentials are never allowed.

import type { Exchange } from './exchange.ts'

/** Origins as browsers write them, or all. */
export type CorsOrigins = '*' | readonly string[]

const exposed = '\r\nAccess-Control-Expose-Headers: ETag, Preference-Applied, Retry-After'
const requestHeaders = 'Authorization, Content-Type, Idempotency-Key, If-None-Match, Prefer'
/** How long a browser may cache the answer to a preflight: Chrome's maximum. */
const preflightSeconds = 7200

export class Cors {
  readonly #origins: '*' | ReadonlySet<string>

  constructor(origins: CorsOrigins) {
    this.#origins = origins === '*' ? '*' : new Set(origins)
  }

  allows(origin: string): boolean {
    return this.#origins === '*' || this.#origins.has(origin)
  }

  /** Returns the header lines of every answer to this request. Call before the handler returns. */
  headers(exchange: Exchange): string {
    if (this.#origins === '*') return `\r\nAccess-Control-Allow-Origin: *${exposed}`
    const origin = exchange.header('origin')
    const varies = '\r\nVary: Origin'
    if (!this.#origins.has(origin)) return varies
    return `${varies}\r\nAccess-Control-Allow-Origin: ${origin}${exposed}`
  }

  /**
   * Returns the further header lines of a preflight's answer, or ''. `methods` is Allow's value.
   */
  preflight(exchange: Exchange, methods: string): string {
    const isPreflight = exchange.header('access-control-request-method') !== ''
    if (!isPreflight || !this.allows(exchange.header('origin'))) return ''
    return (
      `\r\nAccess-Control-Allow-Methods: ${methods}` +
      `\r\nAccess-Control-Allow-Headers: ${requestHeaders}` +
      `\r\nAccess-Control-Max-Age: ${preflightSeconds}`
    )
  }
}
