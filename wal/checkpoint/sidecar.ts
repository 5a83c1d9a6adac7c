// Reads the parity file of a page file, and rebuilds damaged parts of the page file.

import path from 'node:path'
import { crc32 } from 'node:zlib'
import { type Disk, readFullyLater } from '../disk.ts'
import { codeOf, isUnreadable } from '../errors.ts'
import type { CheckpointDirectory } from './checkpoint-files.ts'
import { type Manifest, pagesName, parityName } from './manifest.ts'
import {
  blockBytes,
  blocksIn,
  blocksOf,
  columnOf,
  encodeParityHeader,
  type PageFile,
  parityBytesOf,
  parityHeaderBytes,
  pieceBytes,
} from './parity.ts'

/** Whole blocks of a page file, as they were written. */
export interface Rebuilt {
  at: number
  bytes: Buffer
}

/** A page to rebuild, with the crc that its manifest has for it. */
interface DamagedPage {
  file: number
  offset: number
  bytes: number
  crc: number
}

/** The parity of the page files that a manifest names; each is opened when it is first needed. */
export class Sidecars {
  readonly #directory: CheckpointDirectory
  readonly #manifest: Pick<Manifest, 'storeId' | 'files'>
  readonly #open = new Map<number, Promise<Sidecar | null>>()

  constructor(directory: CheckpointDirectory, manifest: Pick<Manifest, 'storeId' | 'files'>) {
    this.#directory = directory
    this.#manifest = manifest
  }

