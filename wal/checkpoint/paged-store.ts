// What a checkpoint saves: stores of bytes, in pages of one size, and where on disk each page lies.
//
//   store   │ page 0 │ page 1 │ page 2 │ pag…      the last page may be shorter
//   table     file 4   file 7   file 4   file 7    offset and crc of each
//
// A store is frozen at one instant and goes on changing; its pages are asked for later, in order,
// and each comes as it was at that instant.

import type { Pause } from '../pace.ts'

/** A page file with a smaller part of it in use is emptied: its pages are written again. */
const livePartMin = 0.5

/** What the bytes of a checkpoint are read into. */
export interface Filled {
  readonly pageBytes: number
  /** While empty: gets room for so many bytes, which `room` shows. */
  fill(bytes: number): void
  /** The bytes from page `page` on, as far as they lie together in memory. */
  room(page: number): Uint8Array
}

export interface PagedStore extends Filled {
  /** Fixes what is saved: the store as it is now. Returns how many bytes that is. Never waits. */
  freeze(): number
  /**
   * Page `page` as it was when frozen; null when it is what was saved last. To be asked for once,
   * in ascending order; valid until the store changes.
   */
  frozen(page: number): Uint8Array | null
  /** Ends what `freeze` began; `isSaved`: what was given out is now what was saved last. */
  thaw(isSaved: boolean): void
  /** Has a page saved again by the next checkpoint, changed or not. Not while frozen. */
  markDirty(page: number): void
}

/** Rows of plain objects: few beside what stores hold, and saved whole, a few at a time. */
export interface RowSource {
  /** Fixes what is saved. Never waits. */
  freeze(): void
  /** A row as it was when frozen, in no particular order; null: there are no more. */
  next(): unknown
  thaw(): void
  /** Takes the rows of a checkpoint. */
  fill(rows: unknown[]): void
}

/** Bytes in one piece. */
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

/** Where the pages of one store lie. */
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

/** Bytes of each page file that these tables name; `pause` is asked after each run of pages. */
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
 * Has the next checkpoint write again what lies in files of which little is named any more. Now and
 * not as it begins: a checkpoint begins at one instant, however many pages there are.
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
