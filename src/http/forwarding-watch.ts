// Notices that a proxy stands in front while no forwarding header is believed. All callers then
// have the proxy's address and share its limits, so the operator is warned, once.
//
// Looking up a header is a call into the HTTP library, so after the first requests only one in
// `lookOneIn` is looked at: behind a proxy every request has the header.

import type { Exchange } from './exchange.ts'

const alwaysLooked = 1024
/** A power of two. */
const lookOneIn = 64
const headers = ['x-forwarded-for', 'cf-connecting-ip']

export class ForwardingWatch {
  #requests = 0
  #isDone = false
  readonly #warn: (header: string) => void

  /** `warn` is called once, with the name of the header that arrived. */
  constructor(warn: (header: string) => void) {
    this.#warn = warn
  }

  /** Call before the handler returns. */
  look(exchange: Exchange): void {
    if (this.#isDone) return
    this.#requests += 1
    if (this.#requests > alwaysLooked && this.#requests % lookOneIn !== 0) return
    const header = headers.find((name) => exchange.header(name) !== '')
    if (header === undefined) return
    this.#isDone = true
    this.#warn(header)
  }
}
