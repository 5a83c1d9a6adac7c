// Reviews of proposals: rendered JSON in the text, and a row of numbers for each.
//
//   text    ,{"seq":18,"id":"rev_…","proposal_id":"gov_…","author_id":"agt_…","proposal_hash":"…",
//           "decision":"approve","text":"…","created_at":…,"advisory":true}

import type { PagedStore } from '../../../wal/checkpoint/paged-store.ts'
import { Addresses } from '../../kernel/addresses.ts'
import { Float64Column, Uint32Column } from '../../kernel/columns/column.ts'
import { IdTable } from '../../kernel/columns/id-table.ts'
import type { Saved } from '../../kernel/saved.ts'
import type { Page } from '../../kernel/text/page.ts'
import type { Text } from '../../kernel/text/text.ts'
import type { Decision } from './machine.ts'

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
    this.#addresses.push(this.#text.append(render(review)))
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
    const expected = render({ id, seq: this.seq(review), at: this.createdAt(review), text })
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

function render({ id, seq, at, text }: ReviewEntry): string {
  const textJson = JSON.stringify(text).slice(1, -1)
  return `,{"seq":${seq},"id":"rev_${id}",${textJson},"created_at":${at},"advisory":true}`
}
