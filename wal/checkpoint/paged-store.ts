// What a checkpoint saves: stores of bytes in pages of one size, and where each page is on disk.
//
//   store   │ page 0 │ page 1 │ page 2 │ pag…      the last page may be shorter
//   table     file 4   file 7   file 4   file 7    offset and crc of each
//
// A store is frozen at one instant and continues to change; its pages are read later, in order, and
// each has its content of that instant.

import type { Pause } from '../pace.ts'

/** A page file of which a smaller fraction is in use is emptied: its pages are written again. */
const livePartMin = 0.5

/** A target that the bytes of a checkpoint are read into. */
export interface Filled {
  readonly pageBytes: number
  /** Allocates so many bytes, which `room` returns. The target must be empty. */
  fill(bytes: number): void
  /** The bytes from page `page` on, as far as they are contiguous in memory. */
  room(page: number): Uint8Array
}

export interface PagedStore extends Filled {
  /** Freezes the present content, which is to be saved. Returns its length. Never waits. */
  freeze(): number
  /**
   * The frozen content of page `page`; null when it is the same as was saved last. To be called
   * once per page, in ascending order; valid until the store changes.
   */
  frozen(page: number): Uint8Array | null
  /** Ends what `freeze` began; `isSaved`: the pages that were returned are now saved. */
  thaw(isSaved: boolean): void
  /** Has a page saved again by the next checkpoint, changed or not. Not while frozen. */
  markDirty(page: number): void
}

/** Rows of plain objects: few compared with the stores, and all saved each time, one by one. */
export interface RowSource {
  /** Freezes the present rows, which are to be saved. Never waits. */
  freeze(): void
  /** The next frozen row, in no defined order; null: there are no more. */
  next(): unknown
  thaw(): void
  /** Takes the rows of a checkpoint. */
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
}

/** Bytes in use of each page file in the tables; `pause` is called after each run of pages. */
export async function liveBytes(
  tables: Iterable<PageTable>,
  pause: Pause,
): Promise<Map<number, number>> {
  const live = new Map<number, number>()
  for (const table of tables) {
    for (let page = 0; page < table.pages; ) {
      const file = table.files[page]!
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
 * Has the next checkpoint rewrite the pages in files of which little is still in use. This is done
 * now, because a checkpoint must begin at one instant, however many pages there are.
 */
export async function markSparseFilesDirty(
  { tables, files }: { tables: ReadonlyMap<string, PageTable>; files: ReadonlyMap<number, number> },
  live: ReadonlyMap<number, number>,
  stores: Stores,
  pause: Pause,
): Promise<void> {
  const sparse = new Set<number>()
  for (const [file, bytes] of files) {
    if ((live.get(file) ?? 0) < bytes * livePartMin) sparse.add(file)
  }
  if (sparse.size === 0) return
  for (const [name, table] of tables) {
    const store = stores.get(name)
    for (let page = 0; page < table.pages; page++) {
      if (sparse.has(table.files[page]!)) store?.markDirty(page)
    }
    const pausing = pause()
    if (pausing !== null) await pausing
  }
}
