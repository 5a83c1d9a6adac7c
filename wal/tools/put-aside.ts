// Shortens a log: the records from one position on are moved to a file beside it. A node whose last
// records are not part of the common history (another node led on without them) has to give their
// positions up before it can follow.
//
//   before   1.wal │ 1…9 │ 10 11 12 13 │ 14 │    2.wal │ 15…20 │
//   from 12  1.wal │ 1…9 │ 10 11 │ seal │
//            12-20.wal.replaced │ header │ 12 13 │ 14 │ 15…20 │ seal │
//
// The file is a segment: named 0000000001.wal in a directory of its own, `wal export` reads it.
//
// A1. The file is durable before anything is removed.
// A2. Segments are removed from the last one backwards, each removal durably, and the one that the
//     log then ends in is replaced by one rename: a crash at any step leaves a whole log, the old
//     one up to some position that is not before the new end. Then it can be run again; the file
//     of the first run stays, and a second file holds the remaining records.
// A3. The log is as its last start left it: `openJournal` has cut a torn tail and closed it.

import path from 'node:path'
import { manifestNumbers, readManifest } from '../checkpoint/checkpoint-files.ts'
import { manifestName } from '../checkpoint/manifest.ts'
import { type Disk, readFully, syncDirectory, writeAll } from '../disk.ts'
import { isOfSystem, JournalError, storageError } from '../errors.ts'
import {
  crcSeed,
  eachRecord,
  encodeSegmentHeader,
  type Frame,
  finishFrame,
  frameHeaderBytes,
  readFrame,
  recordHeaderBytes,
  segmentHeaderBytes,
  wholeSectors,
} from '../journal/format.ts'
import { lockDirectory } from '../journal/lock.ts'
import { encodeSeal } from '../journal/prepare-tail.ts'
import { type LogEnd, scanLog } from '../journal/scan.ts'
import {
  freeName,
  listSegments,
  positionBefore,
  removeLeftovers,
  type SegmentFile,
  segmentPath,
} from '../journal/segments.ts'
import type { Notice } from '../journal/types.ts'

export interface PutAsideOptions {
  disk: Disk
  dir: string
  /** The first position that is removed. */
  from: number
  onNotice: (notice: Notice) => void
}

/** The moved records: `count`, in the file `keptAs`; null when the log ends before `from`. */
export type PutAside = { count: number; keptAs: string } | null

/**
 * Removes the records from position `from` on, and puts checkpoints aside that contain them. Throws
 * JournalError 75 when a process uses the directory, 77 when the log is damaged or begins later
 * than `from`, or when no checkpoint is left that it could continue from; then nothing is changed.
 */
export async function putAside(options: PutAsideOptions): Promise<PutAside> {
  const { disk, dir, from, onNotice } = options
  const unlock = await lockDirectory(disk, dir)
  try {
    const files = listSegments(disk, dir)
    const end = await scanLog({ disk, dir, from: positionBefore(files), onRecord: () => {}, files })
    if (end === null || end.end.position < from) return null
    const voided = checkpointsBeyond(options, files)
    removeLeftovers(disk, dir)
    const cut = new Cut(options, end)
    const keptAs = cut.save()
    for (const name of voided) disk.rename(path.join(dir, name), path.join(dir, `${name}.void`))
    if (voided.length > 0) syncDirectory(disk, dir)
    cut.shorten(files)
    const count = end.end.position - from + 1
    onNotice({ event: 'tail_put_aside', level: 'warn', from, count, keptAs })
    return { count, keptAs }
  } catch (error) {
    if (!isOfSystem(error)) throw error
    throw storageError(`put the log of ${dir} aside from position ${from} on`, error)
  } finally {
    unlock()
  }
}

/** The manifests of checkpoints that contain removed records. */
function checkpointsBeyond({ disk, dir, from }: PutAsideOptions, files: SegmentFile[]): string[] {
  const directory = { disk, dir }
  const manifests = manifestNumbers(directory).flatMap((number) => {
    const read = readManifest(directory, number)
    return read.kind === 'good' ? [read.manifest] : []
  })
  const begin = positionBefore(files)
  const isLeft = manifests.some(({ position }) => position >= begin && position < from)
  if (begin >= from || (begin > 0 && !isLeft)) {
    throw new JournalError(
      77,
      `${dir} has no checkpoint and log from before position ${from}, from which it could follow`,
      { advice: 'nothing was changed; move the directory away and start with an empty one' },
    )
  }
  return manifests.filter(({ position }) => position >= from).map((m) => manifestName(m.number))
}

/** A frame with records, and the bytes of the segment that it is in. */
interface Piece {
  bytes: Buffer
  frame: Frame
}

class Cut {
  readonly #disk: Disk
  readonly #dir: string
  readonly #from: number
  readonly #log: LogEnd
  readonly #seed: number
  /** The segment that the shortened log ends in. */
  readonly #last: LogEnd['segments'][number]

  constructor({ disk, dir, from }: PutAsideOptions, log: LogEnd) {
    this.#disk = disk
    this.#dir = dir
    this.#from = from
    this.#log = log
    this.#seed = crcSeed(log.storeId)
    this.#last = log.segments.findLast(({ firstPosition }) => firstPosition <= from)!
  }

