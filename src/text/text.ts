// The text: rendered JSON of messages, threads, proposals and reviews, in one stream of entries
// that only grows. Its newest pages are in memory, the others on disk.
//
//   stream   │ entry │ entry │ ent┊ry │ entry │ entr┊y │ entry │ …     address = offset / 8
//   pages    │ 0: slot 0, cold    ┊ 1: slot 3       ┊ 2: slot 1 …      of 1 MiB
//   blocks   │ 0  │ 1  │ … │ 63   ┊ 64 │ …                             of 16 KiB, a crc each
//
// A1. An entry changes only if it is erased, starts at a multiple of 8, may lie in several pages.
// A2. A page is *cold*, without a slot, only when a checkpoint has saved it full. The page that is
//     being filled is always in memory.
// A3. `append` needs nothing that may be on disk: the state can change without reading text.
// A4. At most `bytesMax` is held, three quarters of it pages, a quarter blocks that were read; but
//     pages that no checkpoint has saved stay, however many there are.
//
// Neighbours: page-slots.ts has the pages in memory, blocks.ts the blocks of cold pages that
// were read; page.ts assembles answers; state/messages.ts and the other tables hold the addresses.

import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import type { PagedStore, PagePlace, PageTable } from '../../wal/checkpoint/paged-store.ts'
import { Uint32Column } from '../columns/column.ts'
import { blockBytes, TextBlocks } from './blocks.ts'
import {
  PageSlots,
  pageBytes,
  pageOf,
  slotOffset,
  slotShift,
  unitBytes,
  unitMask,
  unitsPerPage,
} from './page-slots.ts'

const blocksPerPage = pageBytes / blockBytes
/** A UTF-16 unit takes at most three bytes of UTF-8. */
const bytesPerUnit = 3
/** The part of the memory that is for pages; the rest is for blocks. */
const pagesPart = 3 / 4

/** The name of the text's pages in a manifest: that of its first form. */
export const textStoreName = 'arena.entries'

export class Text implements PagedStore {
  /** Blocks of cold pages. */
  readonly blocks: TextBlocks
  /** The pages in memory. */
  readonly pages: PageSlots
  /** The crc32 of each full block. */
  readonly crcs = new Uint32Column()
  /** Length of the last appended entry in bytes. */
  written = 0
  /** Pages with an erased entry, of which page files may have older copies (erasing.ts, G2). */
  readonly erased = new Set<number>()
  /** Reads a cold page at once, for an erasure; null: it is damaged. */
  readPage: (place: PagePlace, page: number) => Uint8Array | null = () => null
  isFrozen = false // by a checkpoint, which needs the pages as they were when it began
  /** Whether `fill` gives all pages a slot, though they are more than fit in `bytesMax`. */
  readsAll: boolean
  readonly #mayHoldAll: boolean
  /** The page that is being filled, -1 at first; its filled bytes; the end of the next block. */
  #page = -1
  #used = pageBytes
  #blockEnd = blockBytes
  #slab: Buffer = Buffer.alloc(0)
  #slabOffset = 0
  /** Bytes up to here are saved, except for dirty pages. */
  #savedBytes = 0
  #frozenBytes = 0
  readonly #dirty = new Set<number>()
  /** Where the newest checkpoint has the pages. */
  #saved: PageTable | null = null

