// A page: the bytes of one answer, assembled from entries of the text and short ASCII strings.
//
// P1. A page is valid until the next `begin`; a caller that keeps it longer must copy it.
// P2. An upper bound on the size is known before the first byte is written; no buffer ever grows.
// P3. A part of an entry that has yet to be read from disk is left out, and noted in `Text.blocks`;
//     such a page must not be used.
//
// A page is assembled in the scratch space (page-slots.ts, B1) of the slab that holds its first
// entry, or in a separate buffer if it is larger than that space.

import assert from 'node:assert/strict'
import {
  type PageSlots,
  pageBytes,
  pageOf,
  slotOffset,
  slotShift,
  unitBytes,
  unitMask,
} from './page-slots.ts'
import type { Text } from './text.ts'

// V8 folds constants of the same module, but reads imported ones each time. Local copies, and an
// `entry` short enough to be inlined, take a page of 50 messages from 3.2 to 2.4 us.
const [mask, unit, pageEnd, shift] = [unitMask, unitBytes, pageBytes, slotShift]

/** Longer strings are written natively, others byte by byte. At this length both cost the same. */
const shortText = 24

export class Page {
  readonly #text: Text
  readonly #pages: PageSlots
  readonly #slabs: readonly Buffer[]
  #overflow = Buffer.alloc(0)
  #target: Buffer
  #end = 0
  /** The announced maximum length of this page, and the largest of those since `wipe`. */
  #bytesMax = 0
  #usedMax = 0

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
    if (bytes > this.#usedMax) this.#usedMax = bytes
    if (bytes <= pageBytes) {
      // A page without a slot has slot number 0, which lies in the first slab.
      this.#target = this.#slabs[this.#pages.slots[pageOf(address)] >>> slotShift]
      return
    }
    if (this.#overflow.length < bytes) {
      this.#overflow.fill(0)
      this.#overflow = Buffer.allocUnsafeSlow(bytes)
    }
    this.#target = this.#overflow
  }

  /** Appends a string of ASCII characters. */
  text(text: string): void {
    const { length } = text
    if (length > shortText) {
      this.#end += this.#target.write(text, this.#end, 'latin1')
      return
    }
    for (let i = 0; i < length; i++) this.#target[this.#end + i] = text.charCodeAt(i)
    this.#end += length
  }

  /** Appends a string of any characters. */
  utf8(text: string): void {
    this.#end += this.#target.write(text, this.#end)
  }

  /** Appends the bytes from `from` up to, but not including, `to` of the entry at `address`. */
  entry(address: number, from: number, to: number): void {
    const slot = this.#pages.slots[pageOf(address)]
    const slab = this.#slabs[slot >>> shift]
    const start = (address & mask) * unit + from
    const end = this.#end
    this.#end = end + to - from
    if (slot === 0 || slab !== this.#target || start + to - from > pageEnd) {
      return this.#copyFar(address, from, to, end)
    }
    const at = slotOffset(slot) + start
    slab.copyWithin(end, at, at + to - from)
  }

  /** Copies to `end` an entry that lies in another slab, spans pages, or is on disk. */
  #copyFar(address: number, from: number, to: number, end: number): void {
    const slot = this.#pages.slots[pageOf(address)]
    const start = (address & mask) * unit
    if (slot === 0 || start + to > pageEnd) {
      this.#text.copy(address, from, to, this.#target, end)
      return
    }
    const at = slotOffset(slot) + start
    this.#target.set(this.#slabs[slot >>> shift].subarray(at + from, at + to), end)
  }

  /** Overwrites all pages that were assembled. No view of one may still be in use. */
  wipe(): void {
    for (const slab of this.#slabs) slab.fill(0, 0, Math.min(this.#usedMax, pageBytes))
    this.#overflow.fill(0)
    this.#usedMax = 0
  }

  /** Returns the finished page as a view that is valid until the next `begin`. */
  finish(): Uint8Array {
    assert(this.#end <= this.#bytesMax, 'P2: a page is not longer than announced')
    return this.#target.subarray(0, this.#end)
  }
}
