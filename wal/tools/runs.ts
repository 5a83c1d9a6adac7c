// Finds what can be read of a damaged log: runs of frames without a gap, at any offset. Frames of
// other stores are not found, because their crc is seeded with another store id.

import { type Disk, readFully } from '../disk.ts'
import {
  crcSeed,
  type Frame,
  readFrame,
  sectorBytes,
  segmentHeaderBytes,
  storeIdBytes,
} from '../journal/format.ts'
import type { SegmentFile } from '../journal/segments.ts'

export interface Run {
  /** The segment's name, and the bytes of it that hold the run. */
  name: string
  from: number
  to: number
  first: number
  last: number
  /** The crc of the frame with records before the run, and that of the run's last one. */
  before: number
  after: number
}

export interface Runs {
  storeId: string
  runs: Run[]
  /** The last position that any header or frame of the log mentions. */
  known: number
}

/** All runs, in order of segment and offset; null when no frame can be read. */
export function findRuns(
  disk: Disk,
  files: SegmentFile[],
  onProgress: (done: number, total: number) => void = () => {},
): Runs | null {
  const total = files.reduce((sum, { size }) => sum + size, 0)
  for (const storeId of candidates(disk, files)) {
    const found: Runs = { storeId, runs: [], known: 0 }
    let done = 0
    for (const file of files) {
      if (file.head.kind === 'good' && file.head.header.storeId === storeId) {
        const { firstPosition, watermark } = file.head.header
        found.known = Math.max(found.known, firstPosition - 1, watermark)
      }
      collect(file.name, readAll(disk, file.path), found, endOf(file, files, storeId))
      done += file.size
      onProgress(done, total)
    }
    if (found.runs.length > 0) return found
  }
  return null
}

/** The store ids in headers, those of good headers first. */
function candidates(disk: Disk, files: SegmentFile[]): Set<string> {
  const ids = files.flatMap(({ head }) => (head.kind === 'good' ? [head.header.storeId] : []))
  for (const { head, path } of files) {
    if (head.kind !== 'bad') continue
    ids.push(readAll(disk, path).toString('hex', 12, 12 + storeIdBytes))
  }
  return new Set(ids)
}

// J8: where the next segment begins, this one ends.
function endOf({ number }: SegmentFile, files: SegmentFile[], storeId: string): number {
  const head = files.find((file) => file.number === number + 1)?.head
  const isNext = head?.kind === 'good' && head.header.storeId === storeId
  return isNext && head.header.number === number + 1
    ? head.header.firstPosition - 1
    : Number.POSITIVE_INFINITY
}

function collect(name: string, bytes: Buffer, found: Runs, end: number): void {
  const seed = crcSeed(found.storeId)
  let run: Run | null = null
  for (let at = segmentHeaderBytes; at < bytes.length; ) {
    const frame = readFrame(bytes, at, seed)
    if (frame === null) {
      at += sectorBytes
      continue
    }
    at = frame.end
    if (frame.lastPosition > end) continue
    found.known = Math.max(found.known, frame.lastPosition, frame.watermark)
    if (run !== null && follows(run, frame)) {
      run.to = frame.end
      run.last = frame.lastPosition
      if (frame.count > 0) run.after = frame.crc
    } else {
      run = startOf(name, frame)
      found.runs.push(run)
    }
  }
  found.runs = found.runs.filter(({ first, last }) => last >= first) // not seals alone
}

function startOf(name: string, frame: Frame): Run {
  const { at, end, firstPosition, lastPosition, link, count, crc } = frame
  const after = count > 0 ? crc : link
  return { name, from: at, to: end, first: firstPosition, last: lastPosition, before: link, after }
}

function follows(run: Run, frame: Frame): boolean {
  return run.to === frame.at && frame.firstPosition === run.last + 1 && frame.link === run.after
}

function readAll(disk: Disk, path: string): Buffer {
  const file = disk.open(path, 'read')
  try {
    const bytes = Buffer.alloc(disk.size(file))
    return bytes.subarray(0, readFully(disk, file, bytes, 0))
  } finally {
    disk.close(file)
  }
}

/** The chain of consecutive runs from `start` on. The first run may begin earlier. */
export function chainFrom(runs: readonly Run[], start: number): Run[] {
  const chain: Run[] = []
  let next = runs.find(
    ({ first, last, before }) => first <= start + 1 && last > start && (start > 0 || before === 0),
  )
  while (next !== undefined) {
    const { last, after } = next
    chain.push(next)
    next = runs.find(({ first, before }) => first === last + 1 && before === after)
  }
  return chain
}
