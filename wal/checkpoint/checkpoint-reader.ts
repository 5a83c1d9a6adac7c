// Loads a checkpoint into stores, by long reads directly into the memory where the pages will stay.
// A page that is damaged, truncated or on a bad sector is rebuilt from the parity of its file.

import { crc32 } from 'node:zlib'
import type { Pause } from '../../src/base/pauses.ts'
import type { Disk } from '../disk.ts'
import { type BadPage, type Manifest, pagesName, placeOf } from './manifest.ts'
import { PageFiles } from './page-source.ts'
import type { Filled, PageTable } from './paged-store.ts'
import { pieceBytes } from './parity.ts'
import { Sidecars } from './sidecar.ts'

const readBytesMax = 4 * 1024 * 1024
/**
 * Most of the time is spent on copying to new memory: three readers take 60 % of the time of one.
 */
const readsInFlight = 3
/** The size of the buffer for verifying pages; no page is longer. */
const verifyBytesMax = pieceBytes

/** Thrown when a checkpoint cannot be used; an older one, with more of the log, may be usable. */
export class BadCheckpoint extends Error {}

export interface ReadOptions {
  disk: Disk
  dir: string
  /** Called after every read. */
  pause: Pause
  /** Receives the bytes of pages that `readPages` has read, and of all of them. */
  onProgress?: ((done: number, total: number) => void) | undefined
}

interface PagesRead {
  /** Pages rebuilt in memory; the files are unchanged. */
  rebuilt: BadPage[]
  lost: BadPage[]
}

/**
 * Fills the stores with all pages that are good or can be rebuilt. Throws BadCheckpoint when the
 * stores do not match the manifest, and the errors of the disk.
 */
export async function readPages(
  manifest: Manifest,
  stores: ReadonlyMap<string, Filled>,
  options: ReadOptions,
): Promise<PagesRead> {
  for (const [name, store] of stores) {
    const table = manifest.tables.get(name)
    if (table === undefined) throw new BadCheckpoint(`it has no ${name}`)
    if (table.pageBytes !== store.pageBytes) throw new BadCheckpoint(`${name} has other pages`)
    checkPlaces(manifest, table)
    store.fill(table.bytes, table)
  }
  const files = new PageFiles(options)
  const sidecars = new Sidecars(options, manifest)
  const found: PagesRead = { rebuilt: [], lost: [] }
  const cutOff = new Set<number>()
  for (const [file, bytes] of manifest.files) if (files.size(file) < bytes) cutOff.add(file)
  const runs = runsOf(manifest, stores, cutOff, options.onProgress)
  const readers = Array.from({ length: readsInFlight }, async () => {
    try {
      await readRuns(runs, files, sidecars, found, options.pause)
    } catch (error) {
      runs.return() // stops the other readers
      throw error
    }
  })
  const ends = await Promise.allSettled(readers)
  files.close()
  await sidecars.close()
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return found
}

/** Pages that are contiguous on disk and in memory. */
interface PageRun {
  store: string
  table: PageTable
  page: number
  count: number
  room: Uint8Array
}

/** Pages that a store does not hold are read only where their file is in `cutOff`. */
function* runsOf(
  manifest: Manifest,
  stores: ReadonlyMap<string, Filled>,
  cutOff: ReadonlySet<number>,
  onProgress: ReadOptions['onProgress'] = () => {},
): Generator<PageRun, void> {
  const tables = Array.from(stores.keys(), (name) => manifest.tables.get(name)!)
  let total = tables.reduce((sum, { bytes }) => sum + bytes, 0)
  let done = 0
  for (const [name, store] of stores) {
    const table = manifest.tables.get(name)!
    for (let page = 0; page < table.pages; ) {
      if (store.holds?.(page) === false && !cutOff.has(table.files[page])) {
        total -= table.lengthOf(page++)
        continue
      }
      const room = store.room(page)
      const count = pagesTogether(table, page, Math.min(room.length, readBytesMax))
      const bytes = bytesOfRun(table, page, count)
      yield { store: name, table, page, count, room: room.subarray(0, bytes) }
      page += count
      done += bytes
      onProgress(done, total)
    }
  }
}

