// Fills stores with what a checkpoint saved: long reads straight to where the pages will stay.

import path from 'node:path'
import { crc32 } from 'node:zlib'
import { type Disk, readFully, readFullyLater } from './disk.ts'
import { codeOf } from './errors.ts'
import { type Manifest, pagesName } from './manifest.ts'
import type { Pause } from './pace.ts'
import type { PagedStore, PageTable, Stores } from './paged-store.ts'

const readBytesMax = 4 * 1024 * 1024
/** At least the longest page. */
const verifyBytesMax = 1024 * 1024

/** Why a checkpoint cannot be used: another one, and more of the log, may do. */
export class BadCheckpoint extends Error {}

export interface ReadOptions {
  disk: Disk
  dir: string
  /** Asked after every read. */
  pause: Pause
}

/** Throws BadCheckpoint when a page is not as written, and what the disk throws. */
export async function readPages(
  manifest: Manifest,
  stores: Stores,
  options: ReadOptions,
): Promise<void> {
  const files = new PageFiles(manifest, options)
  try {
    for (const [name, store] of stores) {
      const table = manifest.tables.get(name)
      if (table === undefined) throw new BadCheckpoint(`it has no ${name}`)
      if (table.pageBytes !== store.pageBytes) throw new BadCheckpoint(`${name} has other pages`)
      store.fill(table.bytes)
      await readStore(store, table, files, options)
    }
  } finally {
    files.close()
  }
}

async function readStore(
  store: PagedStore,
  table: PageTable,
  files: PageFiles,
  { pause }: ReadOptions,
): Promise<void> {
  for (let page = 0; page < table.pages; ) {
    const room = store.room(page)
    const count = pagesTogether(table, page, Math.min(room.length, readBytesMax))
    const last = page + count - 1
    const length = (count - 1) * table.pageBytes + table.lengthOf(last)
    files.read(table.files[page]!, table.offsets[page]!, room.subarray(0, length))
    checkPages(table, page, count, room)
    page += count
    const pausing = pause()
    if (pausing !== null) await pausing
  }
}

/** Reads back the pages that lie in one file, while others go on. */
export async function verifyPages(
  { tables }: Manifest,
  number: number,
  { disk, dir, pause }: ReadOptions,
): Promise<void> {
  const file = disk.open(path.join(dir, pagesName(number)), 'read')
  const bytes = Buffer.allocUnsafeSlow(verifyBytesMax)
  try {
    for (const table of tables.values()) {
      for (let page = 0; page < table.pages; ) {
        const count = pagesTogether(table, page, verifyBytesMax)
        if (table.files[page] === number) {
          const last = page + count - 1
          const length = (count - 1) * table.pageBytes + table.lengthOf(last)
          const piece = bytes.subarray(0, length)
          const read = await readFullyLater(disk, file, piece, table.offsets[page]!)
          if (read < length) throw new BadCheckpoint(`${pagesName(number)} is too short`)
          checkPages(table, page, count, piece)
        }
        page += count
        const pausing = pause()
        if (pausing !== null) await pausing
      }
    }
  } finally {
    disk.close(file)
  }
}

/** `bytes` begin with pages `from` to `from + count - 1`. */
function checkPages(table: PageTable, from: number, count: number, bytes: Uint8Array): void {
  for (let i = 0; i < count; i++) {
    const at = i * table.pageBytes
    const found = crc32(bytes.subarray(at, at + table.lengthOf(from + i)))
    if (found === table.crcs[from + i]) continue
    const file = pagesName(table.files[from]!)
    throw new BadCheckpoint(`a page is damaged: ${file} at offset ${table.offsets[from]! + at}`)
  }
}

/** How many pages from `page` on lie behind each other in one file, within `bytesMax`. */
function pagesTogether(table: PageTable, page: number, bytesMax: number): number {
  const { files, offsets, pageBytes, pages } = table
  let count = 1
  while (
    page + count < pages &&
    files[page + count] === files[page] &&
    offsets[page + count] === offsets[page]! + count * pageBytes &&
    (count + 1) * pageBytes <= bytesMax
  ) {
    count++
  }
  return count
}

class PageFiles {
  readonly #manifest: Manifest
  readonly #options: ReadOptions
  readonly #open = new Map<number, number>()

  constructor(manifest: Manifest, options: ReadOptions) {
    this.#manifest = manifest
    this.#options = options
  }

  read(number: number, offset: number, into: Uint8Array): void {
    const { disk } = this.#options
    const name = pagesName(number)
    if (offset + into.length > (this.#manifest.files.get(number) ?? 0)) {
      throw new BadCheckpoint(`it names a page outside of ${name}`)
    }
    let read = 0
    try {
      let file = this.#open.get(number)
      if (file === undefined) {
        file = disk.open(path.join(this.#options.dir, name), 'read')
        this.#open.set(number, file)
      }
      read = readFully(disk, file, into, offset)
    } catch (error) {
      // Gone, or on a bad sector: as bad as changed. All else may go away by itself.
      if (!['ENOENT', 'EIO'].includes(codeOf(error))) throw error
      throw new BadCheckpoint(`${name} cannot be read: ${(error as Error).message}`)
    }
    if (read < into.length) throw new BadCheckpoint(`${name} is too short`)
  }

  close(): void {
    for (const file of this.#open.values()) this.#options.disk.close(file)
  }
}
