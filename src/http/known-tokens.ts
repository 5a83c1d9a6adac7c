// The identities behind the tokens seen lately, so that most requests cost no SHA-256.
//
//   header ──its first hex digits──▶ pair p ──▶ headers[p], headers[p + 1]      the newer first
//
// T1. Only tokens that somebody holds are kept, and a token names the same identity for ever:
//     nothing here has to be forgotten. Whether the identity may still act is asked each time.
// T2. A header is kept only at its usual length; with spaces put in it could be of any.
// T3. At most `places` headers are kept, two in a pair. For a third the oldest is given up: tokens
//     are random, so that is rare before there are too many.
//
// A Map would hash all of a header that was never seen as this string before: twice the time.

import { nobody } from '../state/state.ts'

const places = 65_536
const placeShift = 32 - Math.log2(places)
const usualStart = 'Bearer aic_'.length
const usualCharacters = usualStart + 64
/** How many of a token's digits make its pair. */
const pairDigits = 8

export class KnownTokens {
  readonly #headers: string[] = new Array<string>(places).fill('')
  readonly #identities = new Uint32Array(places)

  /** The number of the identity that this Authorization header names, or `nobody`. */
  find(header: string): number {
    if (header.length !== usualCharacters) return nobody
    const pair = pairOf(header)
    if (this.#headers[pair] === header) return this.#identities[pair]
    if (this.#headers[pair + 1] === header) return this.#identities[pair + 1]
    return nobody
  }

  add(header: string, identity: number): void {
    if (header.length !== usualCharacters) return
    const pair = pairOf(header)
    this.#headers[pair + 1] = this.#headers[pair]
    this.#identities[pair + 1] = this.#identities[pair]
    this.#headers[pair] = header
    this.#identities[pair] = identity
  }
}

function pairOf(header: string): number {
  let hash = 0
  for (let i = usualStart; i < usualStart + pairDigits; i++) {
    hash = Math.imul(hash, 31) + header.charCodeAt(i)
  }
  return (Math.imul(hash, 0x9e3779b1) >>> placeShift) & ~1
}
