// A column: one number per row, typed, outside the JS heap, for millions of rows.
//
//   chunks   [ 0 … 65,535 ] [ 65,536 … 131,071 ] [ 131,072 …
//              row i is chunks[i >>> 16][i & 0xffff]
//   pages    [ 4,096 rows ][ … ]   a chunk has 16; checkpoints save the pages that have changed
//
// N1. Growth adds a chunk and copies nothing: a push costs the same at any size.
// N2. Rows are 0 … length - 1; no other row is read or written.
// N3. A column stores a value exactly, or throws: no wrapping, no rounding.
//
// `PageMarks` tracks which pages of a column have changed since they were saved. While a checkpoint
// is being written, it also holds copies of the pages that changed before the checkpoint reached
// them.
//
//   generation    1 ──freeze──▶ 2 ──freeze──▶ 3      every checkpoint begins one
//   changed[7]    the generation in which page 7 changed last; 0: not since it was read
//
// C1. Before a page changes, `changed[page]` is set to `now`: each write of a row compares the two,
//     and calls `touch` if they differ.
// C2. A page that is frozen, not saved yet and about to change is copied first, once.
//
// A failed checkpoint needs no undoing: its generation is just not counted as saved.

import assert from 'node:assert/strict'
import type { PagedStore, PageTable } from '../../../wal/checkpoint/paged-store.ts'

const pagesAtFirst = 16

class PageMarks {
  /** The generation of each page's last change. */
  changed = new Uint32Array(pagesAtFirst)
  /** The generation of changes made now. */
  now = 1
  readonly #bytesOf: (page: number) => Uint8Array
  /** Changes of generations up to this one are saved. */
  #saved = 0
  /** The number of frozen pages, and the next one to be taken. */
  #frozen = 0
  #next = 0
  readonly #copies = new Map<number, Uint8Array>()

  /** `bytesOf` returns the present bytes of a whole page, without copying them. */
  constructor(bytesOf: (page: number) => Uint8Array) {
    this.#bytesOf = bytesOf
  }

  /** Makes room for the marks of this many pages. */
  reserve(pages: number): void {
    if (pages <= this.changed.length) return
    const longer = new Uint32Array(Math.max(pages, 2 * this.changed.length))
    longer.set(this.changed)
    this.changed = longer
  }

  /** Must be called before the page changes. */
  touch(page: number): void {
    const before = this.changed[page]
    if (before === this.now) return
    const isAwaited = page >= this.#next && page < this.#frozen && before > this.#saved
    if (isAwaited) this.#copies.set(page, this.#bytesOf(page).slice())
    this.changed[page] = this.now
  }

