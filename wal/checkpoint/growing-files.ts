// The page files of stores that only grow, such as the text. Each checkpoint appends what is new,
// so what has been saved is never written again, unless its file is replaced.
//
//   0000000004.pages   │ head │ page 0  │ page 1  │ … │ page 14 │     full
//   0000000019.pages   │ head │ page 15 │ page 16 │ pag┊              the newest one grows
//
//   The head takes 4 KiB. Numbers are little endian.
//    0  8  magic 89 'G' 'R' 'W' 0d 0a 1a 0a
//    8  4  format version
//   12  4  crc32 of the other bytes of the head
//   16  8  the first page
//   24  4  the number of the file
//   28  4  the number of the file with the pages before; 0: there is none
//   32 16  the id of the log's store
//   48  …  the name of the store of pages, then zeros
//
// G1. Bytes that a manifest names never change. A checkpoint writes after those of the newest
//     manifest, in whole blocks, and so in no sector that a manifest names.
// G2. A file is only replaced as a whole, by a file with another number. That happens when
//     something in it was erased, when one of its pages is damaged but in memory, and when the
//     device fails to read or write a part of it. The old file is removed when no kept manifest
//     names it. A page that cannot be read is copied as it was found, and remains damaged.
// G3. A store may shrink only if all of its pages have changed.
// G4. The parity of a file that has grown is made anew, and replaces the old one, after the old one
//     has served to repair what was damaged meanwhile.
//
// What a crash leaves, step by step:
//
//   bytes are being appended        the kept manifests do not name them; the next checkpoint cuts
//                                   them off
//   all bytes, but the old parity   the old parity covers what the kept manifests name
//   the new parity, no manifest     it covers that as well (sidecar.ts); the next checkpoint makes
//                                   it anew
//   new files, no manifest          no manifest names them; the next checkpoint removes them
//   the manifest has its name       the older one names fewer bytes of the same file, or the file
//                                   before its replacement; a start from either finds all of it
//
// Neighbours: checkpoint-writer.ts writes all other page files; scrub.ts repairs both kinds.

import assert from 'node:assert/strict'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Pause } from '../../src/base/pauses.ts'
import { replaceFileLater, settled, writeAllLater } from '../disk.ts'
import type { CheckpointDirectory } from './checkpoint-files.ts'
import { type Manifest, pagesName } from './manifest.ts'
import { PageSource } from './page-source.ts'
import { type PagedStore, PageTable } from './paged-store.ts'
import { blockBytes } from './parity.ts'

const headBytes = blockBytes
const headVersion = 1
const magic = Buffer.from('894752570d0a1a0a', 'hex')
const crcAt = 12
/** With pages of 1 MiB, a file fills one stripe of its parity. */
export const pagesPerFile = 15
/** Syncs every few pages keep the last sync short, so that it does not delay those of the log. */
const pagesPerSync = 8

/** A frozen store, its length when it was frozen, and the places of its previously saved pages. */
export interface FrozenStore {
  store: PagedStore
  bytes: number
  before: PageTable | undefined
}

/** A file that a checkpoint makes, or appends to. */
interface PlannedFile {
  number: number
  isNew: boolean
  /** The number of the file with the pages before. */
  previous: number
  /** The pages that it has afterwards: from `first` up to, but not including, `end`. */
  first: number
  end: number
  /** The offset in the store of the first byte to be written. */
  from: number
}

/** What a checkpoint does to the files of one store. */
export interface GrowthPlan {
  name: string
  frozen: FrozenStore
  /** The places of all pages after the checkpoint. */
  table: PageTable
  files: PlannedFile[]
}

/** A file of which something was written. Its parity does not cover that yet. */
export interface GrownFile {
  number: number
  isNew: boolean
  /** Its length, and the number of bytes that were written. */
  bytes: number
  written: number
  /** The pages that were written as they must be read back. Others may be damaged (G2). */
  pages: ReadonlySet<number>
}

/** Plans the files of a store. Files in `moved` are replaced; `next` numbers new ones. */
export function planGrowth(
  name: string,
  frozen: FrozenStore,
  moved: ReadonlySet<number>,
  next: () => number,
): GrowthPlan {
  const { store, bytes, before } = frozen
  const table = new PageTable(bytes, store.pageBytes)
  const files: PlannedFile[] = []
  const saved = before?.bytes ?? 0
  let [page, previous] = [0, 0]
  const plan = (end: number, file: number | null) => {
    const number = file ?? next()
    const from = file === null ? page * store.pageBytes : saved
    const isWritten = from < Math.min(end * store.pageBytes, bytes)
    if (isWritten) assert(from % blockBytes === 0, 'G1: it grows by whole blocks')
    if (isWritten) files.push({ number, isNew: file === null, previous, first: page, end, from })
    ;[page, previous] = [end, number]
  }
  while (before !== undefined && page < Math.min(before.pages, table.pages)) {
    const file = before.files[page]
    const savedEnd = endOfFile(before, page)
    const isNewest = savedEnd === before.pages
    const isReplaced = moved.has(file) || hasChanged(store, page, savedEnd)
    if (!isReplaced) for (let n = page; n < savedEnd; n++) table.copy(n, before)
    plan(isNewest ? Math.min(table.pages, page + pagesPerFile) : savedEnd, isReplaced ? null : file)
  }
  while (page < table.pages) plan(Math.min(table.pages, page + pagesPerFile), null)
  return { name, frozen, table, files }
}

