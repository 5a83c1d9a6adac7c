// The segment that is written to.
//
//   │ header │ frame │ frame │ … │ 0…                    │ a sector kept for a seal │
//                                ▲ at                                              ▲ size

import { type Disk, writeAll } from '../disk.ts'
import { sectorBytes } from './format.ts'
import type { Settled } from './settle.ts'

type NextSegment = Pick<Settled, 'files' | 'size' | 'firstPosition'> & { number: number }

export class OpenSegment {
  readonly #disk: Disk
  #files: readonly number[]
  #number: number
  #size: number
  #at: number
  #firstPosition: number

  constructor(disk: Disk, { files, size, place, firstPosition }: Settled) {
    this.#disk = disk
    this.#files = files
    this.#number = place.number
    this.#size = size
    this.#at = place.at
    this.#firstPosition = firstPosition
  }

  /** Its descriptors: the first is written to, and each can be synced (sync-queue.ts). */
  get files(): readonly number[] {
    return this.#files
  }

  get number(): number {
    return this.#number
  }

  /** The position of its first record. */
  get firstPosition(): number {
    return this.#firstPosition
  }

  /** Whether there is room for a frame of so many bytes, and a seal after it. */
  fits(bytes: number): boolean {
    return this.#at + bytes + sectorBytes <= this.#size
  }

  /** Writes behind what is written. Throws what the disk throws. */
  write(bytes: Buffer): void {
    writeAll(this.#disk, this.#files[0], bytes, this.#at)
    this.#at += bytes.length
  }

  /** Goes on at the start of another segment; the caller closes the files that are left behind. */
  moveTo({ files, number, size, firstPosition }: NextSegment): void {
    this.#files = files
    this.#number = number
    this.#size = size
    this.#at = 0
    this.#firstPosition = firstPosition
  }

  close(): void {
    for (const file of this.#files) this.#disk.close(file)
  }
}