  /** `bytesMax`: the limit of memory. */
  constructor(bytesMax = Number.POSITIVE_INFINITY) {
    this.#mayHoldAll = bytesMax === Number.POSITIVE_INFINITY
    this.readsAll = this.#mayHoldAll
    this.pages = new PageSlots((bytesMax * pagesPart) / pageBytes)
    this.blocks = new TextBlocks(this.#mayHoldAll ? 0 : bytesMax * (1 - pagesPart))
  }

  /** Bytes of the stream. */
  get bytes(): number {
    return this.#page * pageBytes + this.#used
  }

  /** Bytes of the stream that are in memory, in pages. */
  get bytesInMemory(): number {
    return this.pages.memory.taken * pageBytes
  }

  /** Bytes that no checkpoint has saved. */
  get unsavedBytes(): number {
    return this.bytes - this.#savedBytes
  }

  /** Appends `text` as UTF-8 and returns its address; its length in bytes is in `written`. */
  append(text: string): number {
    if (this.#used === pageBytes) this.#beginPage()
    const used = this.#used
    const address = this.#page * unitsPerPage + used / unitBytes
    if (used + text.length * bytesPerUnit > pageBytes) {
      this.#appendInPieces(Buffer.from(text))
    } else {
      this.written = this.#slab.write(text, this.#slabOffset + used)
      this.#advance(used + this.written)
    }
    return address
  }

  /** The entry's text from byte `from` to byte `to`; '' if a part of it has yet to be read. */
  text(address: number, from: number, to: number): string {
    const slot = this.pages.slots[pageOf(address)]
    const start = (address & unitMask) * unitBytes + from
    if (slot !== 0 && start + to - from <= pageBytes) {
      const at = slotOffset(slot) + start
      return this.pages.memory.slabs[slot >>> slotShift].toString('utf8', at, at + to - from)
    }
    const bytes = Buffer.allocUnsafe(to - from)
    return this.copy(address, from, to, bytes, 0) ? bytes.toString() : ''
  }

  /**
   * Copies the bytes of the entry from `from` to `to` into `target` at `at`, wherever they lie.
   * False if some of them have yet to be read: their blocks are noted in `blocks`.
   */
  copy(address: number, from: number, to: number, target: Uint8Array, at: number): boolean {
    const end = address * unitBytes + to
    let isWhole = true
    for (let begin = address * unitBytes + from; begin < end; ) {
      const page = Math.floor(begin / pageBytes)
      const isCold = !this.holds(page)
      const pieceBytes = isCold ? blockBytes : pageBytes
      const offset = begin % pieceBytes
      const length = Math.min(end - begin, pieceBytes - offset)
      const piece = isCold
        ? this.blocks.get(Math.floor(begin / blockBytes), offset, length)
        : this.pages.bytesOf(page).subarray(offset, offset + length)
      if (piece === null) isWhole = false
      else target.set(piece, at)
      at += length
      begin += length
    }
    return isWhole
  }

  // ── Cold pages ────────────────────────────────────────────────────────────────────────────────

  /** The place of a page on disk in the newest checkpoint, which has it. */
  placeOfPage(page: number): PagePlace {
    return this.#saved!.placeOf(page)
  }

  /** Whether the newest checkpoint has a page in this place. */
  isAt(page: number, { file, offset }: PagePlace): boolean {
    const place = this.placeOfPage(page)
    return place.file === file && place.offset === offset
  }

  /** Where a block of a cold page is on disk, by the newest checkpoint; null: it is in memory. */
  placeOf(block: number): { file: number; offset: number; bytes: number; crc: number } | null {
    const page = Math.floor(block / blocksPerPage)
    if (this.holds(page)) return null
    const { files, offsets } = this.#saved!
    const offset = offsets[page] + (block % blocksPerPage) * blockBytes
    return { file: files[page], offset, bytes: blockBytes, crc: this.crcs.get(block) }
  }

  /** The page to read next into memory that is left: the newest cold one before `page`, or -1. */
  pageToRead(page: number): number {
    if (!this.pages.hasRoom) return -1
    let cold = Math.min(page, this.#page) - 1
    while (cold >= 0 && this.holds(cold)) cold -= 1
    return Math.max(cold, -1)
  }

  /**
   * Reads a cold page into memory. `read` resolves to whether it has filled `into` with what is at
   * this place. False if the page could not be read, or has changed meanwhile.
   */
  async read(
    page: number,
    read: (place: PagePlace, into: Uint8Array) => Promise<boolean>,
  ): Promise<boolean> {
    const [place, { memory }] = [this.placeOfPage(page), this.pages]
    const slot = memory.take()
    const isRead = await read(place, memory.page(slot))
    if (!isRead || this.holds(page) || this.#saved!.crcs[page] !== place.crc) {
      memory.release(slot)
      return false
    }
    this.pages.give(page, slot)
    this.#drop()
    return true
  }

  /** The load is over that read all pages: gives back those that are more than fit. */
  keepNewest(): void {
    this.readsAll = this.#mayHoldAll
    this.#drop()
  }

  /** Gives back the memory of the oldest pages, as far as a checkpoint has saved them (A2, A4). */
  #drop(): void {
    const end = Math.min(Math.floor(this.#savedBytes / pageBytes), this.#page)
    this.pages.drop(end, (page) => this.#dirty.has(page))
  }

  // ── PagedStore: entries never change (A1), so a frozen page needs no copy ──────────────────────

  get stores(): Record<string, PagedStore> {
    return { entries: this, crcs: this.crcs }
  }

  get pageBytes(): number {
    return pageBytes
  }

  holds(page: number): boolean {
    return this.pages.holds(page)
  }

  freeze(): number {
    this.isFrozen = true
    this.#frozenBytes = this.bytes
    return this.#frozenBytes
  }

  frozen(page: number): Uint8Array | null {
    const from = page * pageBytes
    const to = Math.min(from + pageBytes, this.#frozenBytes)
    if (to <= this.#savedBytes && !this.#dirty.has(page)) return null
    return this.pages.bytesOf(page).subarray(0, to - from)
  }

  thaw(saved: PageTable | null): void {
    this.isFrozen = false
    if (saved === null) return
    this.#saved = saved
    this.#savedBytes = saved.bytes
    this.#dirty.clear()
    this.#drop()
  }

  markDirty(page: number): void {
    if (this.holds(page)) this.#dirty.add(page)
  }

  fill(bytes: number, saved: PageTable): void {
    assert(this.#page === -1, 'only an empty text is filled')
    const pages = Math.ceil(bytes / pageBytes)
    this.#saved = saved
    this.#savedBytes = bytes
    if (pages === 0) return
    const oldest = this.readsAll ? 0 : pages - 1
    for (let page = oldest; page < pages; page++) this.pages.give(page)
    this.pages.begin(oldest)
    this.#fillPage(pages - 1, bytes - (pages - 1) * pageBytes)
  }

  room(page: number): Uint8Array {
    if (!this.holds(page)) this.pages.give(page)
    return this.pages.bytesOf(page)
  }

  // ── Appending ─────────────────────────────────────────────────────────────────────────────────

  #appendInPieces(bytes: Buffer): void {
    for (let done = 0; done < bytes.length; ) {
      if (this.#used === pageBytes) this.#beginPage()
      const end = Math.min(bytes.length, done + pageBytes - this.#used)
      bytes.copy(this.#slab, this.#slabOffset + this.#used, done, end)
      this.#advance(this.#used + end - done)
      done = end
    }
    this.written = bytes.length
  }

  /** The page is filled up to here, and to the next multiple of 8. */
  #advance(used: number): void {
    this.#used = (used + unitBytes - 1) & -unitBytes
    for (; this.#used >= this.#blockEnd; this.#blockEnd += blockBytes) {
      const end = this.#slabOffset + this.#blockEnd
      this.crcs.push(crc32(this.#slab.subarray(end - blockBytes, end)))
    }
  }

  #beginPage(): void {
    const page = this.#page + 1
    this.pages.give(page) // it holds zeros, as what lies between entries does
    this.#fillPage(page, 0)
    this.#drop()
  }

  #fillPage(page: number, used: number): void {
    this.#page = page
    this.#used = used
    this.#blockEnd = used - (used % blockBytes) + blockBytes
    const slot = this.pages.slots[page]
    this.#slab = this.pages.memory.slabs[slot >>> slotShift]
    this.#slabOffset = slotOffset(slot)
  }
}

/**
 * Computes the CRC-32 of every full block, and yields after each. All pages are in memory.
 */
export function* sumBlocks(text: Text): Generator<void> {
  const blocks = Math.floor(text.bytes / blockBytes)
  for (let block = 0; block < blocks; block++) {
    if (block === text.crcs.length) text.crcs.push(crcOf(text, block))
    else sumAgain(text, block)
    yield
  }
}

/** Computes the crc of a block whose page is in memory, if it has one: the last one is not full. */
export function sumAgain(text: Text, block: number): void {
  if (block >= text.crcs.length) return
  const crc = crcOf(text, block)
  if (text.crcs.get(block) !== crc) text.crcs.set(block, crc)
}

function crcOf(text: Text, block: number): number {
  const page = Math.floor((block * blockBytes) / pageBytes)
  const at = block * blockBytes - page * pageBytes
  return crc32(text.pages.bytesOf(page).subarray(at, at + blockBytes))
}