  /** Freezes the first `pages` pages as they are now. */
  freeze(pages: number): void {
    assert(this.#frozen === 0, 'one checkpoint at a time')
    this.#frozen = pages
    this.#next = 0
    this.now += 1
  }

  /** Returns the page as it was when frozen; null if it has not changed since it was last saved. */
  take(page: number): Uint8Array | null {
    assert(page >= this.#next && page < this.#frozen, 'pages are taken in order')
    this.#next = page + 1
    const copy = this.#copies.get(page)
    if (copy !== undefined) {
      this.#copies.delete(page)
      return copy
    }
    // A page that changed after the freeze without being copied had no unsaved change before it.
    const changed = this.changed[page]
    return changed === this.now || changed <= this.#saved ? null : this.#bytesOf(page)
  }

  thaw(isSaved: boolean): void {
    if (isSaved) this.#saved = this.now - 1
    this.#frozen = 0
    this.#copies.clear()
  }

  markDirty(page: number): void {
    assert(this.#frozen === 0, 'what is frozen is decided')
    this.changed[page] = this.now
  }
}

type Chunk = Uint8Array | Uint16Array | Uint32Array | Float64Array
type ChunkType =
  | Uint8ArrayConstructor
  | Uint16ArrayConstructor
  | Uint32ArrayConstructor
  | Float64ArrayConstructor

export const chunkRows = 65_536
export const pageRows = 4_096
const pageShift = Math.log2(pageRows)
const pagesPerChunk = chunkRows / pageRows

/** A growing column of numbers; its four kinds differ only in the range of an entry. */
export abstract class Column implements PagedStore {
  readonly #type: ChunkType
  readonly #entryBytes: number
  readonly #chunks: Chunk[] = []
  readonly #marks = new PageMarks((page) => this.room(page).subarray(0, this.pageBytes))
  #length = 0
  #frozenBytes = 0

  protected constructor(type: ChunkType) {
    this.#type = type
    this.#entryBytes = type.BYTES_PER_ELEMENT
  }

  /** Rows pushed so far. */
  get length(): number {
    return this.#length
  }

  /** The value of row `i`; throws RangeError when there is no such row. */
  get(i: number): number {
    if (!(i >= 0 && i < this.#length)) throw noRow(i, this.#length)
    return this.#chunks[i >>> 16][i & 0xffff]
  }

  /** Copies the rows from `from` up to, but not including, `to` to the start of `into`. */
  copy(from: number, to: number, into: Uint32Array): void {
    if (!(from >= 0 && from <= to && to <= this.#length)) throw noRow(to - 1, this.#length)
    const chunks = this.#chunks
    for (let i = from; i < to; i++) into[i - from] = chunks[i >>> 16][i & 0xffff]
  }

  /** The rows from `from`, a multiple of `chunkRows`, as far as they are contiguous; read-only. */
  rowsFrom(from: number): Chunk {
    return this.#chunks[from >>> 16].subarray(0, this.#length - from)
  }

  /**
   * Replaces row `i`; throws RangeError when there is no such row, or the column cannot hold
   * `value`.
   */
  set(i: number, value: number): void {
    if (!(i >= 0 && i < this.#length)) throw noRow(i, this.#length)
    const marks = this.#marks
    if (marks.changed[i >>> pageShift] !== marks.now) marks.touch(i >>> pageShift)
    const chunk = this.#chunks[i >>> 16]
    const before = chunk[i & 0xffff]
    chunk[i & 0xffff] = value
    if (chunk[i & 0xffff] === value) return
    chunk[i & 0xffff] = before
    throw noRoom(value, this)
  }

  /** Adds a row and returns its number; throws RangeError when the column cannot hold `value`. */
  push(value: number): number {
    const i = this.#length
    if (i >>> 16 === this.#chunks.length) this.#addChunk()
    const marks = this.#marks
    if (marks.changed[i >>> pageShift] !== marks.now) marks.touch(i >>> pageShift)
    const chunk = this.#chunks[i >>> 16]
    chunk[i & 0xffff] = value
    if (chunk[i & 0xffff] !== value) {
      chunk[i & 0xffff] = 0
      throw noRoom(value, this)
    }
    this.#length = i + 1
    return i
  }

  /** Adds `count` rows of zero and returns the first one's number. */
  extend(count: number): number {
    const first = this.#length
    const length = first + count
    while (this.#chunks.length * chunkRows < length) this.#addChunk()
    for (let page = first >>> pageShift; page * pageRows < length; page++) this.#marks.touch(page)
    this.#length = length
    return first
  }

  // ── PagedStore ────────────────────────────────────────────────────────────────────────────────

  get pageBytes(): number {
    return pageRows * this.#entryBytes
  }

  freeze(): number {
    this.#frozenBytes = this.#length * this.#entryBytes
    this.#marks.freeze(Math.ceil(this.#length / pageRows))
    return this.#frozenBytes
  }

  frozen(page: number): Uint8Array | null {
    return this.#marks.take(page)?.subarray(0, this.#frozenBytes - page * this.pageBytes) ?? null
  }

  thaw(saved: PageTable | null): void {
    this.#marks.thaw(saved !== null)
  }

  markDirty(page: number): void {
    this.#marks.markDirty(page)
  }

  fill(bytes: number): void {
    const rows = bytes / this.#entryBytes
    assert(this.#length === 0, 'only an empty column is filled')
    assert(Number.isInteger(rows), 'rows are saved whole')
    while (this.#chunks.length * chunkRows < rows) this.#addChunk()
    this.#length = rows
  }

  room(page: number): Uint8Array {
    const { buffer, byteOffset, byteLength } = this.#chunks[Math.floor(page / pagesPerChunk)]
    const from = (page % pagesPerChunk) * this.pageBytes
    return new Uint8Array(buffer, byteOffset + from, byteLength - from)
  }

  #addChunk(): void {
    this.#chunks.push(new this.#type(chunkRows))
    this.#marks.reserve(this.#chunks.length * pagesPerChunk)
  }
}

/** Whole numbers 0 … 255. */
export class Uint8Column extends Column {
  constructor() {
    super(Uint8Array)
  }
}

/** Whole numbers 0 … 65,535. */
export class Uint16Column extends Column {
  constructor() {
    super(Uint16Array)
  }
}

/** Whole numbers 0 … 2^32 - 1. */
export class Uint32Column extends Column {
  constructor() {
    super(Uint32Array)
  }
}

/** Any number but NaN; exact for whole numbers up to 2^53 - 1: positions and times. */
export class Float64Column extends Column {
  constructor() {
    super(Float64Array)
  }
}

function noRow(i: number, length: number): RangeError {
  return new RangeError(`row ${i} of a column of ${length} rows`)
}

function noRoom(value: number, column: Column): RangeError {
  return new RangeError(`${value} does not fit in a ${column.constructor.name}`)
}
