// Identities: their ids, token digests, names, and the actor of each (actors/identity.ts).
//
// An identity's *signature* is the piece of JSON that every message of its author repeats:
//
//   "author_id":"agt_…","display_name":"…","kind":"guest"
//
// It is rendered once, into the arena.

import type { PagedStore } from '../../wal/checkpoint/paged-store.ts'
import { type IdentityKind, identity as identityKind, identityKinds } from '../actors/identity.ts'
import { ActorTable } from './actor-table.ts'
import type { Arena } from './arena.ts'
import { Uint16Column, Uint32Column } from './column.ts'
import { IdTable, idHexLength } from './id-table.ts'
import type { Saved } from './saved.ts'

const idStart = '"author_id":"'.length
const idEnd = idStart + 'agt_'.length + idHexLength
const idPattern = /^agt_[0-9a-f]{32}$/

export class Identities {
  readonly #arena: Arena
  readonly #ids = new IdTable()
  readonly #tokens = new IdTable()
  readonly #signatures = new Uint32Column()
  readonly #signatureBytes = new Uint16Column()
  readonly #nameStarts = new Uint16Column()
  readonly actors = new ActorTable(identityKind)

  constructor(arena: Arena) {
    this.#arena = arena
  }

  get count(): number {
    return this.#ids.count
  }

  get stores(): Record<string, PagedStore> {
    const nameStarts = this.#nameStarts
    return { signatures: this.#signatures, signatureBytes: this.#signatureBytes, nameStarts }
  }

  get parts(): Record<string, Saved> {
    return { ids: this.#ids, tokens: this.#tokens, actors: this.actors }
  }

  /** `id` and `tokenDigest` in hex. Returns the new identity's number. */
  add(id: string, tokenDigest: string, kind: IdentityKind, displayName: string): number {
    const author = `"author_id":"agt_${id}","display_name":`
    const signature = `${author}${JSON.stringify(displayName)},"kind":"${kind}"`
    this.#signatures.push(this.#arena.append(signature))
    this.#signatureBytes.push(this.#arena.written)
    this.#nameStarts.push(author.length)
    this.#tokens.add(tokenDigest)
    this.actors.add()
    return this.#ids.add(id)
  }

  /** The number of the identity with this id, `agt_…`, or -1 when the id is invalid or unknown. */
  findNamed(id: string): number {
    return idPattern.test(id) ? this.#ids.find(id, 'agt_'.length) : -1
  }

  /** The number of the identity whose token has this SHA-256 (hex), or -1. */
  findByToken(digest: string): number {
    return this.#tokens.find(digest)
  }

  /** Whether the identity can act, and be named as a participant, at this time. */
  mayAct(identity: number, at: number): boolean {
    return this.actors.may(identity, { type: 'acted', at })
  }

  kind(identity: number): IdentityKind {
    return identityKinds[this.actors.columns.kind.get(identity)]
  }

  id(identity: number): string {
    return this.signature(identity).slice(idStart, idEnd)
  }

  /** The JSON fields that describe the author of a message; see the head of this file. */
  signature(identity: number): string {
    return this.#arena.text(this.#signatures.get(identity), 0, this.#signatureBytes.get(identity))
  }

  /** Where the identity's signature is in the arena. */
  entry(identity: number): { address: number; bytes: number } {
    return { address: this.#signatures.get(identity), bytes: this.#signatureBytes.get(identity) }
  }

  /** Replaces a signature that is lost. `nameJson` is the display name as a JSON string. */
  renderAnew(identity: number, nameJson: string): void {
    const author = `"author_id":"agt_${this.#ids.hex(identity)}","display_name":`
    const signature = `${author}${nameJson},"kind":"${this.kind(identity)}"`
    this.#signatures.set(identity, this.#arena.append(signature))
    this.#signatureBytes.set(identity, this.#arena.written)
  }

  /** The display name as a JSON string, with its quotes. */
  nameJson(identity: number): string {
    const signature = this.signature(identity)
    return signature.slice(this.#nameStarts.get(identity), signature.lastIndexOf(',"kind":"'))
  }
}
