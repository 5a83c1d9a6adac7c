// The manifest of a checkpoint: a small file with the places of all its pages. Its name appears
// when everything it names is durable. Numbers are little endian. The end of this file deals with
// pages that do not read as they were written: their places, and sentences about them.
//
//   0000000007.pages          0000000007.checkpoint          0000000009.pages
//   ┌──────┬──────┬─────┐     ┌────────┬────────────┐        ┌──────┬─────┐
//   │ page │ page │ …   │ ◀───│ header │ msgpack    │ ──────▶│ page │ …   │
//   └──────┴──────┴─────┘     └────────┴────────────┘        └──────┴─────┘
//
//    0  8  magic 89 'C' 'K' 'P' 0d 0a 1a 0a
//    8  4  format version         (these two and the crc keep their place in every version)
//   12  4  crc32 of all other bytes
//   16  8  length of the file
//   24     msgpack, see `Manifest`

import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import { Packr, Unpackr } from 'msgpackr'
import { type PagePlace, PageTable, type Stores } from './paged-store.ts'

/** Version 1 was that of builds before release 1.0. */
export const checkpointVersion = 2
const magic = Buffer.from('89434b500d0a1a0a', 'hex')
const crcAt = 12
const headerBytes = 24
const numberPattern = /^(\d{10})\.(checkpoint|pages|parity)(?:\.void)?$/

const packr = new Packr({ useRecords: false })
const unpackr = new Unpackr({ useRecords: false, copyBuffers: true, int64AsType: 'number' })

export interface Manifest {
  number: number
  storeId: string
  /** The saved state is that after the record at this position. */
  position: number
  /** The version of the saved state, defined by the caller; not that of the file format. */
  stateVersion: number
  /** The caller's facts, packed. */
  facts: Buffer
  tables: Map<string, PageTable>
  /** Bytes of each page file that is named, by its number. */
  files: Map<number, number>
  /**
   * The page files that had to be emptied because of an erasure, and are still named because a page
   * in them could not be read.
   */
  notEmptied: number[]
}

export type ReadManifest =
  | { kind: 'good'; manifest: Manifest }
  | { kind: 'other'; version: number }
  | { kind: 'bad'; why: string }

export function manifestName(number: number): string {
  return `${String(number).padStart(10, '0')}.checkpoint`
}

export function pagesName(number: number): string {
  return `${String(number).padStart(10, '0')}.pages`
}

export function parityName(number: number): string {
  return `${String(number).padStart(10, '0')}.parity`
}

/** The number in the name of a checkpoint's file, including one put aside; otherwise 0. */
export function numberIn(name: string): number {
  return Number(numberPattern.exec(name)?.[1] ?? 0)
}

/** Packs facts, or a row; pages contain packed rows one after another. */
export function pack(value: unknown): Buffer {
  return packr.pack(value)
}

export function unpackFacts(facts: Buffer): unknown {
  return unpackr.unpack(facts)
}

export function unpackRows(bytes: Buffer): unknown[] {
  return bytes.length === 0 ? [] : unpackr.unpackMultiple(bytes)!
}

type Row = [name: string, bytes: number, page: number, files: Buffer, at: Buffer, crcs: Buffer]

export function encodeManifest(manifest: Manifest): Buffer {
  const rows = Array.from(manifest.tables, ([name, table]): Row => {
    const { bytes, pageBytes, files, offsets, crcs } = table
    return [name, bytes, pageBytes, bytesOf(files), bytesOf(offsets), bytesOf(crcs)]
  })
  const { tables: _, files, stateVersion: form, ...rest } = manifest
  const packed = packr.pack({ ...rest, form, rows, files: [...files] })
  const header = Buffer.alloc(headerBytes)
  magic.copy(header)
  header.writeUInt32LE(checkpointVersion, 8)
  header.writeBigUInt64LE(BigInt(headerBytes + packed.length), 16)
  const whole = Buffer.concat([header, packed])
  whole.writeUInt32LE(crcOf(whole), crcAt)
  return whole
}

