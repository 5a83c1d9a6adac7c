// Reads a log from its first segment to its end and determines how it ends. It writes nothing, so
// recovery, `wal verify` and `wal inspect` all use it.

import { Unpackr } from 'msgpackr'
import { type Disk, readFully } from '../disk.ts'
import { damageError, type JournalError, storageError } from '../errors.ts'
import {
  crcSeed,
  describeBadFrame,
  eachRecord,
  type Frame,
  readFrame,
  type SegmentHeader,
  segmentBytesMax,
  segmentHeaderBytes,
} from './format.ts'
import { checkHeads, listSegments, type SegmentFile } from './segments.ts'
import { judgeTail, type Rest, scanRest, type TailVerdict } from './tail-rule.ts'
import type { LogPlace } from './types.ts'

const pieceBytes = 1024 * 1024
const sliceMs = 4

/**
 * Reads whole segments into one buffer, and yields to the event loop regularly, so that a server
 * can answer "starting" meanwhile.
 */
class SegmentReader {
  readonly #disk: Disk
  readonly #files: SegmentFile[]
  readonly #onProgress: (done: number, total: number) => void
  /** Bytes of the log before each segment, and in total. */
  readonly #starts: number[] = [0]
  #buffer: Buffer = Buffer.alloc(0)
  #sliceStartMs = performance.now()

  constructor(
    disk: Disk,
    files: SegmentFile[],
    onProgress: (done: number, total: number) => void = () => {},
  ) {
    this.#disk = disk
    this.#files = files
    this.#onProgress = onProgress
    for (const { size } of files) this.#starts.push(this.#starts.at(-1)! + size)
  }

