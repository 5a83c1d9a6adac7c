// The tokens of identities: for each identity the digest of its current token and, if the token was
// replaced with a grace period, the digest of the one before.
//
//   digest ──current──▶ identity ──rotate──▶ digest of the new one
//                            └─────────────▶ digest of the old one, until its grace is over
//
// G1. A digest names at most one identity. The identity's actor counts its tokens
//     (forum/identities/machine.ts, I6), so code that identified a caller by a token can tell
//     whether that token was replaced.
// G2. At most one token of an identity is in a grace period; another rotation ends it at once.
// G3. A token that has ended is forgotten. One whose grace period has ended is forgotten at a later
//     rotation. The periods differ, but none is longer than `graceMsMax`, so at most the rotations
//     of that time are kept.
//
// Only the first half of a digest is kept, which is as long as an id.

import { IdTable, idHexLength } from '../../kernel/columns/id-table.ts'
import type { Saved } from '../../kernel/saved.ts'

export const graceMsMax = 3_600_000

/** A replaced token: the identity that had it, and the time until which it is accepted. */
interface Graced {
  identity: number
  digest: string
  until: number
}

type GracedRow = [identity: number, digest: string, until: number]

export class Tokens {
  readonly #current = new IdTable()
  /** Replaced tokens by digest, in the order of their rotations; and by identity. */
  readonly #graced = new Map<string, Graced>()
  readonly #gracedOf = new Map<number, Graced>()

  get parts(): Record<string, Saved> {
    return { tokens: this.#current }
  }

  facts(): GracedRow[] {
    return Array.from(this.#graced.values(), ({ identity, digest, until }) => {
      return [identity, digest, until]
    })
  }

  restore(rows: GracedRow[]): void {
    for (const [identity, digest, until] of rows) this.#grace({ identity, digest, until })
  }

  /** Adds the token of the next identity. Digests are SHA-256 in hex. */
  add(digest: string): void {
    this.#current.add(digest)
  }

  /** Returns the part of the digest of the identity's current token that is kept, in hex. */
  digest(identity: number): string {
    return this.#current.hex(identity)
  }

  /** Returns the number of the identity whose current token has this digest, or -1. */
  find(digest: string): number {
    return this.#current.find(digest)
  }

  /** Returns the number of the identity whose previous token has this digest, or -1. */
  findGraced(digest: string): number {
    return this.#graced.get(halfOf(digest))?.identity ?? -1
  }

  /** Returns the time until which the previous token is accepted; 0 if it is not accepted. */
  graceUntil(identity: number): number {
    return this.#gracedOf.get(identity)?.until ?? 0
  }

  /** Replaces a token at the time `at`. The old one is accepted until `until`. */
  rotate(identity: number, digest: string, until: number, at: number): void {
    const old = this.#gracedOf.get(identity)
    if (old !== undefined) this.#forget(old)
    for (const oldest of this.#graced.values()) {
      if (oldest.until > at) break
      this.#forget(oldest)
    }
    if (until > at) this.#grace({ identity, digest: this.#current.hex(identity), until })
    this.#current.replace(identity, digest)
  }

  #grace(graced: Graced): void {
    this.#graced.set(graced.digest, graced)
    this.#gracedOf.set(graced.identity, graced)
  }

  #forget({ identity, digest }: Graced): void {
    this.#graced.delete(digest)
    this.#gracedOf.delete(identity)
  }
}

function halfOf(digest: string): string {
  return digest.slice(0, idHexLength)
}
