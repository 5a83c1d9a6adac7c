// Tracks which pages of a text are in memory, and in which slots.
//
//   pages   │ 0: cold │ 1: slot 3 │ 2: slot 1 │ 3: slot 2 │      slots[page]; 0: none, it is cold
//
// K1. When memory is freed, the oldest pages lose their slots first.
//
// The slots are memory outside the JS heap, in slabs of 64 MiB:
//
//   slab 0   │ scratch │ slot 1 │ slot 2 │ … │ slot 63 │
//   slab 1   │ scratch │ slot 65 │ …                        memory is used as it is touched
//
// B1. The first MiB of a slab is scratch space, in which answers are assembled, because copying
//     within one ArrayBuffer (copyWithin, 30 ns) costs a third of copying between two (set, 80 ns).
// B2. The lowest free slot is always taken, so that a slab above those in use empties and is freed.
// B3. A free slot holds zeros, so text that is erased later does not survive in a slot that it has
//     left before.
//
// Neighbours: text.ts decides which pages have a slot, and which may lose theirs; page.ts assembles
// answers.

import assert from 'node:assert/strict'

/** The size in bytes of a page, and of the scratch space of a slab. */
export const pageBytes = 1 << 20

const slotsPerSlab = 64
export const slotShift = Math.log2(slotsPerSlab)
const slotMask = slotsPerSlab - 1
const noMemory = Buffer.alloc(0)

/** Returns the offset of a slot in its slab, in bytes. */
export function slotOffset(slot: number): number {
  return (slot & slotMask) * pageBytes
}

class Slabs {
  /** Indexed by slot >>> slotShift. A slab that was freed is empty. */
  readonly slabs: Buffer[] = [newSlab()]
  /** The free slots of each slab, the lowest last. */
  readonly #free: number[][] = [slotsOf(0)]
  taken = 0

  /** Takes a free slot, which holds zeros, and returns its number. */
  take(): number {
    let slab = this.#free.findIndex((free) => free.length > 0)
    if (slab === -1) slab = this.#free.push(slotsOf(this.#free.length)) - 1
    if (!this.slabs[slab]?.length) this.slabs[slab] = newSlab()
    this.taken += 1
    return this.#free[slab].pop()!
  }

  release(slot: number): void {
    const slab = slot >>> slotShift
    const free = this.#free[slab]
    assert(!free.includes(slot), 'a slot is released once')
    this.page(slot).fill(0)
    free.push(slot)
    free.sort((a, b) => b - a)
    this.taken -= 1
    if (slab > 0 && free.length === slotsPerSlab - 1) this.slabs[slab] = noMemory
  }

  page(slot: number): Buffer {
    const at = slotOffset(slot)
    return this.slabs[slot >>> slotShift].subarray(at, at + pageBytes)
  }
}

/** Returns all slots of a slab, the lowest last. */
function slotsOf(slab: number): number[] {
  const count = slotsPerSlab - 1
  return Array.from({ length: count }, (_, i) => slab * slotsPerSlab + count - i)
}

function newSlab(): Buffer {
  return Buffer.from(new ArrayBuffer(slotsPerSlab * pageBytes))
}

/** The unit of addresses, in bytes. */
export const unitBytes = 8
export const unitsPerPage = pageBytes / unitBytes
export const unitMask = unitsPerPage - 1
const unitsShift = Math.log2(unitsPerPage)
/** Addresses below this one, which is at 32 GiB, fit in 32 bits. */
const narrowMax = 2 ** 32
const pagesAtFirst = 64

/** Returns the page of the entry at `address`. A shift costs half as much as a division. */
export function pageOf(address: number): number {
  return address < narrowMax ? address >>> unitsShift : Math.floor(address / unitsPerPage)
}

export class PageSlots {
  /** The slot of each page, or 0. Replaced by a longer array when there are more pages. */
  slots = new Int32Array(pagesAtFirst)
  readonly memory = new Slabs()
  /** The intended maximum number of pages in memory. */
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

  bytesOf(page: number): Buffer {
    return this.memory.page(this.slots[page])
  }

  /** Gives a page a slot: `slot`, which the caller has taken, or by default a free one. */
  give(page: number, slot = this.memory.take()): void {
    if (page >= this.slots.length) this.#grow(page + 1)
    this.slots[page] = slot
    this.#oldest = Math.min(this.#oldest, page)
  }

  /** Makes `drop` start at this page, because no page before it will have a slot soon. */
  begin(oldest: number): void {
    this.#oldest = oldest
  }

  /**
   * Takes slots away from the oldest pages before `end`, except those that `isKept` names, while
   * more than the intended number of pages are in memory.
   */
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
