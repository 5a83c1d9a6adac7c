// Writes the pages of one checkpoint into one file, piece by piece, while the stores continue to
// change.
//
//   stores ──page──▶ │ piece, 1 MiB │ ──▶ file ──sync──▶ …     one piece fills while one is written
//                            └──▶ parity file
//
// Every few pieces are synced, so that the last sync is short and does not delay those of the log.

import { crc32 } from 'node:zlib'
import { type Disk, settled, writeAllLater } from '../disk.ts'
import type { Pause } from '../pace.ts'
import { packRow } from './manifest.ts'
import {
  type PagedStore,
  PageTable,
  type RowSource,
  type Rows,
  type Stores,
} from './paged-store.ts'
import { blockBytes, ParityBuilder, pieceBytes, piecesPerStripe } from './parity.ts'

const piecesPerSync = 8
export const rowPageBytes = 64 * 1024

export interface WriteOptions {
  disk: Disk
  /** Open and empty. */
  file: number
  /** Open and empty: receives the parity of the pages. */
  parityFile: number
  /** The number of the checkpoint, and the id of its store. */
  number: number
  storeId: string
  /** Called after every page. */
  pause: Pause
}

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

/** Resolves when the changed pages are written. Rejects with the disk's error. */
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
        const { files, offsets, crcs } = before!
        table.set(page, files[page]!, offsets[page]!, crcs[page]!)
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

class Pieces {
  readonly #options: WriteOptions
  readonly #parity: ParityBuilder
  #filling = Buffer.allocUnsafeSlow(pieceBytes)
  #spare = Buffer.allocUnsafeSlow(pieceBytes)
  #filled = 0
  #written = 0
  #count = 0
  #writing: Promise<void> = Promise.resolve()

  constructor(options: WriteOptions) {
    const { disk, parityFile, storeId, number, pause } = options
    this.#options = options
    this.#parity = new ParityBuilder(
      { storeId, number },
      (bytes, at) => writeAllLater(disk, parityFile, bytes, at),
      pause,
    )
  }

  /** The offset of the next page in the file. */
  get offset(): number {
    return this.#written + this.#filled
  }

  /** Resolves when a page of this length can be added, with room for the part that overflows. */
  async makeRoom(bytes: number): Promise<void> {
    if (bytes > pieceBytes - blockBytes) this.#align()
    if (this.#filled + bytes >= pieceBytes) await this.#writing
  }

  add(page: Uint8Array): void {
    const fitting = page.subarray(0, pieceBytes - this.#filled)
    this.#filling.set(fitting, this.#filled)
    this.#filled += fitting.length
    if (this.#filled < pieceBytes) return
    this.#flush()
    const rest = page.subarray(fitting.length)
    this.#filling.set(rest)
    this.#filled = rest.length
  }

  /** Resolves when all is written, to the number of bytes. The last of them are not synced yet. */
  async finish(): Promise<number> {
    await this.#writing
    if (this.#filled > 0) this.#flush()
    await this.#writing
    await this.#parity.finish()
    return this.#written
  }

  /** Resolves when no write is in progress any more, whether it succeeded or failed. */
  async stop(): Promise<void> {
    await this.#writing.catch(() => {})
  }

  /** The next page begins with a block (parity.ts, P2). */
  #align(): void {
    const aligned = Math.ceil(this.#filled / blockBytes) * blockBytes
    this.#filling.fill(0, this.#filled, aligned)
    this.#filled = aligned
  }

  /** Starts writing the piece; the previous one has been written. */
  #flush(): void {
    const [piece, length, at] = [this.#filling, this.#filled, this.#written]
    this.#written += length
    this.#filled = 0
    ;[this.#filling, this.#spare] = [this.#spare, this.#filling]
    this.#writing = this.#write(piece, length, at)
    this.#writing.catch(() => {}) // the next one to await it gets the error
  }

  async #write(piece: Buffer, length: number, at: number): Promise<void> {
    const { disk, file, parityFile } = this.#options
    await writeAllLater(disk, file, piece.subarray(0, length), at)
    await this.#parity.add(piece, length)
    this.#count++
    if (this.#count % piecesPerSync === 0) {
      await settled((done) => disk.dataSyncLater(file, done))
    }
    if (this.#count % (piecesPerSync * piecesPerStripe) === 0) {
      await settled((done) => disk.dataSyncLater(parityFile, done))
    }
  }
}
