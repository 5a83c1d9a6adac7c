// Fills stores with what a checkpoint saved: long reads straight to where the pages will stay.

import path from 'node:path'
import { crc32 } from 'node:zlib'
import { type Disk, readFully, readFullyLater } from './disk.ts'
import { codeOf, isUnreadable, messageOf } from './errors.ts'
import { type Manifest, pagesName } from './manifest.ts'
import type { Pause } from './pace.ts'
import type { Filled, PageTable } from './paged-store.ts'

const readBytesMax = 4 * 1024 * 1024
const readLaterBytesMin = 256 * 1024
/** Most of the work is to copy into memory that is new: three take 60 % of the time of one. */
const readsInFlight = 3
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
  stores: ReadonlyMap<string, Filled>,
  options: ReadOptions,
): Promise<void> {
  const files = new PageFiles(manifest, options)
  for (const [name, store] of stores) {
    const table = manifest.tables.get(name)
    if (table === undefined) throw new BadCheckpoint(`it has no ${name}`)
    if (table.pageBytes !== store.pageBytes) throw new BadCheckpoint(`${name} has other pages`)
    store.fill(table.bytes)
  }
  const runs = runsOf(manifest, stores)
  const readers = Array.from({ length: readsInFlight }, () => readRuns(runs, files, options))
  const ends = await Promise.allSettled(readers)
  files.close()
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/** Pages that lie together, on disk and in memory. */
interface PageRun {
  table: PageTable
  page: number
  count: number
  room: Uint8Array
}

function* runsOf(
  manifest: Manifest,
  stores: ReadonlyMap<string, Filled>,
): Generator<PageRun, void> {
  for (const [name, store] of stores) {
    const table = manifest.tables.get(name)!
    for (let page = 0; page < table.pages; ) {
      const room = store.room(page)
      const count = pagesTogether(table, page, Math.min(room.length, readBytesMax))
      yield { table, page, count, room: room.subarray(0, bytesOfRun(table, page, count)) }
      page += count
    }
  }
}

/** Several of these share the runs: while one waits for the disk, another checks what it read. */
async function readRuns(
  runs: Generator<PageRun, void>,
  files: PageFiles,
  { pause }: ReadOptions,
): Promise<void> {
  try {
    for (let next = runs.next(); !next.done; next = runs.next()) {
      const { table, page, count, room } = next.value
      const reading = files.read(table.files[page]!, table.offsets[page]!, room)
      if (reading !== null) await reading
      checkPages(table, page, count, room)
      const pausing = pause()
      if (pausing !== null) await pausing
    }
  } catch (error) {
    runs.return() // the others need not go on
    throw error
  }
}

function bytesOfRun(table: PageTable, page: number, count: number): number {
  return (count - 1) * table.pageBytes + table.lengthOf(page + count - 1)
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
          const length = bytesOfRun(table, page, count)
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

  /** Null when it is done at once, which is faster for what is short. */
  read(number: number, offset: number, into: Uint8Array): Promise<void> | null {
    const name = pagesName(number)
    if (offset + into.length > (this.#manifest.files.get(number) ?? 0)) {
      throw new BadCheckpoint(`it names a page outside of ${name}`)
    }
    if (into.length >= readLaterBytesMin) return this.#readLater(number, offset, into)
    try {
      wholeRead(name, readFully(this.#options.disk, this.#file(number), into, offset), into)
    } catch (error) {
      throw whyBad(name, error)
    }
    return null
  }

  async #readLater(number: number, offset: number, into: Uint8Array): Promise<void> {
    const name = pagesName(number)
    try {
      const { disk } = this.#options
      wholeRead(name, await readFullyLater(disk, this.#file(number), into, offset), into)
    } catch (error) {
      throw whyBad(name, error)
    }
  }

  #file(number: number): number {
    let file = this.#open.get(number)
    if (file === undefined) {
      file = this.#options.disk.open(path.join(this.#options.dir, pagesName(number)), 'read')
      this.#open.set(number, file)
    }
    return file
  }

  close(): void {
    for (const file of this.#open.values()) this.#options.disk.close(file)
  }
}

function wholeRead(name: string, read: number, into: Uint8Array): void {
  if (read < into.length) throw new BadCheckpoint(`${name} is too short`)
}

/** Gone, or on a bad sector: as bad as changed. All else may go away by itself. */
function whyBad(name: string, error: unknown): unknown {
  if (codeOf(error) !== 'ENOENT' && !isUnreadable(error)) return error
  return new BadCheckpoint(`${name} cannot be read: ${messageOf(error)}`)
}