/** Returns the newest file of each store that only grows: the next checkpoint appends to it. */
export function newestFiles(
  tables: ReadonlyMap<string, PageTable>,
  stores: ReadonlyMap<string, PagedStore>,
): number[] {
  return [...tables].flatMap(([name, { files }]) => {
    return stores.get(name)?.holds === undefined || files.length === 0 ? [] : [files.at(-1)!]
  })
}

function endOfFile({ files, pages }: PageTable, page: number): number {
  let end = page + 1
  while (end < pages && files[end] === files[page]) end += 1
  return end
}

function hasChanged({ changed }: PagedStore, first: number, end: number): boolean {
  for (const page of changed ?? []) if (page >= first && page < end) return true
  return false
}

interface GrowthOptions {
  place: CheckpointDirectory
  storeId: string
  /** The newest checkpoint. */
  before: Manifest | undefined
  pause: Pause
}

/** Writes all planned files, synced, without their parity. Rejects with the disk's error. */
export async function writeGrowth(plan: GrowthPlan, options: GrowthOptions): Promise<GrownFile[]> {
  const { place, before, storeId } = options
  const source = new PageSource(place, before ?? { storeId, files: new Map() })
  const copy = Buffer.allocUnsafeSlow(plan.frozen.store.pageBytes)
  const written: GrownFile[] = []
  try {
    for (const file of plan.files) {
      written.push(await new FileWriter(plan, file, options, { source, copy }).run())
    }
    return written
  } finally {
    copy.fill(0)
    await source.close()
  }
}

class FileWriter {
  readonly #plan: GrowthPlan
  readonly #file: PlannedFile
  readonly #options: GrowthOptions
  readonly #reading: { source: PageSource; copy: Buffer }
  readonly #pages = new Set<number>()
  /** The number of bytes written. */
  #written = 0

  constructor(
    plan: GrowthPlan,
    file: PlannedFile,
    options: GrowthOptions,
    reading: { source: PageSource; copy: Buffer },
  ) {
    this.#plan = plan
    this.#file = file
    this.#options = options
    this.#reading = reading
  }

  async run(): Promise<GrownFile> {
    const { disk, dir } = this.#options.place
    const { number, isNew, end } = this.#file
    const name = path.join(dir, pagesName(number))
    if (isNew) await replaceFileLater(disk, name, (file) => this.#write(file))
    else {
      const file = disk.open(name, 'write')
      try {
        disk.truncate(file, this.#endOf(this.#plan.frozen.before!, end))
        await this.#write(file)
        await settled((done) => disk.syncLater(file, done))
      } finally {
        disk.close(file)
      }
    }
    const bytes = this.#endOf(this.#plan.table, end)
    return { number, isNew, bytes, written: this.#written, pages: this.#pages }
  }

  /** The length of the file as far as this table names it. */
  #endOf(table: PageTable, end: number): number {
    const last = Math.min(end, table.pages) - 1
    return this.#offsetOf(last) + table.lengthOf(last)
  }

  #offsetOf(page: number): number {
    return headBytes + (page - this.#file.first) * this.#plan.table.pageBytes
  }

  async #write(file: number): Promise<void> {
    const { table } = this.#plan
    const { disk } = this.#options.place
    const { number, isNew, first, end, from } = this.#file
    if (isNew) await writeAllLater(disk, file, this.#head(), 0)
    for (let page = first; page < end; page++) {
      const skipped = Math.max(0, from - page * table.pageBytes)
      if (skipped >= table.lengthOf(page)) continue
      const { content, crc } = await this.#contentOf(page)
      const offset = this.#offsetOf(page)
      table.set(page, number, offset, crc)
      await writeAllLater(disk, file, content.subarray(skipped), offset + skipped)
      this.#written += content.length - skipped
      if ((page - first + 1) % pagesPerSync === 0) {
        await settled((done) => disk.dataSyncLater(file, done))
      }
      const pausing = this.#options.pause()
      if (pausing !== null) await pausing
    }
  }

  async #contentOf(page: number): Promise<{ content: Uint8Array; crc: number }> {
    const { store, before } = this.#plan.frozen
    const frozen = store.frozen(page)
    if (frozen !== null) {
      this.#pages.add(page)
      return { content: frozen, crc: crc32(frozen) }
    }
    const { source, copy } = this.#reading
    const place = before!.placeOf(page)
    const content = copy.subarray(0, place.bytes)
    if (await source.read(place, content)) this.#pages.add(page)
    else await source.readAsFound(place, content)
    return { content, crc: place.crc }
  }

  #head(): Buffer {
    const { number, previous, first } = this.#file
    const head = Buffer.alloc(headBytes)
    magic.copy(head)
    head.writeUInt32LE(headVersion, 8)
    head.writeBigUInt64LE(BigInt(first), 16)
    head.writeUInt32LE(number, 24)
    head.writeUInt32LE(previous, 28)
    head.write(this.#options.storeId, 32, 16, 'hex')
    head.write(this.#plan.name, 48)
    head.writeUInt32LE(crc32(head.subarray(crcAt + 4), crc32(head.subarray(0, crcAt))), crcAt)
    return head
  }
}
