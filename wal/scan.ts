// Reads a log from its first segment to its end and says how it ends. Writes nothing, so that it
// serves recovery, `wal verify` and `wal inspect` alike.

import { Unpackr } from 'msgpackr'
import { type Disk, readFully } from './disk.ts'
import { damageError, type JournalError, storageError } from './errors.ts'
import {
  crcSeed,
  describeBadFrame,
  eachRecord,
  type Frame,
  lastNonZero,
  readFrame,
  type SegmentHeader,
  sectorBytes,
  segmentBytesMax,
  segmentHeaderBytes,
} from './format.ts'
import { checkHeads } from './heads.ts'
import { listSegments, type SegmentFile } from './segments.ts'
import { judgeTail, type TailVerdict } from './tail-rule.ts'

/** A place between two frames: the next one starts at byte `at` of segment `number`. */
export interface Place {
  number: number
  at: number
  /** Position of the last record before the place, and the crc of that record's frame. */
  position: number
  link: number
}

export interface SegmentSummary {
  name: string
  bytes: number
  firstPosition: number
  lastPosition: number
  frames: number
  records: number
}

export interface LogEnd {
  storeId: string
  seed: number
  /** Everything before it is known to be synced. */
  base: Place
  /** After the last good frame. */
  end: Place
  /** What follows the last good frame, byte ranges by segment. */
  torn: { number: number; from: number; to: number }[]
  /** Segments of zeros, ready for use. */
  spares: { number: number; size: number }[]
  /** Where the good frames of each segment end. */
  ends: Map<number, number>
  segments: SegmentSummary[]
  verdict: Exclude<TailVerdict, 'damage'>
}

export interface ScanOptions {
  disk: Disk
  dir: string
  /** Records after this position are given to `onRecord`; segments before it are not read. */
  from: number
  onRecord: (position: number, record: unknown) => void
  onProgress?: ((done: number, total: number) => void) | undefined
}

const pieceBytes = 1024 * 1024
// The event loop runs at least this often, so that a server can answer "starting" meanwhile.
const sliceMs = 4

/**
 * Scans the log in `dir`; null when there is none. Throws JournalError 74 when it cannot be read,
 * 76 when a newer version wrote it, 77 when it is damaged.
 */
