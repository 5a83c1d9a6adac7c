// The tokens of identities: of each the digest of its present one, and of those that were replaced
// with a grace the digest of the one before.
//
//   digest ──current──▶ identity ──rotate──▶ digest of the new one
//                            └─────────────▶ digest of the old one, until its grace is over
//
// G1. A digest names at most one identity. How many tokens an identity has had is in its actor
//     (actors/identity.ts, I6), so whoever was identified by a token knows whether it is replaced.
// G2. At most one token of an identity has a grace: another rotation ends it at once.
// G3. A token that has ended is forgotten. One whose grace is over is forgotten with a later
//     rotation: graces differ, but none is longer than `graceMsMax`, so at most the rotations of
//     that time are kept.
//
// Of a digest its first half is kept, like that of an id.

import { IdTable, idHexLength } from '../columns/id-table.ts'
import type { Saved } from './saved.ts'

/** The longest time for which a token that was replaced is still accepted. */
export const graceMsMax = 3_600_000

/** A token that was replaced: whose it was, and until when it is accepted. */
interface Graced {
  identity: number
  digest: string
  until: number
}

type GracedRow = [identity: number, digest: string, until: number]

export class Tokens {
  readonly #current = new IdTable()
  /** By digest, in the order of their rotations; and by identity. */
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

  /** Adds the token of the next identity; digests are SHA-256 in hex. */
  add(digest: string): void {
    this.#current.add(digest)
  }

  /** The number of the identity whose token this is, or -1. */
  find(digest: string): number {
    return this.#current.find(digest)
  }

  /** The number of the identity whose token this was before the last rotation, or -1. */
  findGraced(digest: string): number {
    return this.#graced.get(halfOf(digest))?.identity ?? -1
  }

  /** Until when the token before is accepted; 0: it is not. */
  graceUntil(identity: number): number {
    return this.#gracedOf.get(identity)?.until ?? 0
  }

  /** Replaces a token at the time `at`; the old one is accepted until `until`. */
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
