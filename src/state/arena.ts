// The arena: rendered JSON, written once, kept outside the JS heap and never moved.
//
//   chunk, 64 MiB ArrayBuffer (memory is used as it is touched)
//   ┌──────────────┬───────┬───────┬─────┬────────┐
//   │ page, 1 MiB  │ entry │ entry │ …   │ unused │
//   └──────────────┴───────┴───────┴─────┴────────┘
//
// A1. An entry never changes, starts at a multiple of 8 and lies in one chunk.
// A2. An address is one u32, chunk * 2^23 + offset / 8: 32 GiB can be addressed.
// A3. The first MiB of a chunk is scratch space: answers are assembled there, because copying
//     within one ArrayBuffer (copyWithin, 30 ns) costs a third of copying between two (set, 80 ns).
//
// Neighbours: page.ts assembles answers; messages.ts and the other tables hold the addresses.

import assert from 'node:assert/strict'
import type { PagedStore } from '../../wal/checkpoint/paged-store.ts'

/** Bytes of scratch space at the start of each chunk, for page.ts; also of a saved page. */
export const pageBytes = 1 << 20

const chunkBytes = 64 << 20
/** Bytes of a chunk that hold entries: a whole number of the pages that checkpoints save. */
const entriesBytes = chunkBytes - pageBytes
const pagesPerChunk = entriesBytes / pageBytes
const unitBytes = 8
const unitsPerChunk = chunkBytes / unitBytes
const chunkShift = Math.log2(unitsPerChunk)
const offsetMask = unitsPerChunk - 1
const chunksMax = 2 ** (32 - chunkShift)
/** A UTF-16 unit takes at most three bytes of UTF-8. */
const bytesPerUnit = 3

assert(Number.isInteger(chunkShift), 'an address is split by shifting')
assert(Number.isInteger(pagesPerChunk), 'a saved page lies in one chunk')

export class Arena implements PagedStore {
  readonly #chunks: Buffer[] = [newChunk()]
  /** Offset of the next entry in the last chunk. */
  #free = pageBytes
  /** Length of the last appended entry in bytes. */
  written = 0
  /** Entries up to here, scratch space not counted, are saved, except for dirty pages. */
  #savedBytes = 0
  #frozenBytes = 0
  readonly #dirty = new Set<number>()

  /** Bytes in use, including those left over at the end of full chunks. */
  get bytes(): number {
    return (this.#chunks.length - 1) * chunkBytes + this.#free
  }

  /** Appends `text` as UTF-8 and returns its address; its length in bytes is in `written`. */
  append(text: string): number {
    const roomNeeded = text.length * bytesPerUnit
    assert(roomNeeded <= chunkBytes - pageBytes, 'an entry fits in a chunk')
    if (this.#free + roomNeeded > chunkBytes) this.#addChunk()

    const last = this.#chunks.length - 1
    const offset = this.#free
    this.written = this.#chunks[last].write(text, offset)
    this.#free = (offset + this.written + unitBytes - 1) & -unitBytes
    return last * unitsPerChunk + offset / unitBytes
  }

  /** The chunk that holds the entry at `address`. */
  chunk(address: number): Buffer {
    return this.#chunks[address >>> chunkShift]
  }

  /** Offset of the entry at `address` in its chunk, in bytes. */
  offset(address: number): number {
    return (address & offsetMask) * unitBytes
  }

  /** Offset of the entry among the bytes that a checkpoint saves. */
  savedAt(address: number): number {
    return (address >>> chunkShift) * entriesBytes + this.offset(address) - pageBytes
  }

  /** The entry's text from byte `from` to byte `to`. */
  text(address: number, from: number, to: number): string {
    const start = this.offset(address)
    return this.chunk(address).toString('utf8', start + from, start + to)
  }

  /** As `text`, for bytes that are known to be ASCII: in half the time. */
  ascii(address: number, from: number, to: number): string {
    const start = this.offset(address)
    return this.chunk(address).toString('latin1', start + from, start + to)
  }

  // ── PagedStore: entries never change (A1), so a frozen page needs no copy ──────────────────────

  get stores(): Record<string, PagedStore> {
    return { entries: this }
  }

  get pageBytes(): number {
    return pageBytes
  }

  freeze(): number {
    this.#frozenBytes = (this.#chunks.length - 1) * entriesBytes + this.#free - pageBytes
    return this.#frozenBytes
  }

  frozen(page: number): Uint8Array | null {
    const from = page * pageBytes
    const to = Math.min(from + pageBytes, this.#frozenBytes)
    if (to <= this.#savedBytes && !this.#dirty.has(page)) return null
    return this.room(page).subarray(0, to - from)
  }

  thaw(isSaved: boolean): void {
    if (!isSaved) return
    this.#savedBytes = this.#frozenBytes
    this.#dirty.clear()
  }

  markDirty(page: number): void {
    this.#dirty.add(page)
  }

  fill(bytes: number): void {
    assert(this.#chunks.length === 1 && this.#free === pageBytes, 'only an empty arena is filled')
    while (this.#chunks.length * entriesBytes < bytes) this.#addChunk()
    this.#free = pageBytes + bytes - (this.#chunks.length - 1) * entriesBytes
    this.#savedBytes = bytes
  }

  room(page: number): Uint8Array {
    const chunk = this.#chunks[Math.floor(page / pagesPerChunk)]
    return chunk.subarray(((page % pagesPerChunk) + 1) * pageBytes)
  }

  #addChunk(): void {
    assert(this.#chunks.length < chunksMax, 'the arena is full: 32 GiB of rendered text')
    this.#chunks.push(newChunk())
    this.#free = pageBytes
  }
}

function newChunk(): Buffer {
  return Buffer.from(new ArrayBuffer(chunkBytes))
}
