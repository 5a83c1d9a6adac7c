// The text: rendered JSON of messages, threads, proposals and reviews, in one stream of entries
// that only grows. Its newest pages are in memory; the others are on disk.
//
//   stream   │ entry │ entry │ ent┊ry │ entry │ entr┊y │ entry │ …     address = offset / 8
//   pages    │ 0: slot 0, cold    ┊ 1: slot 3       ┊ 2: slot 1 …      of 1 MiB
//   blocks   │ 0  │ 1  │ … │ 63   ┊ 64 │ …                             of 16 KiB, a crc each
//
// A1. An entry changes only when it is erased. It starts at a multiple of 8, and may span pages.
// A2. A page is *cold*, which means that it has no slot, only if a checkpoint has saved it when it
//     was full. The page that is being filled is always in memory.
// A3. `append` needs nothing that may be on disk, so the state can change without reading text.
// A4. At most `bytesMax` is held in memory, three quarters of it for pages and a quarter for blocks
//     that were read. But pages that no checkpoint has saved stay, however many there are.
//
// Neighbours: page-slots.ts has the pages in memory; blocks.ts has the blocks of cold pages that
// were read; page.ts assembles answers; forum/threads/messages.ts and the other tables hold the
// addresses.

import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import type { PagedStore, PagePlace, PageTable } from '../../../wal/checkpoint/paged-store.ts'
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
/** The fraction of the memory that is for pages; the rest is for blocks. */
const pagesPart = 3 / 4

/** The name of the text's pages in a manifest, unchanged since the first form. */
export const textStoreName = 'arena.entries'

export class Text implements PagedStore {
  readonly blocks: TextBlocks
  readonly pages: PageSlots
  /** The CRC-32 of each full block. */
  readonly crcs = new Uint32Column()
  /** The length of the last appended entry in bytes. */
  written = 0
  /** Pages with an erased entry of which page files may contain older copies (erasing.ts, G2). */
  readonly erased = new Set<number>()
  /**
   * Erased parts of entries that are still on disk, because their page cannot be read (G3). Each is
   * in one page.
   */
  readonly unread: { address: number; bytes: number }[] = []
  /** Reads a cold page synchronously, for an erasure. Returns null if the page is damaged. */
  readPage: (place: PagePlace, page: number) => Uint8Array | null = () => null
  isFrozen = false // by a checkpoint, which needs the pages as they were when it began
  readonly #mayHoldAll: boolean
  /** The page being filled, initially -1; its filled bytes; the end of the block being filled. */
  #page = -1
  #used = pageBytes
  #blockEnd = blockBytes
  #slab: Buffer = Buffer.alloc(0)
  #slabOffset = 0
  /** The bytes before this offset are saved, except for dirty pages. */
  #savedBytes = 0
  #frozenBytes = 0
  readonly #dirty = new Set<number>()
  /** The places of the pages in the newest checkpoint. */
  #saved: PageTable | null = null

  /** `bytesMax` is the memory limit in bytes (A4). */
  constructor(bytesMax = Number.POSITIVE_INFINITY) {
    this.#mayHoldAll = bytesMax === Number.POSITIVE_INFINITY
    this.pages = new PageSlots((bytesMax * pagesPart) / pageBytes)
    this.blocks = new TextBlocks(this.#mayHoldAll ? 0 : bytesMax * (1 - pagesPart))
  }

  /** The length of the stream in bytes. */
  get bytes(): number {
    return this.#page * pageBytes + this.#used
  }

  /** The bytes of the pages that are in memory. */
  get bytesInMemory(): number {
    return this.pages.memory.taken * pageBytes
  }

  /** The number of bytes that no checkpoint has saved. */
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

  /** Returns the entry's text from byte `from` to `to`, or '' if part of it has yet to be read. */
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
   * Copies the entry's bytes from `from` to `to` into `target` at `at`, wherever they lie. Returns
   * false if some have yet to be read from disk; their blocks are then noted in `blocks`.
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

  /** Returns a page's place on disk in the newest checkpoint, which must contain the page. */
  placeOfPage(page: number): PagePlace {
    return this.#saved!.placeOf(page)
  }

  /** Returns whether the newest checkpoint has the page in this place. */
  isAt(page: number, { file, offset }: PagePlace): boolean {
    const place = this.placeOfPage(page)
    return place.file === file && place.offset === offset
  }

  /** Returns a block's place on disk in the newest checkpoint, or null if its page is in memory. */
  placeOf(block: number): { file: number; offset: number; bytes: number; crc: number } | null {
    const page = Math.floor(block / blocksPerPage)
    if (this.holds(page)) return null
    const { files, offsets } = this.#saved!
    const offset = offsets[page] + (block % blocksPerPage) * blockBytes
    return { file: files[page], offset, bytes: blockBytes, crc: this.crcs.get(block) }
  }

  /** Returns the newest cold page before `page`, or -1 if there is none or no room for it. */
  pageToRead(page: number): number {
    if (!this.pages.hasRoom) return -1
    let cold = Math.min(page, this.#page) - 1
    while (cold >= 0 && this.holds(cold)) cold -= 1
    return Math.max(cold, -1)
  }

  /**
   * Reads a cold page into memory. `read` fills `into` from the place, and resolves to whether it
   * succeeded. Resolves to false if the page could not be read or has changed in the meantime.
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

  /** Frees the memory of the oldest pages, as far as a checkpoint has saved them (A2, A4). */
  #drop(): void {
    const end = Math.min(Math.floor(this.#savedBytes / pageBytes), this.#page)
    this.pages.drop(end, (page) => this.#dirty.has(page))
  }

  // ── PagedStore: no entry changes while frozen, so a frozen page needs no copy ──────────────────

  get stores(): Record<string, PagedStore> {
    return { entries: this, crcs: this.crcs }
  }

  facts(): [address: number, bytes: number][] {
    return this.unread.map(({ address, bytes }) => [address, bytes])
  }

  restore(facts: unknown): void {
    for (const [address, bytes] of facts as [number, number][]) this.unread.push({ address, bytes })
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

  hasUnread(page: number): boolean {
    return this.unread.some(({ address }) => pageOf(address) === page)
  }

  fill(bytes: number, saved: PageTable): void {
    assert(this.#page === -1, 'only an empty text is filled')
    const pages = Math.ceil(bytes / pageBytes)
    this.#saved = saved
    this.#savedBytes = bytes
    if (pages === 0) return
    const oldest = this.#mayHoldAll ? 0 : pages - 1
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

  /**
   * Sets the filled length, rounded up to a multiple of 8, and computes the CRCs of full blocks.
   */
  #advance(used: number): void {
    this.#used = (used + unitBytes - 1) & -unitBytes
    for (; this.#used >= this.#blockEnd; this.#blockEnd += blockBytes) {
      const end = this.#slabOffset + this.#blockEnd
      this.crcs.push(crc32(this.#slab.subarray(end - blockBytes, end)))
    }
  }

  #beginPage(): void {
    const page = this.#page + 1
    this.pages.give(page) // it holds zeros, as the gaps between entries do
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
 * Computes a block's CRC again, if it has one (the last block is not full). Its page must be in
 * memory.
 */
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
