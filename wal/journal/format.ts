// The bytes of the journal. Numbers are little endian; everything starts at a multiple of 512.
//
//   0000000001.wal                    0000000002.wal                   0000000003.wal
//   ┌────────┬───────┬──────┬─────┐   ┌────────┬───────┬───────────┐   ┌──────────────────┐
//   │ header │ frame │ seal │ 0…0 │ ─▶│ header │ frame │ 0…        │   │ 0… (spare)       │
//   └────────┴───────┴──────┴─────┘   └────────┴───────┴───────────┘   └──────────────────┘
//
// Segment header, one sector:
//    0  8  magic 89 'W' 'A' 'L' 0d 0a 1a 0a
//    8  4  format version          (these two and the crc keep their place in every version)
//   12 16  store id, random, the same in all segments of a store
//   28  8  segment number, as in the file name
//   36  8  first position: that of the first record here
//   44  8  watermark, as in a frame
//   52  4  link, as in a frame
//   56  4  1 when it was written whole, by `prepareTail`, before it got its name; else 0
//  508  4  crc32 of bytes 0..508
//
// Frame, one group commit, padded with zeros to a whole number of sectors:
//    0  4  magic ff 'F' 'R' 'M'    (ff never occurs in UTF-8: no text can imitate a frame)
//    4  4  crc32 of bytes 8..length, started with the crc32 of the store id
//    8  4  length: header and payload without padding, 36..frameBytesMax
//   12  4  count of records; a frame without records is a seal
//   16  8  first position: that of the first record, or of the next one to come
//   24  8  watermark: the last position known to be synced when this frame was written
//   32  4  link: crc of the last frame before it that holds records; 0 at the very start
//   36     payload: each record as 4 bytes length and a msgpack value
//
// J1. Positions start at 1, have no gaps and never repeat.
// J2. A watermark is true: everything that it covers had been synced before the frame was written.
// J3. A synced sector is never rewritten, except a seal's. A torn write damages nothing older.
// J4. The durable position never passes what finished syncs cover (mode `always`).
// J5. After a failed write or sync the journal is dead: nothing becomes durable any more.
// J6. Bytes that no watermark covers are a torn tail: set aside and reported. Bytes that a
//     watermark covers and that have changed are damage: the start is refused, nothing is changed.
// J7. No length is trusted before it is bounded.
// J8. A segment's header fixes where the previous one ends; bytes after that are not in the log.

import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'

/** Versions 1 and 2 were those of builds before release 1.0. */
export const formatVersion = 3
export const sectorBytes = 512
export const segmentHeaderBytes = sectorBytes
export const frameHeaderBytes = 36
export const recordHeaderBytes = 4
export const recordBytesMax = 1024 * 1024
export const frameBytesMax = 16 * 1024 * 1024
export const segmentBytesMax = 1024 * 1024 * 1024
export const storeIdBytes = 16

const segmentMagic = Buffer.from('8957414c0d0a1a0a', 'hex')
const frameMagic = Buffer.from('ff46524d', 'hex').readUInt32LE(0)
const headerCrcAt = sectorBytes - 4

// A record of the largest size always fits in a frame of its own.
assert(frameHeaderBytes + recordHeaderBytes + recordBytesMax <= frameBytesMax)

export interface SegmentHeader {
  storeId: string
  number: number
  firstPosition: number
  watermark: number
  link: number
  settled: boolean
}

export type ReadHeader =
  | { kind: 'good'; header: SegmentHeader }
  | { kind: 'other'; version: number }
  | { kind: 'zero' | 'bad' }

export interface Frame {
  /** Offset of its first byte in the segment. */
  at: number
  /** Offset of the first byte after it and its padding. */
  end: number
  length: number
  count: number
  firstPosition: number
  /** The last record's position; that of the record before it for a seal. */
  lastPosition: number
  watermark: number
  link: number
  crc: number
}

/** The next multiple of a sector. */
export function wholeSectors(bytes: number): number {
  return Math.ceil(bytes / sectorBytes) * sectorBytes
}

/** The initial value of the frames' crc, so that a frame of another store is never accepted. */
export function crcSeed(storeId: string): number {
  return crc32(Buffer.from(storeId, 'hex'))
}

export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(segmentHeaderBytes)
  segmentMagic.copy(bytes)
  bytes.writeUInt32LE(formatVersion, 8)
  bytes.write(header.storeId, 12, storeIdBytes, 'hex')
  writePosition(bytes, header.number, 28)
  writePosition(bytes, header.firstPosition, 36)
  writePosition(bytes, header.watermark, 44)
  bytes.writeUInt32LE(header.link, 52)
  bytes.writeUInt32LE(header.settled ? 1 : 0, 56)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, headerCrcAt)), headerCrcAt)
  return bytes
}

/** Reads the first sector of a segment; a file shorter than that is padded with zeros. */
export function decodeSegmentHeader(bytes: Buffer): ReadHeader {
  assert(bytes.length === segmentHeaderBytes)
  if (lastNonZero(bytes, 0) === 0) return { kind: 'zero' }
  const whole = crc32(bytes.subarray(0, headerCrcAt)) === bytes.readUInt32LE(headerCrcAt)
  if (!whole || bytes.compare(segmentMagic, 0, 8, 0, 8) !== 0) return { kind: 'bad' }
  const version = bytes.readUInt32LE(8)
  if (version !== formatVersion) return { kind: 'other', version }
  const header = {
    storeId: bytes.toString('hex', 12, 12 + storeIdBytes),
    number: readPosition(bytes, 28),
    firstPosition: readPosition(bytes, 36),
    watermark: readPosition(bytes, 44),
    link: bytes.readUInt32LE(52),
    settled: bytes.readUInt32LE(56) === 1,
  }
  return { kind: 'good', header }
}