  /** All bytes of a segment, valid until the next call. */
  async load(index: number): Promise<Buffer> {
    const { path, size } = this.#files[index]
    if (this.#buffer.length < size) this.#buffer = Buffer.allocUnsafeSlow(size)
    const bytes = this.#buffer.subarray(0, size)
    let file = -1
    try {
      file = this.#disk.open(path, 'read')
      for (let at = 0; at < size; at += pieceBytes) {
        const piece = bytes.subarray(at, Math.min(size, at + pieceBytes))
        piece.fill(0, readFully(this.#disk, file, piece, at))
        if (this.isDue()) await this.yieldToLoop()
      }
    } catch (error) {
      throw storageError(`read ${path}`, error)
    } finally {
      if (file >= 0) this.#disk.close(file)
    }
    return bytes
  }

  /** Overwrites the buffer when nothing is loaded any more, as text in it may be erased one day. */
  wipe(): void {
    this.#buffer.fill(0)
  }

  isDue(): boolean {
    return performance.now() - this.#sliceStartMs > sliceMs
  }

  async yieldToLoop(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.#sliceStartMs = performance.now()
  }

  /** Reports the bytes before `at` of the segment as done. */
  noteDone(index: number, at: number): void {
    this.#onProgress(this.#starts[index] + at, this.#starts.at(-1)!)
  }
}

interface SegmentSummary {
  number: number
  firstPosition: number
  lastPosition: number
  frames: number
  records: number
}

export interface LogEnd {
  storeId: string
  seed: number
  /** Everything before it is known to be synced. */
  base: LogPlace
  /** After the last good frame. */
  end: LogPlace
  torn: Rest['torn']
  spares: Rest['spares']
  /** Where the good frames of each segment end. */
  ends: Map<number, number>
  segments: SegmentSummary[]
  /** Bytes of the frames whose records were passed to `onRecord`. */
  replayedBytes: number
  verdict: Exclude<TailVerdict, 'damage'>
}

export interface ScanOptions {
  disk: Disk
  dir: string
  /** Records after this position are passed to `onRecord`; segments before it are not read. */
  from: number
  onRecord: (position: number, record: unknown) => void
  onProgress?: ((done: number, total: number) => void) | undefined
  /** The segments to read; default all in `dir`. */
  files?: SegmentFile[] | undefined
}

/**
 * Scans the log in `dir`; null when there is none. Throws JournalError 74 when it cannot be read,
 * 76 when a newer version wrote it, 77 when it is damaged.
 */
export async function scanLog(options: ScanOptions): Promise<LogEnd | null> {
  const files = options.files ?? listSegments(options.disk, options.dir)
  if (files.length === 0) return null
  const first = checkHeads(files, options)
  return new LogScan(options, files, first).run()
}

class LogScan {
  readonly #options: ScanOptions
  readonly #files: SegmentFile[]
  readonly #storeId: string
  readonly #seed: number
  readonly #unpackr = new Unpackr({ useRecords: false, copyBuffers: true, int64AsType: 'number' })
  readonly #ends = new Map<number, number>()
  readonly #segments: SegmentSummary[] = []
  // Frames with records above the watermark, oldest first: candidates for the next base.
  #unsynced: LogPlace[] = []
  #base: LogPlace
  #end: LogPlace
  #watermark: number
  #sealed = false
  #replayedBytes = 0
  readonly #reader: SegmentReader

  constructor(options: ScanOptions, files: SegmentFile[], first: SegmentHeader) {
    this.#options = options
    this.#files = files
    this.#reader = new SegmentReader(options.disk, files, options.onProgress)
    this.#storeId = first.storeId
    this.#seed = crcSeed(first.storeId)
    // The records of older segments were synced before the segments were removed.
    const position = first.firstPosition - 1
    this.#base = { number: first.number, at: segmentHeaderBytes, position, link: first.link }
    this.#end = this.#base
    this.#watermark = position
  }

  async run(): Promise<LogEnd> {
    try {
      return await this.#run()
    } finally {
      this.#reader.wipe()
    }
  }

  async #run(): Promise<LogEnd> {
    let index = 0
    let bytes: Buffer = Buffer.alloc(0)
    for (; index < this.#files.length; index++) {
      const header = this.#headerOf(index)
      if (header === null || !this.#goesOn(header)) break
      this.#enter(header)
      if (this.#skippable(index)) {
        this.#skip(index)
        continue
      }
      bytes = await this.#load(index)
      await this.#readFrames(index, bytes)
    }
    this.#reader.noteDone(this.#files.length, 0)
    return this.#judge(index - 1, bytes)
  }

  #headerOf(index: number): SegmentHeader | null {
    const head = this.#files[index]?.head
    return head?.kind === 'good' ? head.header : null
  }

  #goesOn(header: SegmentHeader): boolean {
    if (header.firstPosition > this.#end.position + 1) return false
    if (header.firstPosition === this.#end.position + 1 && header.link === this.#end.link)
      return true
    throw this.#damage(header.number, 0, 'the segment belongs to another history of the log')
  }

  #enter(header: SegmentHeader): void {
    this.#end = { ...this.#end, number: header.number, at: segmentHeaderBytes }
    this.#ends.set(header.number, segmentHeaderBytes)
    this.#sealed = false
    this.#raise(header.watermark)
    // The segment got its name after all of it was synced, so no watermark has to cover it.
    if (header.settled) this.#base = this.#end
    const { firstPosition, number } = header
    const counts = { lastPosition: firstPosition - 1, frames: 0, records: 0 }
    this.#segments.push({ number, firstPosition, ...counts })
  }

  // A segment that ends below `from` need not be read. The last segment but one may still contain
  // frames above the watermark, so two later segments are required.
  #skippable(index: number): boolean {
    const later = this.#headerOf(index + 2)
    return later !== null && later.firstPosition <= this.#options.from + 1
  }

  #skip(index: number): void {
    const next = this.#headerOf(index + 1)
    if (next === null) throw this.#damage(this.#end.number + 1, 0, 'the header is not whole')
    const position = next.firstPosition - 1
    this.#end = { number: this.#end.number, at: 0, position, link: next.link }
    this.#segments.at(-1)!.lastPosition = position
    this.#raise(position)
    this.#base = this.#end
  }

