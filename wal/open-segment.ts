// The segment that is written to.
//
//   │ header │ frame │ frame │ … │ 0…                    │ a sector kept for a seal │
//                                ▲ at                                              ▲ size

import { type Disk, writeAll } from './disk.ts'
import { sectorBytes } from './format.ts'
import type { Settled } from './settle.ts'

export class OpenSegment {
  readonly #disk: Disk
  #file: number
  #number: number
  #size: number
  #at: number

  constructor(disk: Disk, { file, size, place }: Settled) {
    this.#disk = disk
    this.#file = file
    this.#number = place.number
    this.#size = size
    this.#at = place.at
  }

  get file(): number {
    return this.#file
  }

  get number(): number {
    return this.#number
  }

  /** Whether a frame of so many bytes has room here, and a seal after it. */
  fits(bytes: number): boolean {
    return this.#at + bytes + sectorBytes <= this.#size
  }

  /** Writes behind what is written. Throws what the disk throws. */
  write(bytes: Buffer): void {
    writeAll(this.#disk, this.#file, bytes, this.#at)
    this.#at += bytes.length
  }

  /** Goes on at the start of another segment; the file left behind is the caller's to close. */
  moveTo({ file, number, size }: { file: number; number: number; size: number }): void {
    this.#file = file
    this.#number = number
    this.#size = size
    this.#at = 0
  }
}