/**
 * Completes a frame in place: its payload is in bytes 36 to `length`, and `bytes` has room for the
 * padding. Returns the frame's crc, which is the next frame's link.
 */
export function finishFrame(
  bytes: Buffer,
  frame: Pick<Frame, 'length' | 'count' | 'firstPosition' | 'watermark' | 'link'>,
  seed: number,
): number {
  assert(frame.watermark < frame.firstPosition)
  bytes.writeUInt32LE(frameMagic, 0)
  bytes.writeUInt32LE(frame.length, 8)
  bytes.writeUInt32LE(frame.count, 12)
  writePosition(bytes, frame.firstPosition, 16)
  writePosition(bytes, frame.watermark, 24)
  bytes.writeUInt32LE(frame.link, 32)
  const crc = crc32(bytes.subarray(8, frame.length), seed)
  bytes.writeUInt32LE(crc, 4)
  bytes.fill(0, frame.length, wholeSectors(frame.length))
  return crc
}

/** The frame that starts at `at`, or null when no whole and undamaged frame does. */
export function readFrame(bytes: Buffer, at: number, seed: number): Frame | null {
  if (at + frameHeaderBytes > bytes.length || bytes.readUInt32LE(at) !== frameMagic) return null
  const length = bytes.readUInt32LE(at + 8)
  const bounded = length >= frameHeaderBytes && length <= frameBytesMax
  if (!bounded || at + length > bytes.length) return null
  const crc = bytes.readUInt32LE(at + 4)
  if (crc32(bytes.subarray(at + 8, at + length), seed) !== crc) return null
  const count = bytes.readUInt32LE(at + 12)
  const firstPosition = readPosition(bytes, at + 16)
  return {
    at,
    end: Math.min(wholeSectors(at + length), bytes.length),
    length,
    count,
    firstPosition,
    lastPosition: firstPosition + count - 1,
    watermark: readPosition(bytes, at + 24),
    link: bytes.readUInt32LE(at + 32),
    crc,
  }
}

/** The fault of the bytes at `at`, for a message: with both crcs where they differ. */
export function describeBadFrame(bytes: Buffer, at: number, seed: number): string {
  if (at + frameHeaderBytes > bytes.length) return 'the file ends here'
  if (bytes.readUInt32LE(at) !== frameMagic) return 'no frame starts here'
  const length = bytes.readUInt32LE(at + 8)
  const bounded = length >= frameHeaderBytes && length <= frameBytesMax
  if (!bounded || at + length > bytes.length) return `the length ${length} is out of range`
  const found = crc32(bytes.subarray(at + 8, at + length), seed)
  const expected = bytes.readUInt32LE(at + 4)
  if (found === expected) return 'the frame does not follow the one before it'
  return `the crc is ${hex(found)} and should be ${hex(expected)}`
}

/**
 * Calls `visit` with the range of each record in a frame's payload. Returns false when the records
 * do not fill the payload exactly, which a valid crc makes all but impossible.
 */
export function eachRecord(
  bytes: Buffer,
  frame: Frame,
  visit: (position: number, start: number, end: number) => void,
): boolean {
  const start = frame.at + frameHeaderBytes
  let position = frame.firstPosition
  return eachEncoded(bytes.subarray(start, frame.at + frame.length), frame.count, (from, to) => {
    visit(position++, start + from, start + to)
  })
}

/**
 * Calls `visit` with the range of each of `count` records, which are encoded as in a frame. Returns
 * false when they do not fill the bytes exactly.
 */
export function eachEncoded(
  records: Uint8Array,
  count: number,
  visit: (start: number, end: number) => void,
): boolean {
  let at = 0
  for (let index = 0; index < count; index++) {
    const start = at + recordHeaderBytes
    if (start > records.length) return false
    const end = start + lengthAt(records, at)
    if (end > records.length) return false
    visit(start, end)
    at = end
  }
  return at === records.length
}

/**
 * Cuts records, encoded as in a frame, into runs of at most `bytesMax`, each with its count. A
 * record that is longer is a run of its own, and so is one for which `isAlone` holds, which
 * receives the offset at which the record begins after its header. The records must fill the bytes.
 */
export function* cutRecords(
  records: Uint8Array,
  bytesMax: number,
  isAlone: (start: number) => boolean = () => false,
): Generator<{ records: Uint8Array; count: number }> {
  let [begin, count] = [0, 0]
  let isEnd = false
  for (let at = 0; at < records.length; ) {
    const end = at + recordHeaderBytes + lengthAt(records, at)
    const isOwn = isAlone(at + recordHeaderBytes)
    if ((end - begin > bytesMax || isOwn || isEnd) && count > 0) {
      yield { records: records.subarray(begin, at), count }
      begin = at
      count = 0
    }
    isEnd = isOwn
    count += 1
    at = end
  }
  if (count > 0) yield { records: records.subarray(begin), count }
}

function lengthAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0
}

const zeros = Buffer.alloc(64 * 1024)

/** The offset after the last byte at or after `from` that is not zero; `from` when all are. */
export function lastNonZero(bytes: Buffer, from: number): number {
  let end = bytes.length
  while (end > from) {
    const start = Math.max(from, end - zeros.length)
    if (bytes.compare(zeros, 0, end - start, start, end) !== 0) break
    end = start
  }
  while (end > from && bytes[end - 1] === 0) end--
  return end
}

function writePosition(bytes: Buffer, position: number, at: number): void {
  bytes.writeBigUInt64LE(BigInt(position), at)
}

function readPosition(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at))
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}