export async function scanLog(options: ScanOptions): Promise<LogEnd | null> {
  const files = listSegments(options.disk, options.dir)
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
  // Frames with records above the watermark, oldest first: the next bases.
  #unsynced: Place[] = []
  #base: Place
  #end: Place
  #watermark: number
  #sealed = false
  #buffer: Buffer = Buffer.alloc(0)
  #bytesDone = 0
  #sliceStart = performance.now()

  constructor(options: ScanOptions, files: SegmentFile[], first: SegmentHeader) {
    this.#options = options
    this.#files = files
    this.#storeId = first.storeId
    this.#seed = crcSeed(first.storeId)
    // What older segments held was synced before they were removed.
    const position = first.firstPosition - 1
    this.#base = { number: first.number, at: segmentHeaderBytes, position, link: first.link }
    this.#end = this.#base
    this.#watermark = position
  }

  async run(): Promise<LogEnd> {
    let index = 0
    let bytes = this.#buffer
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
    // The segment got its name when all this was synced, so it is not above any watermark.
    if (header.settled) this.#base = this.#end
    this.#segments.push({
      name: this.#files.find((file) => file.number === header.number)!.name,
      bytes: this.#files.find((file) => file.number === header.number)!.size,
      firstPosition: header.firstPosition,
      lastPosition: header.firstPosition - 1,
      frames: 0,
      records: 0,
    })
  }

  // A segment that ends below `from` need not be read. The one before last may hold frames above
  // the watermark still, so it takes two later ones.
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
    this.#bytesDone += this.#files[index]!.size
  }

  async #load(index: number): Promise<Buffer> {
    const { disk, onProgress } = this.#options
    const { path, size, number } = this.#files[index]!
    if (size > segmentBytesMax) throw this.#damage(number, 0, `${size} bytes are too many`)
    if (this.#buffer.length < size) this.#buffer = Buffer.allocUnsafeSlow(size)
    const bytes = this.#buffer.subarray(0, size)
    const total = this.#files.reduce((sum, file) => sum + file.size, 0)
    const file = open(disk, path)
    try {
      for (let at = 0; at < size; at += pieceBytes) {
        const piece = bytes.subarray(at, Math.min(size, at + pieceBytes))
        piece.fill(0, readFully(disk, file, piece, at))
        this.#bytesDone += piece.length
        onProgress?.(this.#bytesDone, total)
        await this.#breathe()
      }
    } catch (error) {
      throw storageError(`read ${path}`, error)
    } finally {
      disk.close(file)
    }
    return bytes
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
      if (performance.now() - this.#sliceStart > sliceMs) await this.#breathe()
    }
  }

  #follows(frame: Frame): boolean {
    const { position, link } = this.#end
    const known = frame.watermark < frame.firstPosition
    return frame.firstPosition === position + 1 && frame.link === link && known
  }

  #replay(bytes: Buffer, frame: Frame): void {
    if (frame.lastPosition <= this.#options.from) return
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
    while (synced < this.#unsynced.length && this.#unsynced[synced]!.position <= watermark) synced++
    if (synced > 0) this.#base = this.#unsynced[synced - 1]!
    this.#unsynced = this.#unsynced.slice(synced)
  }

  // Looks at everything behind the last good frame, `bytes` being the segment that it is in.
  async #judge(last: number, bytes: Buffer): Promise<LogEnd> {
    const torn: LogEnd['torn'] = []
    const spares: LogEnd['spares'] = []
    let promised: string | null = null
    const end = { ...this.#end }
    const badFrame = describeBadFrame(bytes, end.at, this.#seed)
    for (let index = last; index < this.#files.length; index++) {
      const file = this.#files[index]!
      const rest = index === last ? bytes : await this.#load(index)
      const from = index === last ? end.at : 0
      const to = lastNonZero(rest, from)
      if (to > from) torn.push({ number: file.number, from, to })
      else if (index > last) spares.push({ number: file.number, size: file.size })
      if (to > from) promised ??= this.#promise(index, rest, from)
    }
    const { why, do: verdict } = judgeTail({
      follows: torn.length > 0,
      promised: promised !== null,
      far: torn.some((piece) => piece.number > this.#base.number + 1),
      sealed: this.#sealed,
    })
    if (verdict === 'damage') {
      throw this.#damage(end.number, end.at, [badFrame, promised ?? why].join('; '))
    }
    if (end.position < this.#options.from) {
      const { from } = this.#options
      throw this.#damage(end.number, end.at, `the log ends here, and was known to reach ${from}`)
    }
    return {
      storeId: this.#storeId,
      seed: this.#seed,
      base: this.#base,
      end,
      torn,
      spares,
      ends: this.#ends,
      segments: this.#segments,
      verdict,
    }
  }

  // Who says that what should follow the last good frame had been synced.
  #promise(index: number, bytes: Buffer, from: number): string | null {
    const { number, name, head } = this.#files[index]!
    const { position, number: endNumber } = this.#end
    if (number !== endNumber && head.kind === 'good' && head.header.watermark > position) {
      return `${name} says that position ${head.header.watermark} was synced`
    }
    for (let at = from; at < bytes.length; at += sectorBytes) {
      const frame = readFrame(bytes, at, this.#seed)
      if (frame === null || frame.watermark <= position) continue
      return `the frame at ${name}:${at} says that position ${frame.watermark} was synced`
    }
    return null
  }

  #damage(number: number, at: number, what: string): JournalError {
    const name = this.#files.find((file) => file.number === number)?.path ?? `segment ${number}`
    return damageError(this.#options.dir, name, at, this.#end.position + 1, what)
  }

  async #breathe(): Promise<void> {
    if (performance.now() - this.#sliceStart <= sliceMs) return
    await new Promise((resolve) => setImmediate(resolve))
    this.#sliceStart = performance.now()
  }
}

function open(disk: Disk, path: string): number {
  try {
    return disk.open(path, 'read')
  } catch (error) {
    throw storageError(`read ${path}`, error)
  }
}