/** Several loops share the runs: while one waits for the disk, another checks its pages. */
async function readRuns(
  runs: Generator<PageRun, void>,
  files: PageFiles,
  sidecars: Sidecars,
  found: PagesRead,
  pause: Pause,
): Promise<void> {
  for (let next = runs.next(); !next.done; next = runs.next()) {
    const run = next.value
    const reading = files.read(run.table.files[run.page], run.table.offsets[run.page], run.room)
    const isRead = typeof reading === 'boolean' ? reading : await reading
    if (!isRead) await readSingly(run, files)
    for (const bad of badPages(run)) {
      const room = pageOf(run, bad.page)
      const rebuilt = await sidecars.rebuild(bad)
      if (rebuilt !== null) room.set(rebuilt.page)
      else room.fill(0)
      found[rebuilt === null ? 'lost' : 'rebuilt'].push(bad)
    }
    const pausing = pause()
    if (pausing !== null) await pausing
  }
}

/** Reads back all pages in one file, in the background. Returns those that are bad. */
export async function verifyPages(
  manifest: Manifest,
  number: number,
  options: ReadOptions,
): Promise<BadPage[]> {
  const files = new PageFiles(options)
  const buffer = Buffer.allocUnsafeSlow(verifyBytesMax)
  const found: BadPage[] = []
  try {
    for (const [store, table] of manifest.tables) {
      checkPlaces(manifest, table)
      for (let page = 0; page < table.pages; ) {
        const count = pagesTogether(table, page, verifyBytesMax)
        if (table.files[page] === number) {
          const room = buffer.subarray(0, bytesOfRun(table, page, count))
          const run = { store, table, page, count, room }
          if (!(await files.readLater(number, table.offsets[page], room))) {
            await readSingly(run, files)
          }
          found.push(...badPages(run))
        }
        page += count
        const pausing = options.pause()
        if (pausing !== null) await pausing
      }
    }
    return found
  } finally {
    buffer.fill(0)
    files.close()
  }
}

function bytesOfRun(table: PageTable, page: number, count: number): number {
  return (count - 1) * table.pageBytes + table.lengthOf(page + count - 1)
}

function pageOf({ table, page, room }: PageRun, wanted: number): Uint8Array {
  const from = (wanted - page) * table.pageBytes
  return room.subarray(from, from + table.lengthOf(wanted))
}

/** The pages of a run, read into its room, that do not have the crc of the manifest. */
function badPages(run: PageRun): BadPage[] {
  const { store, table, page: first, count } = run
  const bad: BadPage[] = []
  for (let page = first; page < first + count; page++) {
    if (crc32(pageOf(run, page)) !== table.crcs[page]) bad.push(placeOf(store, table, page))
  }
  return bad
}

/** Reads each page of a run separately; pages that cannot be read are filled with zeros. */
async function readSingly(run: PageRun, files: PageFiles): Promise<void> {
  const { table, page: first, count } = run
  for (let page = first; page < first + count; page++) {
    const room = pageOf(run, page)
    const isRead = await files.readLater(table.files[page], table.offsets[page], room)
    if (!isRead) room.fill(0)
  }
}

/** The number of pages from `page` on that are contiguous in one file, within `bytesMax`. */
function pagesTogether(table: PageTable, page: number, bytesMax: number): number {
  const { files, offsets, pageBytes, pages } = table
  let count = 1
  while (
    page + count < pages &&
    files[page + count] === files[page] &&
    offsets[page + count] === offsets[page] + count * pageBytes &&
    (count + 1) * pageBytes <= bytesMax
  ) {
    count++
  }
  return count
}

/** Guards against a manifest with a valid crc that a faulty program wrote. */
function checkPlaces({ files }: Manifest, table: PageTable): void {
  for (let page = 0; page < table.pages; page++) {
    const number = table.files[page]
    if (table.offsets[page] + table.lengthOf(page) <= (files.get(number) ?? 0)) continue
    throw new BadCheckpoint(`it names a page outside of ${pagesName(number)}`)
  }
}
