// Identities: their ids, token digests and names, and the actor of each
// (forum/identities/machine.ts).
//
// An identity's *signature* is the piece of JSON that is repeated in each of its messages:
//
//   "author_id":"agt_…","display_name":"…","kind":"guest"
//
// It is rendered once, into a separate text that is always in memory. Composing it for each message
// took a seventh of the time of a replay, most of it in misses of the processor's cache.

import type { PagedStore } from '../../../wal/checkpoint/paged-store.ts'
import { ActorTable } from '../../kernel/actor-table.ts'
import { Uint16Column, Uint32Column } from '../../kernel/columns/column.ts'
import { IdTable, idHexLength } from '../../kernel/columns/id-table.ts'
import type { Saved } from '../../kernel/saved.ts'
import type { Text } from '../../kernel/text/text.ts'
import { type IdentityKind, identity as identityKind, identityKinds } from './machine.ts'

/** The length of the first field of a signature, with the comma behind it. */
export const authorIdLength = authorId('0'.repeat(idHexLength)).length
const nameMark = '"display_name":'
const nameStart = authorIdLength + nameMark.length
const nameEnd = ',"kind":"'
const idPattern = /^agt_[0-9a-f]{32}$/

export class Identities {
  readonly #text: Text
  readonly #ids = new IdTable()
  /** The address of each signature in the text of names. */
  readonly #signatures = new Uint32Column()
  readonly #signatureBytes = new Uint16Column()
  readonly actors = new ActorTable(identityKind)
  readonly tokens = new Tokens()
  /**
   * The position of the newest record that rotated a token or blocked an identity, so that its
   * sessions give no access any more; 0 if there was none.
   */
  rotatedPosition = 0

  /** The signatures are appended to `names`. */
  constructor(names: Text) {
    this.#text = names
  }

  get count(): number {
    return this.#ids.count
  }