  /**
   * Returns the page and the blocks that contain it, as they were written; null if that is
   * impossible.
   */
  async rebuild(damaged: DamagedPage): Promise<(Rebuilt & { page: Buffer }) | null> {
    const { file, offset, bytes, crc } = damaged
    const rebuilt = await (await this.#sidecar(file))?.rebuild(offset, bytes)
    if (!rebuilt) return null
    const page = rebuilt.bytes.subarray(offset - rebuilt.at).subarray(0, bytes)
    return crc32(page) === crc ? { ...rebuilt, page } : null
  }

  /** Whether a page file has parity that does not read as it was written. */
  async isDamaged(file: number): Promise<boolean> {
    const sidecar = await this.#sidecar(file)
    if (sidecar !== null) return !(await sidecar.isWhole())
    const { disk, dir } = this.#directory
    return disk.list(dir).includes(parityName(file))
  }

  async close(): Promise<void> {
    for (const sidecar of await Promise.allSettled(this.#open.values())) {
      if (sidecar.status === 'fulfilled') sidecar.value?.close()
    }
  }

  #sidecar(number: number): Promise<Sidecar | null> {
    let sidecar = this.#open.get(number)
    if (sidecar === undefined) {
      const { storeId, files } = this.#manifest
      sidecar = Sidecar.open(this.#directory, { storeId, number, bytes: files.get(number)! })
      this.#open.set(number, sidecar)
    }
    return sidecar
  }
}

export class Sidecar {
  readonly #disk: Disk
  readonly #file: PageFile
  /** Open, or null when the page file is gone. */
  readonly #pages: number | null
  readonly #parity: number
  /** The crcs of the blocks of data, then of those of parity. */
  #crcs = Buffer.alloc(0)

  private constructor(disk: Disk, file: PageFile, pages: number | null, parity: number) {
    this.#disk = disk
    this.#file = file
    this.#pages = pages
    this.#parity = parity
  }

  /**
   * Opens the parity of a page file; null if there is none that is usable. Throws any other error
   * of the disk.
   */
  static async open({ disk, dir }: CheckpointDirectory, file: PageFile): Promise<Sidecar | null> {
    const parity = openIfThere(disk, path.join(dir, parityName(file.number)))
    if (parity === null) return null
    let sidecar: Sidecar | null = null
    try {
      const pages = openIfThere(disk, path.join(dir, pagesName(file.number)))
      sidecar = new Sidecar(disk, file, pages, parity)
      if (await sidecar.#readCrcs()) return sidecar
    } catch (error) {
      if (sidecar === null) disk.close(parity)
      else sidecar.close()
      throw error
    }
    sidecar.close()
    return null
  }

  close(): void {
    if (this.#pages !== null) this.#disk.close(this.#pages)
    this.#disk.close(this.#parity)
  }

  /**
   * Returns the blocks that contain bytes `from` to `from + length` of the page file, with damaged
   * blocks rebuilt. Null if that is impossible.
   */
  async rebuild(from: number, length: number): Promise<Rebuilt | null> {
    const first = Math.floor(from / blockBytes)
    const end = blocksOf(from + length)
    const at = first * blockBytes
    const bytes = Buffer.alloc(Math.min(end * blockBytes, this.#file.bytes) - at)
    for (let block = first; block < end; block++) {
      const into = bytes.subarray((block - first) * blockBytes).subarray(0, blockBytes)
      if (await this.#readData(block, into)) continue
      if (!(await this.#rebuildBlock(block, into))) return null
    }
    return { at, bytes }
  }

  /** Whether the parity reads as it was written. */
  async isWhole(): Promise<boolean> {
    const parityBytes = parityBytesOf(this.#file.bytes)
    const buffer = Buffer.allocUnsafeSlow(Math.min(pieceBytes, parityBytes))
    let crcAt = blocksOf(this.#file.bytes)
    for (let at = 0; at < parityBytes; at += pieceBytes) {
      const piece = buffer.subarray(0, Math.min(pieceBytes, parityBytes - at))
      if (!(await readWhole(this.#disk, this.#parity, piece, parityHeaderBytes + at))) return false
      for (let from = 0; from < piece.length; from += blockBytes) {
        if (crc32(piece.subarray(from, from + blockBytes)) !== this.#crcOf(crcAt++)) return false
      }
    }
    return true
  }

  async #readCrcs(): Promise<boolean> {
    const parityBytes = parityBytesOf(this.#file.bytes)
    const blocks = blocksOf(this.#file.bytes) + blocksOf(parityBytes)
    const header = Buffer.alloc(parityHeaderBytes)
    const crcs = Buffer.alloc(blocks * 4)
    const isRead =
      (await readWhole(this.#disk, this.#parity, header, 0)) &&
      (await readWhole(this.#disk, this.#parity, crcs, parityHeaderBytes + parityBytes))
    this.#crcs = crcs
    return isRead && header.equals(encodeParityHeader(this.#file, crcs))
  }

  async #rebuildBlock(block: number, into: Buffer): Promise<boolean> {
    const { bytes } = this.#file
    const parity = Buffer.alloc(blockBytes)
    const column = columnOf(block)
    const length = Math.min(blockBytes, parityBytesOf(bytes) - column * blockBytes)
    if (!(await this.#readParity(column, parity.subarray(0, length)))) return false
    for (const other of blocksIn(column, blocksOf(bytes))) {
      if (other === block) continue
      const data = Buffer.alloc(Math.min(blockBytes, bytes - other * blockBytes))
      if (!(await this.#readData(other, data))) return false
      for (let i = 0; i < data.length; i++) parity[i] ^= data[i]
    }
    parity.copy(into, 0, 0, into.length)
    return crc32(into) === this.#crcOf(block)
  }

  /** Whether the block can be read and reads as it was written. */
  async #readData(block: number, into: Buffer): Promise<boolean> {
    if (this.#pages === null) return false
    if (!(await readWhole(this.#disk, this.#pages, into, block * blockBytes))) return false
    return crc32(into) === this.#crcOf(block)
  }

  async #readParity(column: number, into: Buffer): Promise<boolean> {
    const at = parityHeaderBytes + column * blockBytes
    if (!(await readWhole(this.#disk, this.#parity, into, at))) return false
    return crc32(into) === this.#crcOf(blocksOf(this.#file.bytes) + column)
  }

  #crcOf(block: number): number {
    return this.#crcs.readUInt32LE(block * 4)
  }
}

/** Fills `into`; false at the end of the file, and on a bad sector. */
export async function readWhole(
  disk: Disk,
  file: number,
  into: Uint8Array,
  at: number,
): Promise<boolean> {
  try {
    return (await readFullyLater(disk, file, into, at)) === into.length
  } catch (error) {
    if (isUnreadable(error)) return false
    throw error
  }
}

/** Opens a file to read it; null if it is missing, or the device cannot read it. */
export function openIfThere(disk: Disk, name: string): number | null {
  try {
    return disk.open(name, 'read')
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || isUnreadable(error)) return null
    throw error
  }
}
