// Addresses of entries in the text, one per row. They have 40 bits, so that 8 TiB can be addressed.
//
// D1. The upper 8 bits are in a column of their own. It is not read for rows before the first whose
//     address needs it, because scattered reads cost misses of the processor's cache.

import type { PagedStore } from '../../wal/checkpoint/paged-store.ts'
import { Uint8Column, Uint32Column } from './columns/column.ts'
import type { Saved } from './saved.ts'

const highUnit = 2 ** 32

export class Addresses implements Saved {
  /** The lower 32 bits. The owner saves this column, under the name that it has always had. */
  readonly low = new Uint32Column()
  readonly #high = new Uint8Column()
  /** The upper bits of all rows before this one are 0. */
  #wideFrom = Number.POSITIVE_INFINITY

  get stores(): Record<string, PagedStore> {
    return { high: this.#high }
  }

  facts(): number {
    return this.#wideFrom
  }

  restore(facts: unknown): void {
    this.#wideFrom = facts as number
  }

  get(row: number): number {
    const low = this.low.get(row)
    return row < this.#wideFrom ? low : this.#high.get(row) * highUnit + low
  }

  push(address: number): void {
    const high = Math.floor(address / highUnit)
    const row = this.low.push(address % highUnit)
    this.#high.push(high)
    if (high > 0) this.#wideFrom = Math.min(this.#wideFrom, row)
  }

  set(row: number, address: number): void {
    const high = Math.floor(address / highUnit)
    this.low.set(row, address % highUnit)
    this.#high.set(row, high)
    if (high > 0) this.#wideFrom = Math.min(this.#wideFrom, row)
  }
}
