// The content of a checkpoint: stores of bytes in pages of one size, and the place of each page on
// disk.
//
//   store   │ page 0 │ page 1 │ page 2 │ pag…      the last page may be shorter
//   table     file 4   file 7   file 4   file 7    offset and crc of each
//
// A store is frozen at one instant and continues to change; its pages are read later, in order, and
// each has its content of that instant.

import type { Pause } from '../../src/base/pauses.ts'

/** When a smaller fraction of a page file is in use, it is emptied: its pages are written again. */
const livePartMin = 0.5
/**
 * Each checkpoint that saves a full page which will not change adds a page file. When so many files
 * are small, they are emptied, so that their pages are written into one. With 10,000 of them a
 * start took 0.2 s of processor time longer, and each checkpoint 0.13 s.
 */
export const smallFilesMax = 32
const smallFileBytes = 4 << 20

/** A target that the bytes of a checkpoint are read into. */
export interface Filled {
  readonly pageBytes: number
  /**
   * Allocates this many bytes, which `room` returns; `saved` is where they come from. The target
   * must be empty.
   */
  fill(bytes: number, saved: PageTable): void
  /** The bytes from page `page` on, as far as they are contiguous in memory. */
  room(page: number): Uint8Array
  /**
   * Whether the page is in memory. Only stores that need not hold all their pages have this method;
   * such pages hardly change once they are full. A start reads only the pages that the store holds
   * after `fill`. `frozen` of any page may be called again. The pages are written to files of their
   * own, and copied from there to others without the store.
   */
  holds?(page: number): boolean
}

export interface PagedStore extends Filled {
  /** Freezes the present content, which is to be saved. Returns its length. Never waits. */
  freeze(): number
  /**
   * The frozen content of page `page`; null when it is the same as was saved last. To be called
   * once per page, in ascending order; valid until the store changes.
   */
  frozen(page: number): Uint8Array | null
  /**
   * Ends the snapshot of `freeze`. All pages are saved in these places; null: the checkpoint
   * failed.
   */
  thaw(saved: PageTable | null): void
  /** Makes the next checkpoint save a page again, changed or not. Not while frozen. */
  markDirty(page: number): void
  /** Pages in which something was erased, so that no copy of them may stay on disk. */
  readonly erased?: Set<number>
  /**
   * Whether something that was erased in this page is still to be overwritten, because the page
   * could not be read. Such a page is not copied; it stays in its file.
   */
  hasUnread?(page: number): boolean
}

/** Rows of plain objects: few compared with the stores, and all saved each time, one by one. */
export interface RowSource {
  /** Freezes the present rows, which are to be saved. Never waits. */
  freeze(): void
  /** The next frozen row, in no defined order; null: there are no more. */
  next(): unknown
  thaw(): void
  fill(rows: unknown[]): void
}

/** A target of contiguous bytes. */
export class Bytes implements Filled {
  readonly pageBytes: number
  bytes: Buffer = Buffer.alloc(0)

  constructor(pageBytes: number) {
    this.pageBytes = pageBytes
  }

  fill(bytes: number): void {
    this.bytes = Buffer.allocUnsafeSlow(bytes)
  }

  room(page: number): Uint8Array {
    return this.bytes.subarray(page * this.pageBytes)
  }
}

export type Stores = ReadonlyMap<string, PagedStore>
export type Rows = ReadonlyMap<string, RowSource>

/** Where a page is on disk. */
export interface PagePlace {
  /** The number of its page file. */
  file: number
  offset: number
  bytes: number
  crc: number
}

/** The places of the pages of one store. */
export class PageTable {
  readonly bytes: number
  readonly pageBytes: number
  readonly files: Uint32Array
  readonly offsets: Float64Array
  readonly crcs: Uint32Array

  constructor(bytes: number, pageBytes: number) {
    this.bytes = bytes
    this.pageBytes = pageBytes
    const pages = Math.ceil(bytes / pageBytes)
    this.files = new Uint32Array(pages)
    this.offsets = new Float64Array(pages)
    this.crcs = new Uint32Array(pages)
  }

  get pages(): number {
    return this.files.length
  }

  /** The length of one page: only the last one's may differ. */
  lengthOf(page: number): number {
    return Math.min(this.pageBytes, this.bytes - page * this.pageBytes)
  }

  set(page: number, file: number, offset: number, crc: number): void {
    this.files[page] = file
    this.offsets[page] = offset
    this.crcs[page] = crc
  }

  /** Takes the place of the page from another table. */
  copy(page: number, { files, offsets, crcs }: PageTable): void {
    this.set(page, files[page], offsets[page], crcs[page])
  }

  placeOf(page: number): PagePlace {
    const [file, offset, crc] = [this.files[page], this.offsets[page], this.crcs[page]]
    return { file, offset, bytes: this.lengthOf(page), crc }
  }
}

/** Bytes in use of each page file in the tables; `pause` is called after each run of pages. */
export async function liveBytes(
  tables: Iterable<PageTable>,
  pause: Pause,
): Promise<Map<number, number>> {
  const live = new Map<number, number>()
  for (const table of tables) {
    for (let page = 0; page < table.pages; ) {
      const file = table.files[page]
      let bytes = 0
      for (; page < table.pages && table.files[page] === file; page++) bytes += table.lengthOf(page)
      live.set(file, (live.get(file) ?? 0) + bytes)
      const pausing = pause()
      if (pausing !== null) await pausing
    }
  }
  return live
}

/**
 * Returns the page files to be emptied: those with little in use, and the oldest small ones if
 * there are many.
 */
export function filesToRewrite(
  files: ReadonlyMap<number, number>,
  live: ReadonlyMap<number, number>,
): Set<number> {
  const sparse: number[] = []
  const small: number[] = []
  for (const [file, bytes] of files) {
    if ((live.get(file) ?? 0) < bytes * livePartMin) sparse.push(file)
    else if (bytes < smallFileBytes) small.push(file)
  }
  if (small.length < smallFilesMax) return new Set(sparse)
  const oldest = small.sort((a, b) => a - b).slice(0, smallFilesMax)
  return new Set([...sparse, ...oldest])
}

/**
 * Makes the next checkpoint rewrite the pages in these files, except those that it copies. They are
 * marked in advance, because a checkpoint must begin at one instant, however many pages there are.
 */
export async function markFilesDirty(
  tables: ReadonlyMap<string, PageTable>,
  files: ReadonlySet<number>,
  stores: Stores,
  pause: Pause,
): Promise<void> {
  if (files.size === 0) return
  for (const [name, table] of tables) {
    const store = stores.get(name)
    if (store === undefined || store.holds !== undefined) continue
    for (let page = 0; page < table.pages; page++) {
      if (files.has(table.files[page])) store.markDirty(page)
    }
    const pausing = pause()
    if (pausing !== null) await pausing
  }
}
