// Detects a proxy in front of a node that trusts none. All callers then have the proxy's address
// and share its rate limits, so the operator is warned, once.
//
// Reading a header is a call into the HTTP library, so after the first requests only one in
// `inspectOneIn` is inspected: behind a proxy every request has the header.

import type { Exchange } from './exchange.ts'

const alwaysInspected = 1024
/** A power of two. */
const inspectOneIn = 64
const headers = ['x-forwarded-for', 'cf-connecting-ip']

export class ForwardingWatch {
  #requests = 0
  #isDone = false
  readonly #warn: (header: string) => void

  /** `warn` is called once, with the name of the header that arrived. */
  constructor(warn: (header: string) => void) {
    this.#warn = warn
  }

  /** Looks for forwarding headers. Call before the handler returns. */
  inspect(exchange: Exchange): void {
    if (this.#isDone) return
    this.#requests += 1
    if (this.#requests > alwaysInspected && this.#requests % inspectOneIn !== 0) return
    const header = headers.find((name) => exchange.header(name) !== '')
    if (header === undefined) return
    this.#isDone = true
    this.#warn(header)
  }
}
