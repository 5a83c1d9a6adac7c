// Writes the files of one checkpoint, and reads them back; checkpoints.ts decides when, and what
// becomes of them.
//
//   page file n and its parity ─▶ page file n + 1, if it is needed, and its parity ─▶ read back
//   ─▶ log synced up to the position ─▶ manifest n ─▶ read back

import path from 'node:path'
import type { Pause } from '../../src/base/pace.ts'
import { replaceFileLater } from '../replace-file.ts'
import { placesOf } from './bad-pages.ts'
import { type CheckpointDirectory, isWritten, writeManifest } from './checkpoint-files.ts'
import { BadCheckpoint, verifyPages } from './checkpoint-reader.ts'
import {
  type FrozenStore,
  hasPagesToWrite,
  type WrittenPages,
  writeAndCopyPages,
  writePages,
} from './checkpoint-writer.ts'
import { encodeManifest, type Manifest, manifestName, pagesName, parityName } from './manifest.ts'
import { PageSource } from './page-source.ts'
import { liveBytes, PageTable, type Rows } from './paged-store.ts'
import type { WriteOptions } from './pieces.ts'
import { Sidecar } from './sidecar.ts'

export interface Attempt {
  place: CheckpointDirectory
  /** What the manifest says beside the places of pages. */
  head: Pick<Manifest, 'number' | 'storeId' | 'position' | 'form' | 'facts'>
  frozen: ReadonlyMap<string, FrozenStore>
  rows: Rows
  /** The newest checkpoint. */
  before: Manifest | undefined
  /** The page files whose pages are copied. */
  emptied: ReadonlySet<number>
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

/** The numbers of the page files that an attempt may leave behind. */
export function numbersOf({ head: { number }, frozen }: Attempt): number[] {
  const mayBeTwo = [...frozen.values()].some(({ store }) => store.holds !== undefined)
  return mayBeTwo ? [number, number + 1] : [number]
}

/** Rejects with the disk's error, or BadCheckpoint when something reads otherwise than written. */
export async function writeCheckpoint(attempt: Attempt): Promise<Written> {
  const { place, head, frozen, before, pause, syncLog } = attempt
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
  const manifest = { ...head, tables, files }

  for (const each of written) await verify(attempt, manifest, each)
  await syncLog()
  const bytes = encodeManifest(manifest)
  await writeManifest(place, head.number, bytes)
  if (!(await isWritten(place, head.number, bytes))) {
    throw new BadCheckpoint(`${manifestName(head.number)} does not read as it was written`)
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

/** Null: all of its pages are where they were. */
async function writeSecond(attempt: Attempt): Promise<WrittenFile | null> {
  const { place, frozen, head, before, emptied } = attempt
  const others = new Map([...frozen].filter(([, { store }]) => store.holds !== undefined))
  if (!hasPagesToWrite(others, emptied)) return null
  const source = new PageSource(place, before ?? { ...head, files: new Map() })
  try {
    return await writeFile(attempt, head.number + 1, (options) =>
      writeAndCopyPages(others, { emptied, source }, options),
    )
  } finally {
    await source.close()
  }
}

async function writeFile(
  { place, head: { storeId }, pause }: Attempt,
  number: number,
  write: (options: WriteOptions) => Promise<WrittenPages>,
): Promise<WrittenFile> {
  const { disk, dir } = place
  const written = await replaceFileLater(disk, path.join(dir, pagesName(number)), (file) =>
    replaceFileLater(disk, path.join(dir, parityName(number)), (parityFile) =>
      write({ disk, file, parityFile, number, storeId, pause }),
    ),
  )
  return { ...written, number }
}

/** Reads back the pages and the parity of a file. */
async function verify(
  { place, head: { storeId }, pause }: Attempt,
  manifest: Manifest,
  { number, bytes }: WrittenFile,
): Promise<void> {
  const bad = await verifyPages(manifest, number, { ...place, pause })
  if (bad.length > 0) throw new BadCheckpoint(`${placesOf(bad)} does not read as it was written`)
  const sidecar = await Sidecar.open(place, { storeId, number, bytes })
  const isWhole = await sidecar?.isWhole()
  sidecar?.close()
  if (!isWhole) throw new BadCheckpoint(`${parityName(number)} does not read as it was written`)
}