/** The crc that a manifest of any version contains. */
export function crcOf(manifest: Buffer): number {
  return crc32(manifest.subarray(crcAt + 4), crc32(manifest.subarray(0, crcAt)))
}

/** `number` is the one in the file's name. */
export function decodeManifest(bytes: Buffer, number: number): ReadManifest {
  const bad = (why: string): ReadManifest => ({ kind: 'bad', why })
  if (bytes.length < headerBytes || bytes.compare(magic, 0, 8, 0, 8) !== 0) {
    return bad('it is not a manifest')
  }
  if (crcOf(bytes) !== bytes.readUInt32LE(crcAt)) return bad('the crc of the manifest is wrong')
  const version = bytes.readUInt32LE(8)
  if (version !== checkpointVersion) return { kind: 'other', version }
  if (Number(bytes.readBigUInt64LE(16)) !== bytes.length) return bad('the length is wrong')
  const { rows, files, form: stateVersion, ...rest } = unpackr.unpack(bytes.subarray(headerBytes))
  const maps = { tables: new Map(), files: new Map<number, number>(files) }
  const manifest: Manifest = { ...rest, stateVersion, ...maps }
  if (manifest.number !== number) return bad(`it is checkpoint ${manifest.number}`)
  for (const row of rows as Row[]) manifest.tables.set(row[0], tableOf(row))
  return { kind: 'good', manifest }
}

function tableOf([, bytes, pageBytes, files, offsets, crcs]: Row): PageTable {
  const table = new PageTable(bytes, pageBytes)
  for (const [from, to] of [
    [files, bytesOf(table.files)],
    [offsets, bytesOf(table.offsets)],
    [crcs, bytesOf(table.crcs)],
  ] as const) {
    assert(from.length === to.length, 'a page has a file, an offset and a crc')
    from.copy(to)
  }
  return table
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array | Float64Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

const placesMax = 8

/** A page that does not read as it was written, and its place. */
export interface BadPage extends PagePlace {
  store: string
  page: number
}

export function placeOf(store: string, table: PageTable, page: number): BadPage {
  return { store, page, ...table.placeOf(page) }
}

/** The places of pages, for a sentence: `0000000007.pages at offsets 0 and 8192`. */
export function placesOf(pages: readonly BadPage[]): string {
  const shown = pages.slice(0, placesMax)
  const byFile = new Map<number, number[]>()
  for (const { file, offset } of shown) byFile.set(file, [...(byFile.get(file) ?? []), offset])
  const places = Array.from(byFile, ([file, offsets]) => {
    const where = offsets.length > 1 ? 'offsets' : 'offset'
    return `${pagesName(file)} at ${where} ${listed(offsets.sort((a, b) => a - b))}`
  })
  const more = pages.length - shown.length
  return listed(more > 0 ? [...places, `${more} more`] : places)
}

/** Why a checkpoint with these pages cannot be used. */
export function beyondParity(lost: readonly BadPage[]): string {
  const what = lost.length === 1 ? 'a page is damaged' : 'pages are damaged'
  return `${what} beyond what parity can rebuild: ${placesOf(lost)}`
}

/**
 * Marks dirty the pages that the newest checkpoint names and that are in memory. Returns all pages
 * except those that it names and that are not in memory.
 */
export function markBadDirty(
  pages: readonly BadPage[],
  newest: Manifest | undefined,
  stores: Stores,
): BadPage[] {
  return pages.filter(({ store: name, page, file, offset }) => {
    const table = newest?.tables.get(name)
    if (table?.files[page] !== file || table.offsets[page] !== offset) return true // not named
    const store = stores.get(name)
    if (store?.holds?.(page) === false) return false
    store?.markDirty(page)
    return true
  })
}

function listed(parts: (string | number)[]): string {
  return parts.length < 2 ? parts.join() : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}
