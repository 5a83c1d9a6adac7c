// Memory for pages of 1 MiB, outside the JS heap: slots in slabs of 64 MiB.
//
//   slab 0   │ scratch │ slot 1 │ slot 2 │ … │ slot 63 │
//   slab 1   │ scratch │ slot 65 │ …                        memory is used as it is touched
//
// B1. The first MiB of a slab is scratch space: answers are assembled there, because copying
//     within one ArrayBuffer (copyWithin, 30 ns) costs a third of copying between two (set, 80 ns).
// B2. The lowest free slot is taken, so a slab above those in use becomes free and is given back.
// B3. A free slot holds zeros: text that is erased later is in no slot that it has left before.
//
// Neighbours: text.ts decides which pages have a slot; page.ts assembles answers.

import assert from 'node:assert/strict'

/** Bytes of a page, and of the scratch space of a slab. */
export const pageBytes = 1 << 20

const slotsPerSlab = 64
export const slotShift = Math.log2(slotsPerSlab)
const slotMask = slotsPerSlab - 1
const noMemory = Buffer.alloc(0)

/** Where a slot begins in its slab, in bytes. */
export function slotOffset(slot: number): number {
  return (slot & slotMask) * pageBytes
}

export class Slabs {
  /** By slot >>> slotShift; empty: given back. */
  readonly slabs: Buffer[] = [newSlab()]
  /** The free slots of each slab, the lowest last. */
  readonly #free: number[][] = [slotsOf(0)]
  /** Slots in use. */
  taken = 0

  /** Takes a slot, which holds zeros. */
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

  /** The memory of a slot. */
  page(slot: number): Buffer {
    const at = slotOffset(slot)
    return this.slabs[slot >>> slotShift].subarray(at, at + pageBytes)
  }
}

/** All slots of a slab, the lowest last. */
function slotsOf(slab: number): number[] {
  const count = slotsPerSlab - 1
  return Array.from({ length: count }, (_, i) => slab * slotsPerSlab + count - i)
}

function newSlab(): Buffer {
  return Buffer.from(new ArrayBuffer(slotsPerSlab * pageBytes))
}
