// A page: one answer's bytes, put together from arena entries and short ASCII texts.
//
// P1. A page is valid until the next `begin`: who keeps it longer copies it.
// P2. Sizes are known before the first byte is written; nothing grows on the way.
//
// It is assembled in the scratch of the chunk that holds its first entry (see arena.ts, A3), or,
// when it is larger than that, in a buffer of its own.

import assert from 'node:assert/strict'
import type { Arena } from './arena.ts'
import { pageBytes } from './arena.ts'

/** Longer texts are written natively, shorter ones byte by byte: here both cost the same. */
const shortText = 24

export class Page {
  readonly #arena: Arena
  #overflow = Buffer.alloc(0)
  #target: Buffer
  #end = 0
  /** The most bytes this page may have. */
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

  /** Adds the bytes `from`..`to` of the entry at `address`. */
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
    assert(this.#end <= this.#bytesMax, 'P2: a page holds no more than was announced')
    return this.#target.subarray(0, this.#end)
  }
}
