// The identities behind the tokens seen lately, so that most requests cost no SHA-256.
//
// T1. Only tokens that somebody holds are kept, and a token names the same identity for ever:
//     nothing here has to be forgotten. Whether the identity may still act is asked each time.
// T2. A header is kept only as it is usually written; with spaces put in it could be of any length.
// T3. Two generations, each of at most `keptMax` headers: what was used lately stays.

import { nobody } from '../state/state.ts'

const keptMax = 16_384
const usualCharacters = 'Bearer aic_'.length + 64

export class KnownTokens {
  #current = new Map<string, number>()
  #before = new Map<string, number>()

  /** The number of the identity that this Authorization header names, or `nobody`. */
  find(header: string): number {
    const identity = this.#current.get(header)
    if (identity !== undefined) return identity
    const before = this.#before.get(header)
    if (before === undefined) return nobody
    this.add(header, before)
    return before
  }

  add(header: string, identity: number): void {
    if (header.length !== usualCharacters) return
    if (this.#current.size === keptMax) {
      this.#before = this.#current
      this.#current = new Map()
    }
    this.#current.set(header, identity)
  }
}
