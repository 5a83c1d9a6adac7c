// Proposals: rendered JSON in the text, lists of reviews, and their actors
// (forum/governance/machine.ts).
//
//   text    ,{"seq":17,"id":"gov_…","proposal_hash":"…","created_at":…,"advisory":true,
//           "author_id":"agt_…","kind":"policy","title":"…","description":"…","supersedes":null}
//
// G1. Numbers, positions and times grow together.
// G2. A proposal is rendered from the same value that its hash covers.

import type { PagedStore } from '../../../wal/checkpoint/paged-store.ts'
import { ActorTable } from '../../kernel/actor-table.ts'
import { Addresses } from '../../kernel/addresses.ts'
import { Uint32Column } from '../../kernel/columns/column.ts'
import { HexColumn, IdTable } from '../../kernel/columns/id-table.ts'
import { Lists } from '../../kernel/columns/lists.ts'
import type { Saved } from '../../kernel/saved.ts'
import type { Page } from '../../kernel/text/page.ts'
import type { Text } from '../../kernel/text/text.ts'
import { type ProposalKind, proposal as proposalKind, proposalKinds } from './machine.ts'

export interface FileEdit {
  old_text: string
  new_text: string
}

/** A `content` of null removes the file. */
export type ProposalFile = { path: string } & (
  | { content: string | null }
  | { edits: readonly FileEdit[] }
)

/** The fields specific to each kind. Files are sorted by path. */
export type KindFields =
  | { kind: 'code'; base_commit: string; files: readonly ProposalFile[] }
  | { kind: 'policy' }
  | { kind: 'maintainer'; candidate_id: string }

/** The content of a proposal, which its hash covers, with the field names of the interface. */
export type ProposalText = KindFields & {
  author_id: string
  title: string
  description: string
  /** The id of an earlier proposal of the same kind. */
  supersedes: string | null
}

export interface ProposalEntry {
  /** In hex. */
  id: string
  seq: number
  hash: string
  at: number
  text: ProposalText
}

const hashHexLength = 64

export class Proposals {
  readonly #text: Text
  readonly #ids = new IdTable()
  readonly #addresses = new Addresses()
  readonly #bytes = new Uint32Column()
  readonly #hashes = new HexColumn(hashHexLength)
  readonly #reviews = new Lists()
  readonly actors = new ActorTable(proposalKind)

  constructor(text: Text) {
    this.#text = text
  }

  get count(): number {
    return this.#ids.count
  }

  get stores(): Record<string, PagedStore> {
    return { addresses: this.#addresses.low, bytes: this.#bytes, hashes: this.#hashes.words }
  }

  get parts(): Record<string, Saved> {
    const [ids, reviews, addresses] = [this.#ids, this.#reviews, this.#addresses]
    return { ids, reviews, actors: this.actors, addresses }
  }

  /** Renders and adds a proposal; returns its number. */
  add(proposal: ProposalEntry): number {
    this.#addresses.push(this.#text.append(render(proposal)))
    this.#bytes.push(this.#text.written)
    this.#hashes.push(proposal.hash)
    this.#reviews.add()
    this.actors.add()
    return this.#ids.add(proposal.id)
  }

  addReview(proposal: number, review: number): void {
    this.#reviews.push(proposal, review)
  }

  /** Returns the number of the proposal with this id, `gov_…`, or -1. */
  find(id: string): number {
    return this.#ids.find(id, 'gov_'.length)
  }

  id(proposal: number): string {
    return `gov_${this.#ids.hex(proposal)}`
  }

  kind(proposal: number): ProposalKind {
    return proposalKinds[this.actors.columns.kind.get(proposal)]
  }

  seq(proposal: number): number {
    return this.actors.columns.firstPosition.get(proposal)
  }

  /** Returns the proposal's hash, a SHA-256 in hex; see forum/governance/commands.ts. */
  hash(proposal: number): string {
    return this.#hashes.get(proposal)
  }

  /** Returns the number of the proposal's `index`-th review. */
  review(proposal: number, index: number): number {
    return this.#reviews.get(proposal, index)
  }

  address(proposal: number): number {
    return this.#addresses.get(proposal)
  }

  /** Returns the length in bytes of the proposal's JSON, including the comma before it. */
  bytes(proposal: number): number {
    return this.#bytes.get(proposal)
  }

  /** Adds the proposal's JSON to a page, with a comma before all but the first. */
  write(page: Page, proposal: number, isFirst: boolean): void {
    page.entry(this.#addresses.get(proposal), isFirst ? 1 : 0, this.#bytes.get(proposal))
  }
}

function render({ id, seq, hash, at, text }: ProposalEntry): string {
  const envelope =
    `,{"seq":${seq},"id":"gov_${id}","proposal_hash":"${hash}",` +
    `"created_at":${at},"advisory":true,`
  return envelope + JSON.stringify(text).slice(1)
}
