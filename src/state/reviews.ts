// Reviews of proposals: rendered JSON in the arena, and a row of numbers for each.
//
//   arena   ,{"seq":18,"id":"rev_…","proposal_id":"gov_…","author_id":"agt_…","proposal_hash":"…",
//           "decision":"approve","text":"…","created_at":…,"advisory":true}

import type { PagedStore } from '../../wal/checkpoint/paged-store.ts'
import type { Decision } from '../actors/proposal.ts'
import type { Arena } from './arena.ts'
import { Float64Column, Uint32Column } from './column.ts'
import { IdTable } from './id-table.ts'
import type { Page } from './page.ts'
import type { Saved } from './saved.ts'

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
  readonly #arena: Arena
  readonly #ids = new IdTable()
  readonly #addresses = new Uint32Column()
  readonly #bytes = new Uint32Column()
  readonly #seqs = new Float64Column()
  readonly #times = new Float64Column()

  constructor(arena: Arena) {
    this.#arena = arena
  }

  get count(): number {
    return this.#ids.count
  }

  get stores(): Record<string, PagedStore> {
    const { seqs, times } = { seqs: this.#seqs, times: this.#times }
    return { addresses: this.#addresses, bytes: this.#bytes, seqs, times }
  }

  get parts(): Record<string, Saved> {
    return { ids: this.#ids }
  }

  /** Renders and adds a review; returns its number. */
  add(review: ReviewEntry): number {
    this.#addresses.push(this.#arena.append(render(review)))
    this.#bytes.push(this.#arena.written)
    this.#seqs.push(review.seq)
    this.#times.push(review.at)
    return this.#ids.add(review.id)
  }

  /** Replaces the entry of a review that is lost. */
  renderAnew(review: number, text: ReviewText): void {
    const [id, seq, at] = [this.#ids.hex(review), this.seq(review), this.createdAt(review)]
    this.#addresses.set(review, this.#arena.append(render({ id, seq, at, text })))
    this.#bytes.set(review, this.#arena.written)
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

  /** Whether the review has exactly this content. */
  hasText(review: number, text: ReviewText): boolean {
    const id = this.#ids.hex(review)
    const expected = render({ id, seq: this.seq(review), at: this.createdAt(review), text })
    return this.#arena.text(this.#addresses.get(review), 0, this.#bytes.get(review)) === expected
  }

  address(review: number): number {
    return this.#addresses.get(review)
  }

  /** Bytes of the review's JSON, with the comma before it. */
  bytes(review: number): number {
    return this.#bytes.get(review)
  }

  /** Adds the review's JSON to a page, with a comma before all but the first. */
  write(page: Page, review: number, isFirst: boolean): void {
    page.entry(this.#addresses.get(review), isFirst ? 1 : 0, this.#bytes.get(review))
  }
}

function render({ id, seq, at, text }: ReviewEntry): string {
  const said = JSON.stringify(text).slice(1, -1)
  return `,{"seq":${seq},"id":"rev_${id}",${said},"created_at":${at},"advisory":true}`
}
