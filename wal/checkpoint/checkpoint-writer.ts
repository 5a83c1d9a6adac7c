// Writes the files of one checkpoint and reads them back, while the stores continue to change.
// checkpoints.ts decides when to do so, and deals with the outcome.
//
//   page file n and its parity ─▶ growing files, and their parity ─▶ read back
//   ─▶ log synced up to the position ─▶ manifest n ─▶ read back
//
//   columns, lists, rows   ──changed──▶ file n
//   text                   ──new──▶ its newest file, and files n + 1, n + 2 … (growing-files.ts)

import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Pause } from '../../src/base/pauses.ts'
import { replaceFileLater } from '../disk.ts'
import { type CheckpointDirectory, isWritten, writeManifest } from './checkpoint-files.ts'
import { BadCheckpoint, verifyPages } from './checkpoint-reader.ts'
import { type FrozenStore, type GrownFile, type GrowthPlan, writeGrowth } from './growing-files.ts'
import {
  type BadPage,
  encodeManifest,
  type Manifest,
  manifestName,
  packRow,
  pagesName,
  parityName,
  placesOf,
} from './manifest.ts'
import { liveBytes, PageTable, type RowSource, type Rows, type Stores } from './paged-store.ts'
import { Pieces, type WriteOptions } from './parity.ts'
import { makeParity, scrubFile } from './scrub.ts'
import { Sidecar } from './sidecar.ts'

export const rowPageBytes = 64 * 1024

interface WrittenPages {
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

interface Attempt {
  place: CheckpointDirectory
  /** The manifest without the places of pages. */
  head: Pick<Manifest, 'number' | 'storeId' | 'position' | 'form' | 'facts'>
  /** The stores whose pages are written when they have changed. */
  frozen: ReadonlyMap<string, FrozenStore>
  rows: Rows
  /** The files of the stores that grow. */
  growth: readonly GrowthPlan[]
  /** The newest checkpoint. */
  before: Manifest | undefined
  pause: Pause
  /** Makes the log durable up to the position. */
  syncLog: () => Promise<void>
}

export interface Written {
  manifest: Manifest
  /** Bytes in use of each page file. */
  live: ReadonlyMap<number, number>
  /** Bytes of the pages that were written. */
  bytes: number
}

/** Thrown when pages do not read back as they were written. */
export class NotAsWritten extends BadCheckpoint {
  readonly pages: readonly BadPage[]

  constructor(pages: readonly BadPage[]) {
    super(`${placesOf(pages)} does not read back as it was written`)
    this.pages = pages
  }
}

/**
 * Rejects with the disk's error, or with BadCheckpoint when something does not read as it was
 * written.
 */
export async function writeCheckpoint(attempt: Attempt): Promise<Written> {
  const { place, head, growth, before, pause, syncLog } = attempt
  const first = await writeFirst(attempt)
  const grown: GrownFile[] = []
  for (const plan of growth) {
    grown.push(...(await writeGrowth(plan, { place, storeId: head.storeId, before, pause })))
  }
  const tables = new Map(first.tables)
  for (const { name, table } of growth) tables.set(name, table)
  const live = await liveBytes(tables.values(), pause)
  const files = new Map(before?.files)
  for (const { number, bytes } of [first, ...grown]) files.set(number, bytes)
  for (const file of files.keys()) if (!live.has(file)) files.delete(file)
  const manifest = { ...head, tables, files }

  await verify(attempt, manifest, head.number)
  for (const file of grown) {
    await coverByParity(attempt, manifest, file)
    await verify(attempt, manifest, file.number, file.pages)
  }
  await syncLog()
  const bytes = encodeManifest(manifest)
  await writeManifest(place, head.number, bytes)
  if (!(await isWritten(place, head.number, bytes))) {
    throw new BadCheckpoint(`${manifestName(head.number)} does not read back as it was written`)
  }
  return { manifest, live, bytes: grown.reduce((sum, { written }) => sum + written, first.bytes) }
}

/** Writes the page file with the pages that have changed, the rows, and its parity. */
async function writeFirst({
  place: { disk, dir },
  head: { number, storeId },
  frozen,
  rows,
  pause,
}: Attempt): Promise<WrittenPages & { number: number }> {
  const written = await replaceFileLater(disk, path.join(dir, pagesName(number)), (file) =>
    replaceFileLater(disk, path.join(dir, parityName(number)), (parityFile) =>
      writePages(frozen, rows, { disk, file, parityFile, number, storeId, pause }),
    ),
  )
  return { ...written, number }
}

/** Makes the parity of a file that is new or has grown (growing-files.ts, G4). */
async function coverByParity(
  { place, head: { storeId }, pause }: Attempt,
  manifest: Manifest,
  { number, bytes, isNew }: GrownFile,
): Promise<void> {
  const options = { pause, pace: async () => {} }
  if (!isNew) await scrubFile(place, [manifest], number, options)
  else if (!(await makeParity(place, { storeId, number, bytes }, options))) {
    throw new BadCheckpoint(`${pagesName(number)} cannot be read back`)
  }
}

/** Reads back these pages of a file, or all of them, and its parity. */
async function verify(
  { place, head: { storeId }, pause }: Attempt,
  manifest: Manifest,
  number: number,
  pages?: ReadonlySet<number>,
): Promise<void> {
  const found = await verifyPages(manifest, number, { ...place, pause })
  const bad = found.filter(({ page }) => pages?.has(page) ?? true)
  if (bad.length > 0) throw new NotAsWritten(bad)
  if (found.length > 0 && pages !== undefined) return // the parity is that from before
  const sidecar = await Sidecar.open(place, {
    storeId,
    number,
    bytes: manifest.files.get(number) ?? 0,
  })
  const isWhole = await sidecar?.isWhole()
  sidecar?.close()
  if (!isWhole)
    throw new BadCheckpoint(`${parityName(number)} does not read back as it was written`)
}
