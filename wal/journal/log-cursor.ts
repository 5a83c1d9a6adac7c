// Reads the records of a log from a position on while the log is being written, for a process that
// folds them elsewhere and has to catch up before new frames can be forwarded as they are written.
//
// U1. Every record is returned once, in order, without a gap.
// U2. It reads from the page cache everything for which `write` has returned: the records need not
//     be synced, and must not be shown before they are.
// U3. A segment ends where the next one begins, even if more frames follow (format.ts, J8).
// U4. When a checkpoint has removed the segments, a JournalError 77 is thrown, and the reader
//     begins again from that checkpoint.

import { type Disk, readFully } from '../disk.ts'
import { JournalError, storageError } from '../errors.ts'
import {
  crcSeed,
  eachEncoded,
  type Frame,
  frameBytesMax,
  frameHeaderBytes,
  readFrame,
  recordHeaderBytes,
  type SegmentHeader,
  segmentHeaderBytes,
  wholeSectors,
} from './format.ts'
import { listSegments, readHead, segmentName, segmentPath } from './segments.ts'

const pieceBytes = 1024 * 1024

/** Records, encoded as in a frame, and the position of the first one. */
export interface EncodedRecords {
  first: number
  count: number
  /** Valid until the next call. */
  records: Uint8Array
}

export interface LogSource {
  disk: Disk
  dir: string
  storeId: string
}

export class LogCursor {
  readonly #log: LogSource
  readonly #seed: number
  /** The position of the last record that was returned. */
  #position: number
  #number = 0
  #file = -1
  /** Where the next frame begins in the segment, and the last position that is in this segment. */
  #at = 0
  #limit = Number.POSITIVE_INFINITY
  /** A piece of the segment, and the offset at which it begins. */
  #piece = Buffer.alloc(0)
  #pieceAt = 0
  #buffer = Buffer.allocUnsafeSlow(pieceBytes)

  /** Begins after the position `after`. Throws JournalError 77 (U4) or 74. */
  constructor(log: LogSource, after: number) {
    this.#log = log
    this.#seed = crcSeed(log.storeId)
    this.#position = after
    const { disk, dir } = log
    const found = listSegments(disk, dir).findLast(({ head }) => {
      return head.kind === 'good' && head.header.firstPosition <= after + 1
    })
    if (found === undefined) throw this.#gone()
    this.#open(found.number)
  }

  get position(): number {
    return this.#position
  }

  /** Returns the records of the next frame, or null if no more have been written yet. */
  next(): EncodedRecords | null {
    for (;;) {
      const frame = this.#read()
      if (frame === null || frame.lastPosition > this.#limit) {
        if (this.#moveOn()) continue
        return null
      }
      this.#at = frame.end
      if (frame.lastPosition <= this.#position) continue
      if (frame.firstPosition > this.#position + 1) throw this.#gone()
      return this.#rest(frame)
    }
  }

  close(): void {
    this.#closeFile()
    this.#buffer.fill(0)
  }

  #closeFile(): void {
    if (this.#file !== -1) this.#log.disk.close(this.#file)
    this.#file = -1
  }

  /** Reads the frame at `#at`. Its `at` is an offset in the piece, its `end` one in the segment. */
  #read(): Frame | null {
    const found = this.#inPiece()
    if (found !== null) return found
    this.#load(pieceBytes)
    const again = this.#inPiece()
    if (again !== null || this.#piece.length < frameHeaderBytes) return again
    const length = this.#piece.readUInt32LE(8)
    if (length <= pieceBytes || length > frameBytesMax) return null
    this.#load(length)
    return this.#inPiece()
  }

  #inPiece(): Frame | null {
    const at = this.#at - this.#pieceAt
    if (at >= this.#piece.length) return null
    const frame = readFrame(this.#piece, at, this.#seed)
    // Computed anew, because `readFrame` ends a frame with the piece when its padding is cut off.
    return frame === null
      ? null
      : { ...frame, end: this.#pieceAt + at + wholeSectors(frame.length) }
  }

  #load(bytes: number): void {
    if (this.#buffer.length < bytes) {
      this.#buffer.fill(0)
      this.#buffer = Buffer.allocUnsafeSlow(bytes)
    }
    const into = this.#buffer.subarray(0, bytes)
    this.#pieceAt = this.#at
    try {
      this.#piece = into.subarray(0, readFully(this.#log.disk, this.#file, into, this.#at))
    } catch (error) {
      throw storageError(`read ${segmentPath(this.#log.dir, this.#number)}`, error)
    }
  }

  #rest(frame: Frame): EncodedRecords {
    const first = this.#position + 1
    const payload = this.#piece.subarray(frame.at + frameHeaderBytes, frame.at + frame.length)
    let from = 0
    let skip = first - frame.firstPosition
    if (skip > 0) {
      eachEncoded(payload, frame.count, (start) => {
        if (skip === 0) from = start - recordHeaderBytes
        skip -= 1
      })
    }
    this.#position = frame.lastPosition
    const count = frame.lastPosition - first + 1
    return { first, count, records: payload.subarray(from) }
  }

  /** Moves to the next segment, if the log continues there. Throws JournalError 77 (U4). */
  #moveOn(): boolean {
    const next = this.#headerOf(this.#number + 1)
    // Segments are removed oldest first, and the one in which the log ends never is.
    if (next === null && !this.#exists(this.#number)) throw this.#gone()
    if (next === null || next.firstPosition > this.#position + 1) return false
    this.#open(next.number)
    return true
  }

  #exists(number: number): boolean {
    const { disk, dir } = this.#log
    return disk.list(dir).includes(segmentName(number))
  }

  /** The header of a segment of this log, or null if it does not exist yet. */
  #headerOf(number: number): SegmentHeader | null {
    const { disk, dir, storeId } = this.#log
    if (!this.#exists(number)) return null
    const { head } = readHead(disk, segmentPath(dir, number))
    return head.kind === 'good' && head.header.storeId === storeId ? head.header : null
  }

  #open(number: number): void {
    const { disk, dir } = this.#log
    this.#closeFile()
    this.#number = number
    this.#at = segmentHeaderBytes
    this.#limit = (this.#headerOf(number + 1)?.firstPosition ?? Number.POSITIVE_INFINITY) - 1
    this.#piece = this.#piece.subarray(0, 0)
    this.#pieceAt = 0
    try {
      // Last, since nobody closes the file if the constructor throws.
      this.#file = disk.open(segmentPath(dir, number), 'read')
    } catch (error) {
      throw storageError(`read ${segmentPath(dir, number)}`, error)
    }
  }

  #gone(): JournalError {
    const { dir } = this.#log
    return new JournalError(77, `the log in ${dir} no longer has position ${this.#position + 1}`)
  }
}
