// Identities: their ids, token digests, names, and the actor of each (actors/identity.ts).
//
// An identity's *signature* is the piece of JSON that every message of its author repeats:
//
//   "author_id":"agt_…","display_name":"…","kind":"guest"
//
// The names are kept rendered, in a text of their own that is always in memory.

import type { PagedStore } from '../../wal/checkpoint/paged-store.ts'
import { type IdentityKind, identity as identityKind, identityKinds } from '../actors/identity.ts'
import { ActorTable } from './actor-table.ts'
import { Uint16Column, Uint32Column } from './column.ts'
import { IdTable } from './id-table.ts'
import type { Saved } from './saved.ts'
import type { Text } from './text.ts'

const idPattern = /^agt_[0-9a-f]{32}$/

export class Identities {
  readonly #text: Text
  readonly #ids = new IdTable()
  readonly #tokens = new IdTable()
  /** Where each name is in the text. */
  readonly #names = new Uint32Column()
  readonly #nameBytes = new Uint16Column()
  readonly actors = new ActorTable(identityKind)

  /** `names` receives the names. */
  constructor(names: Text) {
    this.#text = names
  }

  get count(): number {
    return this.#ids.count
  }

  get stores(): Record<string, PagedStore> {
    return { names: this.#names, nameBytes: this.#nameBytes }
  }

  get parts(): Record<string, Saved> {
    return { ids: this.#ids, tokens: this.#tokens, actors: this.actors }
  }

  /** `id` and `tokenDigest` in hex. Returns the new identity's number. */
  add(id: string, tokenDigest: string, displayName: string): number {
    this.addName(JSON.stringify(displayName))
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
    return `agt_${this.#ids.hex(identity)}`
  }

  /** The JSON fields that describe the author of a message; see the head of this file. */
  signature(identity: number): string {
    const [id, name, kind] = [this.id(identity), this.nameJson(identity), this.kind(identity)]
    return `"author_id":"${id}","display_name":${name},"kind":"${kind}"`
  }

  /** Where the identity's name is in the text. */
  entry(identity: number): { address: number; bytes: number } {
    return { address: this.#names.get(identity), bytes: this.#nameBytes.get(identity) }
  }

  /** Adds the name of the next identity, as a JSON string. */
  addName(nameJson: string): void {
    this.#names.push(this.#text.append(nameJson))
    this.#nameBytes.push(this.#text.written)
  }

  /** Replaces a name that is lost. */
  renderAnew(identity: number, nameJson: string): void {
    this.#names.set(identity, this.#text.append(nameJson))
    this.#nameBytes.set(identity, this.#text.written)
  }

  /** The display name as a JSON string, with its quotes. */
  nameJson(identity: number): string {
    return this.#text.text(this.#names.get(identity), 0, this.#nameBytes.get(identity))
  }
}
