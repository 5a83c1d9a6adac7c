// Writes the pages of one checkpoint, while the stores continue to change: into one file rows, and
// pages that may change again; into another the pages of stores that need not hold them, because
// these hardly change once they are full (paged-store.ts, `holds`).
//
//   columns, lists, rows   ──changed──▶ file n
//   text                   ──changed──▶ file n + 1 ◀──copied── files that are being emptied

import { crc32 } from 'node:zlib'
import { packRow } from './manifest.ts'
import type { PageSource } from './page-source.ts'
import {
  type PagedStore,
  PageTable,
  type RowSource,
  type Rows,
  type Stores,
} from './paged-store.ts'
import { pieceBytes } from './parity.ts'
import { Pieces, type WriteOptions } from './pieces.ts'

export const rowPageBytes = 64 * 1024

/** A frozen store, its length when it was frozen, and the places of its previously saved pages. */
export interface FrozenStore {
  store: PagedStore
  bytes: number
  before: PageTable | undefined
}

export interface WrittenPages {
  tables: Map<string, PageTable>
  /** Bytes of the file. */
  bytes: number
}

/** Resolves when changed pages and all rows are written. Rejects with the disk's error. */
export async function writePages(
  frozen: ReadonlyMap<string, FrozenStore>,
  rows: Rows,
  options: WriteOptions,
): Promise<WrittenPages> {
  const out = new Pieces(options)
  try {
    const tables = await writeChanged(frozen, out, options)
    for (const [name, source] of rows) tables.set(name, await writeRows(source, out, options))
    return { tables, bytes: await out.finish() }
  } finally {
    await out.stop()
  }
}

async function writeChanged(
  frozen: ReadonlyMap<string, FrozenStore>,
  out: Pieces,
  { number, pause }: WriteOptions,
): Promise<Map<string, PageTable>> {
  const tables = new Map<string, PageTable>()
  for (const [name, { store, bytes, before }] of frozen) {
    const table = new PageTable(bytes, store.pageBytes)
    tables.set(name, table)
    for (let page = 0; page < table.pages; page++) {
      await out.makeRoom(table.lengthOf(page))
      const changed = store.frozen(page)
      if (changed === null) {
        table.copy(page, before!)
      } else {
        table.set(page, number, out.offset, crc32(changed))
        out.add(changed)
      }
      const pausing = pause()
      if (pausing !== null) await pausing
    }
  }
  return tables
}

/** What is copied: pages in the files `emptied`. */
export interface Copied {
  emptied: ReadonlySet<number>
  source: PageSource
}

/** Whether any of these stores has a page to be written or copied. */
export function hasPagesToWrite(
  frozen: ReadonlyMap<string, FrozenStore>,
  emptied: ReadonlySet<number>,
): boolean {
  for (const { store, bytes, before } of frozen.values()) {
    for (let page = Math.ceil(bytes / store.pageBytes) - 1; page >= 0; page--) {
      if (store.frozen(page) !== null || emptied.has(before!.files[page])) return true
    }
  }
  return false
}

/** As `writePages`, for stores that need not hold their pages: those are copied. */
export async function writeAndCopyPages(
  frozen: ReadonlyMap<string, FrozenStore>,
  { emptied, source }: Copied,
  options: WriteOptions,
): Promise<WrittenPages> {
  const out = new Pieces(options)
  const copy = Buffer.allocUnsafeSlow(pieceBytes)
  const contentOf = async ({ store, before }: FrozenStore, page: number, bytes: number) => {
    const changed = store.frozen(page)
    if (changed !== null || !emptied.has(before!.files[page])) return changed
    const read = copy.subarray(0, bytes)
    return (await source.read(before!.placeOf(page), read)) ? read : null // or it stays there
  }
  try {
    const tables = new Map<string, PageTable>()
    for (const [name, each] of frozen) {
      const table = new PageTable(each.bytes, each.store.pageBytes)
      tables.set(name, table)
      for (let page = 0; page < table.pages; page++) {
        await out.makeRoom(table.lengthOf(page))
        const content = await contentOf(each, page, table.lengthOf(page))
        if (content === null) table.copy(page, each.before!)
        else {
          table.set(page, options.number, out.offset, crc32(content))
          out.add(content)
        }
        const pausing = options.pause()
        if (pausing !== null) await pausing
      }
    }
    return { tables, bytes: await out.finish() }
  } finally {
    await out.stop()
    copy.fill(0)
  }
}

/** Writes all rows of a source one after another, in separate pages. */
async function writeRows(
  source: RowSource,
  out: Pieces,
  { number, pause }: WriteOptions,
): Promise<PageTable> {
  const places: { offset: number; crc: number }[] = []
  const page = Buffer.allocUnsafe(rowPageBytes)
  let filled = 0
  let bytes = 0
  const endPage = async () => {
    await out.makeRoom(filled)
    const whole = page.subarray(0, filled)
    places.push({ offset: out.offset, crc: crc32(whole) })
    out.add(whole)
    filled = 0
  }
  for (let row = source.next(); row !== null; row = source.next()) {
    const packed = packRow(row)
    bytes += packed.length
    for (let at = 0; at < packed.length; ) {
      const copied = packed.copy(page, filled, at)
      at += copied
      filled += copied
      if (filled === rowPageBytes) await endPage()
    }
    const pausing = pause()
    if (pausing !== null) await pausing
  }
  if (filled > 0) await endPage()
  const table = new PageTable(bytes, rowPageBytes)
  for (const [i, { offset, crc }] of places.entries()) table.set(i, number, offset, crc)
  return table
}

/** Freezes all stores at one instant. */
export function freezeAll(
  stores: Stores,
  before: ReadonlyMap<string, PageTable>,
): Map<string, FrozenStore> {
  const frozen = new Map<string, FrozenStore>()
  for (const [name, store] of stores) {
    frozen.set(name, { store, bytes: store.freeze(), before: before.get(name) })
  }
  return frozen
}