  async #readFrames(index: number, bytes: Buffer): Promise<void> {
    const next = this.#headerOf(index + 1)
    const limit = next === null ? Number.POSITIVE_INFINITY : next.firstPosition - 1
    const summary = this.#segments.at(-1)!
    for (;;) {
      const frame = readFrame(bytes, this.#end.at, this.#seed)
      if (frame === null || !this.#follows(frame) || frame.lastPosition > limit) break
      this.#replay(bytes, frame)
      this.#accept(frame)
      summary.frames++
      summary.records += frame.count
      summary.lastPosition = frame.lastPosition
      if (!this.#reader.isDue()) continue
      this.#reader.noteDone(index, frame.end)
      await this.#reader.yieldToLoop()
    }
  }

  #follows(frame: Frame): boolean {
    const { position, link } = this.#end
    const known = frame.watermark < frame.firstPosition
    return frame.firstPosition === position + 1 && frame.link === link && known
  }

  #replay(bytes: Buffer, frame: Frame): void {
    if (frame.lastPosition <= this.#options.from) return
    this.#replayedBytes += frame.length
    const whole = eachRecord(bytes, frame, (position, start, end) => {
      if (position <= this.#options.from) return
      let record: unknown
      try {
        record = this.#unpackr.unpack(bytes, { start, end })
      } catch (error) {
        throw this.#damage(this.#end.number, start, `record ${position} is not msgpack: ${error}`)
      }
      this.#options.onRecord(position, record)
    })
    if (!whole) throw this.#damage(this.#end.number, frame.at, 'its records do not fill the frame')
  }

  #accept(frame: Frame): void {
    this.#sealed = frame.count === 0
    const link = this.#sealed ? this.#end.link : frame.crc
    this.#end = { number: this.#end.number, at: frame.end, position: frame.lastPosition, link }
    this.#ends.set(this.#end.number, frame.end)
    if (!this.#sealed) this.#unsynced.push(this.#end)
    this.#raise(frame.watermark)
  }

  #raise(watermark: number): void {
    if (watermark <= this.#watermark) return
    this.#watermark = watermark
    let synced = 0
    while (synced < this.#unsynced.length && this.#unsynced[synced].position <= watermark) synced++
    if (synced > 0) this.#base = this.#unsynced[synced - 1]
    this.#unsynced = this.#unsynced.slice(synced)
  }

  async #judge(last: number, bytes: Buffer): Promise<LogEnd> {
    const end = this.#end
    const badFrame = describeBadFrame(bytes, end.at, this.#seed)
    const log = { files: this.#files, end, seed: this.#seed }
    const rest = await scanRest(log, last, bytes, (index) => this.#load(index))
    const reach = this.#base.number + 1
    const { why, do: verdict } = judgeTail({
      follows: rest.torn.length > 0,
      promised: rest.promise !== null,
      far: last + 2 < this.#files.length || rest.torn.some((piece) => piece.number > reach),
      sealed: this.#sealed,
    })
    if (verdict === 'damage') {
      throw this.#damage(end.number, end.at, `${badFrame}; ${rest.promise ?? why}`)
    }
    const { from } = this.#options
    if (end.position < from) {
      throw this.#damage(end.number, end.at, `the log ends here, but was known to reach ${from}`)
    }
    const { torn, spares } = rest
    const known = { storeId: this.#storeId, seed: this.#seed, base: this.#base, end, verdict }
    const replayedBytes = this.#replayedBytes
    return { ...known, torn, spares, ends: this.#ends, segments: this.#segments, replayedBytes }
  }

  #load(index: number): Promise<Buffer> {
    const { number, size } = this.#files[index]
    if (size > segmentBytesMax) throw this.#damage(number, 0, `${size} bytes are too many`)
    return this.#reader.load(index)
  }

  #damage(number: number, at: number, what: string): JournalError {
    const name = this.#files.find((file) => file.number === number)?.path ?? `segment ${number}`
    return damageError(this.#options.dir, name, at, this.#end.position + 1, what)
  }
}
