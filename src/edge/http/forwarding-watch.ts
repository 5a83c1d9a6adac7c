// Detects a proxy in front of a node that is not configured for it, so that the operator is warned,
// once. If no proxy is trusted, all callers have the proxy's address and share its rate limits. If
// --public-url does not say that callers use https, the cookies of sessions lack `Secure`.
//
// Reading a header is a call into the HTTP library, so after the first requests only one in
// `inspectOneIn` is inspected: behind a proxy every request has the header.

import type { Exchange } from './exchange.ts'

const alwaysInspected = 1024
/** A power of two. */
const inspectOneIn = 64
const addressHeaders = ['x-forwarded-for', 'cf-connecting-ip']

/** Returns the name of a header with the caller's address. */
export function forwardedAddress(exchange: Exchange): string | undefined {
  return addressHeaders.find((name) => exchange.header(name) !== '')
}

/** Returns the name of the header which says that the caller used https. */
export function forwardedHttps(exchange: Exchange): string | undefined {
  const name = 'x-forwarded-proto'
  return exchange.header(name).toLowerCase() === 'https' ? name : undefined
}

export class ForwardingWatch {
  #requests = 0
  #isDone = false
  readonly #find: (exchange: Exchange) => string | undefined
  readonly #warn: (header: string) => void

  /** `warn` is called once, with the name of the header that `find` has found. */
  constructor(find: (exchange: Exchange) => string | undefined, warn: (header: string) => void) {
    this.#find = find
    this.#warn = warn
  }

  /** Looks for the header. Call before the handler returns. */
  inspect(exchange: Exchange): void {
    if (this.#isDone) return
    this.#requests += 1
    if (this.#requests > alwaysInspected && this.#requests % inspectOneIn !== 0) return
    const header = this.#find(exchange)
    if (header === undefined) return
    this.#isDone = true
    this.#warn(header)
  }
}
