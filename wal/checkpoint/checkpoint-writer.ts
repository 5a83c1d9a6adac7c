// Writes the files of one checkpoint and reads them back, while the stores continue to change.
// checkpoints.ts decides when to do so, and deals with the outcome.
//
//   page file n and its parity ─▶ page file n + 1, if it is needed, and its parity ─▶ read back
//   ─▶ log synced up to the position ─▶ manifest n ─▶ read back
//
// One page file has the rows and the pages that may change again. The other has the pages of stores
// that need not hold them in memory, because these pages hardly change once they are full
// (paged-store.ts, `holds`).
//
//   columns, lists, rows   ──changed──▶ file n
//   text                   ──changed──▶ file n + 1 ◀──copied── files that are being emptied

import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Pause } from '../../src/base/pauses.ts'
import { replaceFileLater } from '../disk.ts'
import { type CheckpointDirectory, isWritten, writeManifest } from './checkpoint-files.ts'
import { BadCheckpoint, verifyPages } from './checkpoint-reader.ts'
import {
  encodeManifest,
  type Manifest,
  manifestName,
  pack,
  pagesName,
  parityName,
  placesOf,
} from './manifest.ts'
import { PageSource } from './page-source.ts'
import {
  liveBytes,
  type PagedStore,
  PageTable,
  type RowSource,
  type Rows,
  type Stores,
} from './paged-store.ts'
import { Pieces, pieceBytes, type WriteOptions } from './parity.ts'
import { Sidecar } from './sidecar.ts'

export const rowPageBytes = 64 * 1024

/** A frozen store, its length when it was frozen, and the places of its previously saved pages. */
export interface FrozenStore {
  store: PagedStore
  bytes: number
  before: PageTable | undefined
}

interface WrittenPages {
  tables: Map<string, PageTable>
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

/** The pages to copy: those in the files `emptied`. */
interface Copied {
  emptied: ReadonlySet<number>
  source: PageSource
}

/** Whether any of these stores has a page to be written or copied. */
function hasPagesToWrite(
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
async function writeAndCopyPages(
  frozen: ReadonlyMap<string, FrozenStore>,
  { emptied, source }: Copied,
  options: WriteOptions,
): Promise<WrittenPages> {
  const out = new Pieces(options)
  const copy = Buffer.allocUnsafeSlow(pieceBytes)
  const contentOf = async ({ store, before }: FrozenStore, page: number, bytes: number) => {
    const changed = store.frozen(page)
    if (changed !== null || !emptied.has(before!.files[page])) return changed
    if (store.hasUnread?.(page)) return null // it stays, as long as erased text is in it
    const read = copy.subarray(0, bytes)
    return (await source.read(before!.placeOf(page), read)) ? read : null // unreadable: it stays
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
    const packed = pack(row)
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

interface Attempt {
  directory: CheckpointDirectory
  /** The manifest without the places of pages. */
  head: Pick<Manifest, 'number' | 'storeId' | 'position' | 'stateVersion' | 'facts'>
  frozen: ReadonlyMap<string, FrozenStore>
  rows: Rows
  /** The newest checkpoint. */
  before: Manifest | undefined
  /** The page files whose pages are copied. */
  emptied: ReadonlySet<number>
  /** Those of them that may have copies of erased pages. */
  mustEmpty: ReadonlySet<number>
  pause: Pause
  /** Makes the log durable up to the position. */
  syncLog: () => Promise<void>
}

export interface Written {
  manifest: Manifest
  live: ReadonlyMap<number, number>
  bytes: number
}

/** The numbers of the page files that an attempt may leave behind. */
export function numbersOf({ head: { number }, frozen }: Attempt): number[] {
  const mayBeTwo = [...frozen.values()].some(({ store }) => store.holds !== undefined)
  return mayBeTwo ? [number, number + 1] : [number]
}

/**
 * Rejects with the disk's error, or with BadCheckpoint when something does not read as it was
 * written.
 */
export async function writeCheckpoint(attempt: Attempt): Promise<Written> {
  const { directory, head, frozen, before, mustEmpty, pause, syncLog } = attempt
  const written = [await writeFirst(attempt)]
  const second = await writeSecond(attempt)
  if (second !== null) written.push(second)

  const tables = new Map(before?.tables)
  for (const name of tables.keys()) if (!frozen.has(name)) tables.delete(name)
  for (const each of written) for (const [name, table] of each.tables) tables.set(name, table)
  for (const [name, { store, bytes }] of frozen) {
    if (!tables.has(name)) tables.set(name, new PageTable(bytes, store.pageBytes)) // it is empty
  }
  const live = await liveBytes(tables.values(), pause)
  const files = new Map(before?.files)
  for (const { number, bytes } of written) files.set(number, bytes)
  for (const file of files.keys()) if (!live.has(file)) files.delete(file)
  const notEmptied = [...mustEmpty].filter((file) => files.has(file))
  const manifest = { ...head, tables, files, notEmptied }

  for (const each of written) await verify(attempt, manifest, each)
  await syncLog()
  const bytes = encodeManifest(manifest)
  await writeManifest(directory, head.number, bytes)
  if (!(await isWritten(directory, head.number, bytes))) {
    throw new BadCheckpoint(`${manifestName(head.number)} does not read back as it was written`)
  }
  return { manifest, live, bytes: written.reduce((sum, file) => sum + file.bytes, 0) }
}

interface WrittenFile extends WrittenPages {
  number: number
}

function writeFirst(attempt: Attempt): Promise<WrittenFile> {
  const { frozen, rows, head } = attempt
  const holding = new Map([...frozen].filter(([, { store }]) => store.holds === undefined))
  return writeFile(attempt, head.number, (options) => writePages(holding, rows, options))
}

/** Resolves to null if no page has to be written or copied. */
async function writeSecond(attempt: Attempt): Promise<WrittenFile | null> {
  const { directory, frozen, head, before, emptied } = attempt
  const others = new Map([...frozen].filter(([, { store }]) => store.holds !== undefined))
  if (!hasPagesToWrite(others, emptied)) return null
  const source = new PageSource(directory, before ?? { ...head, files: new Map() })
  try {
    return await writeFile(attempt, head.number + 1, (options) =>
      writeAndCopyPages(others, { emptied, source }, options),
    )
  } finally {
    await source.close()
  }
}

async function writeFile(
  { directory, head: { storeId }, pause }: Attempt,
  number: number,
  write: (options: WriteOptions) => Promise<WrittenPages>,
): Promise<WrittenFile> {
  const { disk, dir } = directory
  const written = await replaceFileLater(disk, path.join(dir, pagesName(number)), (file) =>
    replaceFileLater(disk, path.join(dir, parityName(number)), (parityFile) =>
      write({ disk, file, parityFile, number, storeId, pause }),
    ),
  )
  return { ...written, number }
}

/** Reads back the pages and the parity of a file. */
async function verify(
  { directory, head: { storeId }, pause }: Attempt,
  manifest: Manifest,
  { number, bytes }: WrittenFile,
): Promise<void> {
  const bad = await verifyPages(manifest, number, { ...directory, pause })
  if (bad.length > 0)
    throw new BadCheckpoint(`${placesOf(bad)} does not read back as it was written`)
  const sidecar = await Sidecar.open(directory, { storeId, number, bytes })
  const isWhole = await sidecar?.isWhole()
  sidecar?.close()
  if (!isWhole)
    throw new BadCheckpoint(`${parityName(number)} does not read back as it was written`)
}