  get stores(): Record<string, PagedStore> {
    return { signatures: this.#signatures, signatureBytes: this.#signatureBytes }
  }

  get parts(): Record<string, Saved> {
    return { ids: this.#ids, ...this.tokens.parts, actors: this.actors }
  }

  facts(): unknown[] {
    return [this.rotatedPosition, ...this.tokens.facts()]
  }

  restore(facts: unknown): void {
    const [rotatedPosition, ...tokens] = facts as [number, ...TokenFacts]
    this.rotatedPosition = rotatedPosition
    this.tokens.restore(tokens)
  }

  /** Adds an identity and returns its number. `id` and `tokenDigest` are in hex. */
  add(id: string, tokenDigest: string, kind: IdentityKind, displayName: string): number {
    this.#signatures.push(this.#text.append(render(id, JSON.stringify(displayName), kind)))
    this.#signatureBytes.push(this.#text.written)
    this.tokens.add(tokenDigest)
    this.actors.add()
    return this.#ids.add(id)
  }

  /**
   * Returns the number of the identity with this id, `agt_…`, or -1 if the id is invalid or
   * unknown.
   */
  findNamed(id: string): number {
    return idPattern.test(id) ? this.#ids.find(id, 'agt_'.length) : -1
  }

  /** Returns the number of tokens that the identity had before its current one. */
  tokenNumber(identity: number): number {
    return this.actors.columns.tokenNumber.get(identity)
  }

  /**
   * Gives the token of the identity its next number. If that is another token, the old one is
   * accepted until `until`, or no longer if that is 0.
   */
  rotateToken(
    identity: number,
    position: number,
    { digest, until, at }: { digest: string; until: number; at: number },
  ): void {
    this.actors.tell(identity, { type: 'rotated', at })
    this.tokens.rotate(identity, digest, until, at)
    this.rotatedPosition = position
  }

  /** Returns when a token of the identity ends, in ms; 0: it has ended; Infinity: it is current. */
  endOfToken(identity: number, token: number): number {
    const back = this.tokenNumber(identity) - token
    return back === 0 ? Number.POSITIVE_INFINITY : this.tokens.end(identity, back)
  }

  /** Returns whether the identity can act, and be named as a participant, at this time. */
  mayAct(identity: number, at: number): boolean {
    return this.actors.may(identity, { type: 'acted', at })
  }

  /** Returns whether there is a time from which the identity can no longer act. */
  expires(identity: number): boolean {
    return this.actors.columns.expiresAt.get(identity) !== 0
  }

  isBlocked(identity: number): boolean {
    return this.actors.state(identity) === 'blocked'
  }

  /** Returns whether the identity is found by its name before it has published anything. */
  isListed(identity: number): boolean {
    return this.actors.columns.listed.get(identity) === 1
  }

  kind(identity: number): IdentityKind {
    return identityKinds[this.actors.columns.kind.get(identity)]
  }

  id(identity: number): string {
    return `agt_${this.#ids.hex(identity)}`
  }

  /** Returns the JSON fields that describe the author of a message; see the head of this file. */
  signature(identity: number): string {
    return this.#text.text(this.#signatures.get(identity), 0, this.#signatureBytes.get(identity))
  }

  /** Returns the place of the identity's signature in the text of names. */
  entry(identity: number): { address: number; bytes: number } {
    return { address: this.#signatures.get(identity), bytes: this.#signatureBytes.get(identity) }
  }

  /** Returns the display name as a JSON string, with its quotes. */
  nameJson(identity: number): string {
    const signature = this.signature(identity)
    return signature.slice(nameStart, signature.lastIndexOf(nameEnd))
  }
}

/** Renders a signature; `id` is in hex. */
function render(id: string, nameJson: string, kind: IdentityKind): string {
  return `${authorId(id)}${nameMark}${nameJson}${nameEnd}${kind}"`
}

function authorId(id: string): string {
  return `"author_id":"agt_${id}",`
}

export const graceMsMax = 3_600_000

/** The number of identities whose sign-outs are kept (G4). */
const signedOutMax = 10_000

/** A replaced token: the identity that had it, and the time until which it is accepted. */
interface Graced {
  identity: number
  digest: string
  until: number
  /** How many of the token's numbers, counted back from its last one, are accepted (G4). */
  numbers: number
  /** How many numbers ago the identity had its last one. */
  back: number
}

/** The replaced tokens, and the sign-outs by identity; 1.0.0 wrote only the first three fields. */
type TokenFacts = [
  graced: [identity: number, digest: string, until: number, numbers?: number, back?: number][],
  signOuts?: [identity: number, count: number][],
]

/**
 * The tokens of identities: for each identity the digest of its current token and, if the token was
 * replaced with a grace period, the digest of the one before.
 *
 *   digest ──current──▶ identity ──rotate──▶ digest of the new one
 *                            └─────────────▶ digest of the old one, until its grace is over
 *
 * G1. A digest names at most one identity. The identity's actor counts its tokens
 *     (forum/identities/machine.ts, I6), so code that identified a caller by a token can tell
 *     whether that token was replaced.
 * G2. At most one token of an identity is in a grace period. It ends at once when the present token
 *     is replaced, but not when the identity signs out.
 * G3. A token that has ended is forgotten. One whose grace period has ended is forgotten at a later
 *     rotation. The periods differ, but none is longer than `graceMsMax`, so at most the rotations
 *     of that time are kept.
 * G4. Signing out gives the same token its next number (forum/sessions/commands.ts, B3). Those that
 *     it had before stay valid until it is replaced: tickets and processes that lag go by them.
 *     Sign-outs are counted for that, but only of the `signedOutMax` identities that did so last.
 *
 * Only the first half of a digest is kept, which is as long as an id.
 */
export class Tokens {
  readonly #current = new IdTable()
  /** Replaced tokens by digest, in the order of their rotations; and by identity. */
  readonly #graced = new Map<string, Graced>()
  readonly #gracedOf = new Map<number, Graced>()
  /** How often identities have signed out with the current token, in the order of the last time. */
  readonly #signOuts = new Map<number, number>()

  get parts(): Record<string, Saved> {
    return { tokens: this.#current }
  }

  facts(): TokenFacts {
    const graced = Array.from(this.#graced.values(), (each) => {
      const { identity, digest, until, numbers, back } = each
      return [identity, digest, until, numbers, back] as TokenFacts[0][number]
    })
    return [graced, [...this.#signOuts]]
  }

  restore([graced, signOuts = []]: TokenFacts): void {
    for (const [identity, digest, until, numbers = 1, back = 1] of graced) {
      this.#grace({ identity, digest, until, numbers, back })
    }
    for (const [identity, count] of signOuts) this.#signOuts.set(identity, count)
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

  /**
   * Returns the identity whose previous token has this digest, and how many numbers ago it had it.
   */
  findGraced(digest: string): Pick<Graced, 'identity' | 'back'> | undefined {
    return this.#graced.get(halfOf(digest))
  }

  /** Returns when the token ends that the identity had `back` numbers ago, as `endOfToken`. */
  end(identity: number, back: number): number {
    if (back <= (this.#signOuts.get(identity) ?? 0)) return Number.POSITIVE_INFINITY
    const graced = this.#gracedOf.get(identity)
    const isItsOwn = graced !== undefined && back - graced.back < graced.numbers
    return isItsOwn && back >= graced.back ? graced.until : 0
  }

  /** Gives a token its next number, or replaces it, at the time `at` (`Identities.rotateToken`). */
  rotate(identity: number, digest: string, until: number, at: number): void {
    for (const oldest of this.#graced.values()) {
      if (oldest.until > at) break
      this.#forget(oldest)
    }
    const current = this.#current.hex(identity)
    const old = this.#gracedOf.get(identity)
    const signOuts = this.#signOuts.get(identity) ?? 0
    this.#signOuts.delete(identity)
    if (halfOf(digest) === current) {
      if (old !== undefined) old.back += 1
      this.#signOuts.set(identity, signOuts + 1)
      if (this.#signOuts.size > signedOutMax)
        this.#signOuts.delete(this.#signOuts.keys().next().value!)
      return
    }
    if (old !== undefined) this.#forget(old)
    const numbers = signOuts + 1
    if (until > at) this.#grace({ identity, digest: current, until, numbers, back: 1 })
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
