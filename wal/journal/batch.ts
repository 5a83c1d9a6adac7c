// The open batch: encoded records wait here until their frame is written. All batches share one
// buffer, because a frame is in the page cache when the write returns.
//
// B1. What is written is overwritten here: the buffers have no bytes of records that a frame took.

import assert from 'node:assert/strict'
import { Packr } from 'msgpackr'
import {
  eachEncoded,
  finishFrame,
  frameHeaderBytes,
  recordHeaderBytes,
  wholeSectors,
} from './format.ts'

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

  /** Encodes a record and appends it to the batch. */
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

  /** Appends records as they stand in a frame: `count` of them, at most `recordBytesMax` each. */
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
   * Completes the frame and begins the next batch. The bytes are whole sectors; `records` are those
   * of the records in them. Both are valid until the next `add`, and to be overwritten with zeros.
   */
  finish(
    frame: { firstPosition: number; watermark: number; link: number },
    seed: number,
  ): { bytes: Buffer; records: Buffer; crc: number } {
    const length = this.#length
    const crc = finishFrame(this.#bytes, { ...frame, length, count: this.#count }, seed)
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
