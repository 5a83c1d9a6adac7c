// Which pages of a text are in memory, and in which slot (slabs.ts).
//
//   pages   │ 0: cold │ 1: slot 3 │ 2: slot 1 │ 3: slot 2 │      slots[page]; 0: none, it is cold
//
// K1. When memory is given back, the oldest pages lose their slots first.
//
// Neighbours: text.ts says which pages may lose theirs.

import { pageBytes, Slabs } from './slabs.ts'

/** What an address counts. */
export const unitBytes = 8
export const unitsPerPage = pageBytes / unitBytes
export const unitMask = unitsPerPage - 1
const unitsShift = Math.log2(unitsPerPage)
/** Up to this address, 32 GiB, 32 bits hold it. */
const narrowMax = 2 ** 32
const pagesAtFirst = 64

/** The page of the entry at `address`. Shifting it costs half as much as dividing it. */
export function pageOf(address: number): number {
  return address < narrowMax ? address >>> unitsShift : Math.floor(address / unitsPerPage)
}

export class PageSlots {
  /** By page; replaced by a longer array when there are more pages. */
  slots = new Int32Array(pagesAtFirst)
  readonly memory = new Slabs()
  /** How many pages are to be in memory. */
  readonly #pagesMax: number
  /** Pages before this one have no slot. */
  #oldest = 0

  constructor(pagesMax: number) {
    this.#pagesMax = pagesMax
  }

  get hasRoom(): boolean {
    return this.memory.taken + 1 <= this.#pagesMax
  }

  holds(page: number): boolean {
    return this.slots[page] !== 0
  }

  /** The memory of a page that has a slot. */
  bytesOf(page: number): Buffer {
    return this.memory.page(this.slots[page])
  }

  /** Gives a page a slot: this one, which is taken already, or another. */
  give(page: number, slot = this.memory.take()): void {
    if (page >= this.slots.length) this.#grow(page + 1)
    this.slots[page] = slot
    this.#oldest = Math.min(this.#oldest, page)
  }

  /** No page before this one will have a slot soon. */
  begin(oldest: number): void {
    this.#oldest = oldest
  }

  /** Takes slots from the oldest pages before `end`, while there are too many. */
  drop(end: number, isKept: (page: number) => boolean): void {
    let isOldest = true
    for (let page = this.#oldest; page < end && this.memory.taken > this.#pagesMax; page++) {
      if (this.holds(page) && !isKept(page)) {
        this.memory.release(this.slots[page])
        this.slots[page] = 0
      }
      isOldest &&= !this.holds(page)
      if (isOldest) this.#oldest = page + 1
    }
  }

  #grow(pages: number): void {
    const longer = new Int32Array(Math.max(pages, 2 * this.slots.length))
    longer.set(this.slots)
    this.slots = longer
  }
}
