// Addresses of entries in the text, one per row: 40 bits, so that 8 TiB can be addressed.
//
// D1. The upper 8 bits are a column of their own, which is not read for rows before the first whose
//     address needs them: a read of scattered rows is paid for by misses of the processor's cache.

import type { PagedStore } from '../../wal/checkpoint/paged-store.ts'
import { Uint8Column, Uint32Column } from '../columns/column.ts'
import type { Saved } from './saved.ts'

const highUnit = 2 ** 32
/** So many rows are converted in about 0.02 ms. */
const rowsPerYield = 256

export class Addresses implements Saved {
  /** The lower 32 bits. Its owner saves it, under the name that it has had from the beginning. */
  readonly low = new Uint32Column()
  readonly #high = new Uint8Column()
  /** The upper bits of the rows before this one are 0. */
  #wideFrom = Number.POSITIVE_INFINITY

  get stores(): Record<string, PagedStore> {
    return { high: this.#high }
  }

  facts(): number {
    return this.#wideFrom
  }

  restore(facts: unknown): void {
    this.#wideFrom = (facts as number | undefined) ?? Number.POSITIVE_INFINITY // older forms
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

  /** Replaces all lower halves, which an older form had alone; yields now and then. */
  *convert(addressOf: (old: number) => number): Generator<void> {
    this.#high.extend(this.low.length)
    for (let row = 0; row < this.low.length; row++) {
      this.set(row, addressOf(this.low.get(row)))
      if (row % rowsPerYield === 0) yield
    }
  }
}
