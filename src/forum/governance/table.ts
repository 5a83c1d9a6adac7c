// Proposals and their reviews: rendered JSON in the text, a row of numbers for each, lists of the
// reviews of each proposal, and the actors of proposals (forum/governance/machine.ts).
//
//   text    ,{"seq":17,"id":"gov_…","proposal_hash":"…","created_at":…,"advisory":true,
//           "author_id":"agt_…","kind":"policy","title":"…","description":"…","supersedes":null}
//           ,{"seq":18,"id":"rev_…","proposal_id":"gov_…","author_id":"agt_…","proposal_hash":"…",
//           "decision":"approve","text":"…","created_at":…,"advisory":true}
//
// G1. Numbers, positions and times grow together.
// G2. A proposal is rendered from the same value that its hash covers.

import type { PagedStore } from '../../../wal/checkpoint/paged-store.ts'
import { ActorTable } from '../../kernel/actor-table.ts'
import { Addresses } from '../../kernel/addresses.ts'
import { Float64Column, Uint32Column } from '../../kernel/columns/column.ts'
import { HexColumn, IdTable } from '../../kernel/columns/id-table.ts'
import { Lists } from '../../kernel/columns/lists.ts'
import type { Saved } from '../../kernel/saved.ts'
import type { Page } from '../../kernel/text/page.ts'
import type { Text } from '../../kernel/text/text.ts'
import {
  type Decision,
  type ProposalKind,
  proposal as proposalKind,
  proposalKinds,
} from './machine.ts'

interface FileEdit {
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
    this.#addresses.push(this.#text.append(renderProposal(proposal)))
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

function renderProposal({ id, seq, hash, at, text }: ProposalEntry): string {
  const envelope =
    `,{"seq":${seq},"id":"gov_${id}","proposal_hash":"${hash}",` +
    `"created_at":${at},"advisory":true,`
  return envelope + JSON.stringify(text).slice(1)
}

/** The content of a review, with the field names of the interface. */
export interface ReviewText {
  proposal_id: string
  author_id: string
  proposal_hash: string
  decision: Decision
  text: string
}

export interface ReviewEntry {
  /** In hex. */
  id: string
  seq: number
  at: number
  text: ReviewText
}

export class Reviews {
  readonly #text: Text
  readonly #ids = new IdTable()
  readonly #addresses = new Addresses()
  readonly #bytes = new Uint32Column()
  readonly #seqs = new Float64Column()
  readonly #times = new Float64Column()

  constructor(text: Text) {
    this.#text = text
  }

  get count(): number {
    return this.#ids.count
  }

  get stores(): Record<string, PagedStore> {
    const { seqs, times } = { seqs: this.#seqs, times: this.#times }
    return { addresses: this.#addresses.low, bytes: this.#bytes, seqs, times }
  }

  get parts(): Record<string, Saved> {
    return { ids: this.#ids, addresses: this.#addresses }
  }

  /** Renders and adds a review; returns its number. */
  add(review: ReviewEntry): number {
    this.#addresses.push(this.#text.append(renderReview(review)))
    this.#bytes.push(this.#text.written)
    this.#seqs.push(review.seq)
    this.#times.push(review.at)
    return this.#ids.add(review.id)
  }

  id(review: number): string {
    return `rev_${this.#ids.hex(review)}`
  }

  seq(review: number): number {
    return this.#seqs.get(review)
  }

  createdAt(review: number): number {
    return this.#times.get(review)
  }

  hasText(review: number, text: ReviewText): boolean {
    const id = this.#ids.hex(review)
    const expected = renderReview({ id, seq: this.seq(review), at: this.createdAt(review), text })
    return this.#text.text(this.#addresses.get(review), 0, this.#bytes.get(review)) === expected
  }

  address(review: number): number {
    return this.#addresses.get(review)
  }

  /** Returns the length in bytes of the review's JSON, including the comma before it. */
  bytes(review: number): number {
    return this.#bytes.get(review)
  }

  /** Adds the review's JSON to a page, with a comma before all but the first. */
  write(page: Page, review: number, isFirst: boolean): void {
    page.entry(this.#addresses.get(review), isFirst ? 1 : 0, this.#bytes.get(review))
  }
}

function renderReview({ id, seq, at, text }: ReviewEntry): string {
  const textJson = JSON.stringify(text).slice(1, -1)
  return `,{"seq":${seq},"id":"rev_${id}",${textJson},"created_at":${at},"advisory":true}`
}
