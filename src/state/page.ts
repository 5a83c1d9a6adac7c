// A page: the bytes of one answer, assembled from entries of the text and short ASCII texts.
//
// P1. A page is valid until the next `begin`; to keep it longer, copy it.
// P2. An upper bound of the size is known before the first byte is written; no buffer ever grows.
// P3. A part of an entry that has yet to be read from disk is noted in `Text.blocks`, and left out:
//     then the page must not be used.
//
// A page is assembled in the scratch space of the slab that holds its first entry (slabs.ts, B1),
// or in a separate buffer when it is larger than that.

import assert from 'node:assert/strict'
import type { PageSlots } from './page-slots.ts'
import { pageBytes, slotOffset, slotShift } from './slabs.ts'
import { pagesPerUnit, type Text, unitBytes, unitMask } from './text.ts'

/** Longer texts are written natively, others byte by byte: at this length both cost the same. */
const shortText = 24

export class Page {
  readonly #text: Text
  readonly #pages: PageSlots
  readonly #slabs: readonly Buffer[]
  #overflow = Buffer.alloc(0)
  #target: Buffer
  #end = 0
  /** The maximum length of this page. */
  #bytesMax = 0

  constructor(text: Text) {
    this.#text = text
    this.#pages = text.pages
    this.#slabs = text.pages.memory.slabs
    this.#target = this.#slabs[0]
  }

  /** Starts a page of at most `bytes` bytes, whose entries are mostly near `address`. */
  begin(address: number, bytes: number): void {
    this.#end = 0
    this.#bytesMax = bytes
    if (bytes <= pageBytes) {
      // The slab of a page without a slot is the first.
      this.#target = this.#slabs[this.#pages.slots[(address * pagesPerUnit) | 0] >>> slotShift]
      return
    }
    if (this.#overflow.length < bytes) this.#overflow = Buffer.allocUnsafeSlow(bytes)
    this.#target = this.#overflow
  }

  /** Adds a text of ASCII characters. */
  text(text: string): void {
    const { length } = text
    if (length > shortText) {
      this.#end += this.#target.write(text, this.#end, 'latin1')
      return
    }
    for (let i = 0; i < length; i++) this.#target[this.#end + i] = text.charCodeAt(i)
    this.#end += length
  }

  /** Adds the bytes from `from` up to, but not including, `to` of the entry at `address`. */
  entry(address: number, from: number, to: number): void {
    const slot = this.#pages.slots[(address * pagesPerUnit) | 0]
    const offset = (address & unitMask) * unitBytes
    if (slot === 0 || offset + to > pageBytes) {
      this.#text.copy(address, from, to, this.#target, this.#end)
    } else {
      const slab = this.#slabs[slot >>> slotShift]
      const start = slotOffset(slot) + offset
      if (slab === this.#target) slab.copyWithin(this.#end, start + from, start + to)
      else this.#target.set(slab.subarray(start + from, start + to), this.#end)
    }
    this.#end += to - from
  }

  /** The finished page: a view, valid until the next `begin`. */
  finish(): Uint8Array {
    assert(this.#end <= this.#bytesMax, 'P2: a page is not longer than announced')
    return this.#target.subarray(0, this.#end)
  }
}
