// A page: the bytes of one answer, assembled from arena entries and short ASCII texts.
//
// P1. A page is valid until the next `begin`; to keep it longer, copy it.
// P2. An upper bound of the size is known before the first byte is written; no buffer ever grows.
//
// A page is assembled in the scratch space of the chunk that holds its first entry (arena.ts, A3),
// or in a separate buffer when it is larger than that.

import assert from 'node:assert/strict'
import type { Arena } from './arena.ts'
import { pageBytes } from './arena.ts'

/** Longer texts are written natively, others byte by byte: at this length both cost the same. */
const shortText = 24

export class Page {
  readonly #arena: Arena
  #overflow = Buffer.alloc(0)
  #target: Buffer
  #end = 0
  /** The maximum length of this page. */
  #bytesMax = 0

  constructor(arena: Arena) {
    this.#arena = arena
    this.#target = arena.chunk(0)
  }

  /** Starts a page of at most `bytes` bytes, whose entries are mostly near `address`. */
  begin(address: number, bytes: number): void {
    this.#end = 0
    this.#bytesMax = bytes
    if (bytes <= pageBytes) {
      this.#target = this.#arena.chunk(address)
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
    const chunk = this.#arena.chunk(address)
    const start = this.#arena.offset(address)
    if (chunk === this.#target) {
      chunk.copyWithin(this.#end, start + from, start + to)
    } else {
      this.#target.set(chunk.subarray(start + from, start + to), this.#end)
    }
    this.#end += to - from
  }

  /** The finished page: a view, valid until the next `begin`. */
  finish(): Uint8Array {
    assert(this.#end <= this.#bytesMax, 'P2: a page is not longer than announced')
    return this.#target.subarray(0, this.#end)
  }
}
