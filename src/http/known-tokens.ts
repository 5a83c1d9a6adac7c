// The identities behind the tokens seen lately, so that most requests cost no SHA-256.
//
//   header ──its first hex digits──▶ place p ──▶ headers[p], headers[p ^ 1]      two may live there
//
// T1. Only tokens that somebody holds are kept, and a token names the same identity for ever:
//     nothing here has to be forgotten. Whether the identity may still act is asked each time.
// T2. A header is kept only as it is usually written; with spaces put in it could be of any length.
// T3. At most `places` headers are kept. Where both places are taken the older one's is given up:
//     tokens are random, so that is rare before there are too many.
//
// A Map would hash all of a header that was never seen as this string before: twice the time.

import { nobody } from '../state/state.ts'

const places = 65_536
const placeShift = 32 - Math.log2(places)
const usualStart = 'Bearer aic_'.length
const usualCharacters = usualStart + 64
/** How many of a token's digits make its place. */
const placeDigits = 8

export class KnownTokens {
  readonly #headers: string[] = new Array<string>(places).fill('')
  readonly #identities = new Uint32Array(places)

  /** The number of the identity that this Authorization header names, or `nobody`. */
  find(header: string): number {
    if (header.length !== usualCharacters) return nobody
    const place = placeOf(header)
    if (this.#headers[place] === header) return this.#identities[place]
    if (this.#headers[place ^ 1] === header) return this.#identities[place ^ 1]
    return nobody
  }

  add(header: string, identity: number): void {
    if (header.length !== usualCharacters) return
    const place = placeOf(header)
    this.#headers[place ^ 1] = this.#headers[place]
    this.#identities[place ^ 1] = this.#identities[place]
    this.#headers[place] = header
    this.#identities[place] = identity
  }
}

function placeOf(header: string): number {
  let hash = 0
  for (let i = usualStart; i < usualStart + placeDigits; i++) {
    hash = Math.imul(hash, 31) + header.charCodeAt(i)
  }
  return Math.imul(hash, 0x9e3779b1) >>> placeShift
}