  /** Writes the removed records to a file of their own; returns its name. */
  save(): string {
    const [disk, dir, from] = [this.#disk, this.#dir, this.#from]
    const { position } = this.#log.end
    const name = freeName(disk, dir, `${from}-${position}.wal.replaced`)
    const isRemoved = this.#log.segments.filter(({ number }) => number >= this.#last.number)
    const target = disk.open(path.join(dir, name), 'create')
    try {
      const place = { number: 1, firstPosition: from, watermark: from - 1, link: 0 }
      const head = { storeId: this.#log.storeId, ...place, settled: true }
      writeAll(disk, target, encodeSegmentHeader(head), 0)
      const frames = new FrameWriter(disk, target, this.#seed)
      for (const { number } of isRemoved) {
        for (const piece of this.#framesOf(number)) {
          if (piece.frame.lastPosition >= from) frames.write(piece, from, position)
        }
      }
      frames.seal(position)
      disk.sync(target)
    } catch (error) {
      disk.remove(path.join(dir, name))
      throw error
    } finally {
      disk.close(target)
    }
    syncDirectory(disk, dir)
    return name
  }

  /**
   * Removes the records from the log (A2). `files` are all segments, those without records
   * included.
   */
  shorten(files: SegmentFile[]): void {
    const [disk, dir] = [this.#disk, this.#dir]
    const { number } = this.#last
    const temporary = `${segmentPath(dir, number)}.tmp`
    const head = files.find((file) => file.number === number)!.head
    const target = disk.open(temporary, 'create')
    try {
      if (head.kind !== 'good') throw new JournalError(77, `${temporary}: its header is not whole`)
      const { firstPosition, link } = head.header
      const watermark = firstPosition - 1
      const header = encodeSegmentHeader({ ...head.header, watermark, settled: true })
      writeAll(disk, target, header, 0)
      const frames = new FrameWriter(disk, target, this.#seed, link)
      for (const piece of this.#framesOf(number)) {
        if (piece.frame.firstPosition < this.#from) {
          frames.write(piece, firstPosition, this.#from - 1)
        }
      }
      frames.seal(this.#from - 1)
      disk.sync(target)
    } finally {
      disk.close(target)
    }
    for (const file of files.toReversed()) {
      if (file.number <= number) break
      disk.remove(file.path)
      syncDirectory(disk, dir)
    }
    disk.rename(temporary, segmentPath(dir, number))
    syncDirectory(disk, dir)
  }

  #framesOf(number: number): Piece[] {
    const file = this.#disk.open(segmentPath(this.#dir, number), 'read')
    const bytes = Buffer.alloc(this.#log.ends.get(number) ?? 0)
    try {
      readFully(this.#disk, file, bytes, 0)
    } finally {
      this.#disk.close(file)
    }
    const pieces: Piece[] = []
    for (let at = segmentHeaderBytes; at < bytes.length; ) {
      const frame = readFrame(bytes, at, this.#seed)
      if (frame === null)
        throw new JournalError(77, `${segmentPath(this.#dir, number)} has changed`)
      if (frame.count > 0) pieces.push({ bytes, frame })
      at = frame.end
    }
    return pieces
  }
}

/** Writes frames one after the other behind a segment header, each linked to the one before. */
class FrameWriter {
  readonly #disk: Disk
  readonly #file: number
  readonly #seed: number
  #link: number
  #at = segmentHeaderBytes

  constructor(disk: Disk, file: number, seed: number, link = 0) {
    this.#disk = disk
    this.#file = file
    this.#seed = seed
    this.#link = link
  }

  /** Writes those records of the frame whose positions are `first` to `last`. */
  write({ bytes, frame }: Piece, first: number, last: number): void {
    const firstPosition = Math.max(first, frame.firstPosition)
    const count = Math.min(last, frame.lastPosition) - firstPosition + 1
    const [start, end] = rangeOf(bytes, frame, firstPosition, firstPosition + count - 1)
    const length = frameHeaderBytes + end - start
    const copy = Buffer.alloc(wholeSectors(length))
    bytes.copy(copy, frameHeaderBytes, start, end)
    const watermark = firstPosition - 1
    const head = { length, count, firstPosition, watermark, link: this.#link }
    this.#link = finishFrame(copy, head, this.#seed)
    writeAll(this.#disk, this.#file, copy, this.#at)
    this.#at += copy.length
  }

  /** Ends the log at `position`: its records are synced before the file gets its name. */
  seal(position: number): void {
    writeAll(this.#disk, this.#file, encodeSeal(position, this.#link, this.#seed), this.#at)
  }
}

/** The bytes of some records of a frame, their headers included. */
function rangeOf(bytes: Buffer, frame: Frame, first: number, last: number): [number, number] {
  let [from, to] = [0, 0]
  eachRecord(bytes, frame, (position, start, end) => {
    if (position === first) from = start - recordHeaderBytes
    if (position === last) to = end
  })
  return [from, to]
}
