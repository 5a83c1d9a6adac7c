// Writes a page file and its parity, piece by piece.
//
//   page ──▶ │ piece, 1 MiB │ ──▶ file ──sync──▶ …     one piece fills while one is written
//                   └──▶ parity file
//
// Every few pieces are synced, so that the last sync is short and does not delay those of the log.

import type { Pause } from '../../src/base/pace.ts'
import { type Disk, settled, writeAllLater } from '../disk.ts'
import { blockBytes, ParityBuilder, pieceBytes, piecesPerStripe } from './parity.ts'

const piecesPerSync = 8

export interface WriteOptions {
  disk: Disk
  /** Open and empty. */
  file: number
  /** Open and empty: receives the parity of the pages. */
  parityFile: number
  /** The number of the page file, and the id of its store. */
  number: number
  storeId: string
  /** Called after every page, and within the parity. */
  pause: Pause
}

export class Pieces {
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

  /**
   * Resolves when no write is in progress any more, whether it succeeded or failed. The bytes here
   * are overwritten: text in them may be erased one day.
   */
  async stop(): Promise<void> {
    await this.#writing.catch(() => {})
    this.#filling.fill(0)
    this.#spare.fill(0)
    this.#parity.wipe()
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
