// The open batch, and the segment that its frame is written to. Encoded records wait in the batch
// until the frame is written. All batches share one buffer, because a frame is in the page cache
// when the write returns.
//
//   │ header │ frame │ frame │ … │ 0…                    │ a sector kept for a seal │
//                                ▲ at                                              ▲ size
//
// B1. Records are overwritten in these buffers once their frame is written, so that no copy of them
//     stays there.

import assert from 'node:assert/strict'
import { Packr } from 'msgpackr'
import { type Disk, writeAll } from '../disk.ts'
import {
  eachEncoded,
  type Frame,
  finishFrame,
  frameHeaderBytes,
  recordHeaderBytes,
  sectorBytes,
  wholeSectors,
} from './format.ts'
import type { PreparedTail } from './prepare-tail.ts'

/** The segment that the open one becomes. */
type NextSegment = Pick<PreparedTail, 'files' | 'size' | 'firstPosition'> & { number: number }

export class OpenSegment {
  readonly #disk: Disk
  #files: readonly number[]
  #number: number
  #size: number
  #at: number
  #firstPosition: number

  constructor(disk: Disk, { files, size, place, firstPosition }: PreparedTail) {
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

  get firstPosition(): number {
    return this.#firstPosition
  }

  /** Whether there is room for a frame of this many bytes, and a seal after it. */
  fits(bytes: number): boolean {
    return this.#at + bytes + sectorBytes <= this.#size
  }

  /** Writes after the last frame. Throws the error of the disk. */
  write(bytes: Buffer): void {
    writeAll(this.#disk, this.#files[0], bytes, this.#at)
    this.#at += bytes.length
  }

  /** Continues at the start of another segment; the caller closes the files of the old one. */
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

const firstBufferBytes = 256 * 1024
// msgpackr's REUSE_BUFFER_MODE | RESET_BUFFER_MODE: always encode at the start of one buffer, and
// return that buffer with the range as `start` and `end`.
const encodeInPlace = 512 | 1024

export class Batch {
  readonly #packr = new Packr({ useRecords: false })
  readonly #recordBytesMax: number
  #bytes = Buffer.allocUnsafeSlow(firstBufferBytes)
  #length = frameHeaderBytes
  #count = 0

  constructor(recordBytesMax: number) {
    this.#recordBytesMax = recordBytesMax
    this.#packr.useBuffer(Buffer.allocUnsafeSlow(firstBufferBytes))
  }

  get count(): number {
    return this.#count
  }

  /** Bytes of the frame so far, its header included. */
  get length(): number {
    return this.#length
  }

  add(record: unknown): void {
    const packed = this.#packr.pack(record, encodeInPlace) as Buffer & {
      start: number
      end: number
    }
    const { start, end } = packed
    assert(end - start <= this.#recordBytesMax, 'a record is within the limit of its length')
    const length = this.#length + recordHeaderBytes + end - start
    if (wholeSectors(length) > this.#bytes.length) this.#grow(wholeSectors(length))
    this.#bytes.writeUInt32LE(end - start, this.#length)
    packed.copy(this.#bytes, this.#length + recordHeaderBytes, start, end)
    packed.fill(0, start, end)
    this.#length = length
    this.#count++
  }

  /**
   * Appends `count` records that are encoded as in a frame, at most `recordBytesMax` bytes each.
   */
  addEncoded(records: Uint8Array, count: number): void {
    const isWhole = eachEncoded(records, count, (start, end) => {
      assert(end - start <= this.#recordBytesMax, 'a record is within the limit of its length')
    })
    assert(isWhole, 'the records fill their bytes')
    const length = this.#length + records.length
    if (wholeSectors(length) > this.#bytes.length) this.#grow(wholeSectors(length))
    this.#bytes.set(records, this.#length)
    this.#length = length
    this.#count += count
  }

  /**
   * Completes the frame and begins the next batch. `bytes` are whole sectors, `records` the part of
   * them that holds the records. Both are valid until the next `add`; the caller overwrites them
   * with zeros (B1).
   */
  finish(
    { firstPosition, watermark, link }: Pick<Frame, 'firstPosition' | 'watermark' | 'link'>,
    seed: number,
  ): { bytes: Buffer; records: Buffer; crc: number } {
    const length = this.#length
    const frame = { length, count: this.#count, firstPosition, watermark, link }
    const crc = finishFrame(this.#bytes, frame, seed)
    this.#length = frameHeaderBytes
    this.#count = 0
    const bytes = this.#bytes.subarray(0, wholeSectors(length))
    return { bytes, records: bytes.subarray(frameHeaderBytes, length), crc }
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes.fill(0, 0, this.#length)
    this.#bytes = larger
  }
}
