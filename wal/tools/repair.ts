// Makes a usable log from a damaged one: the part from a good beginning, which is the first record
// or a checkpoint, to the first gap. Records after a gap are not used: they refer to objects by
// numbers that the lost records assigned, so their meaning would change.
//
//   1.wal │ 1…14 │  2.wal │ 15…20 │damaged│ 24…28 │  3.wal │ 29…42 │       a checkpoint at 30
//
//   from 0:  │ 1…14 │ 15…20 │           from 30:  │ 29…42 │
//
// R1. The beginning from which the log reaches furthest is used; among equals, the earliest.
// R2. Nothing is changed before the caller has a copy of everything.
// R3. If it is interrupted at any step, it can be run again, and until then the log is refused as
//     damaged. The log is never absent, because a start would then begin a new one.

import path from 'node:path'
import type { CheckpointDirectory } from '../checkpoint/checkpoint-files.ts'
import { type Disk, readFile, syncDirectory, writeAll } from '../disk.ts'
import {
  crcSeed,
  encodeSegmentHeader,
  type Frame,
  lastNonZero,
  readFrame,
  sectorBytes,
  segmentHeaderBytes,
  storeIdBytes,
} from '../journal/format.ts'
import { encodeSeal } from '../journal/prepare-tail.ts'
import {
  copyRange,
  listSegments,
  removeLeftovers,
  type SegmentFile,
  segmentName,
} from '../journal/segments.ts'
import type { CheckedCheckpoint } from './checkpoint-check.ts'

export interface RepairPlan {
  storeId: string
  /** The position of the checkpoint that the log continues from; 0: from the first record. */
  start: number
  /** The last position after the repair, and the last one that is known to have existed. */
  position: number
  known: number
  chain: Run[]
}

interface RepairOptions {
  disk: Disk
  dir: string
  /** Positions of checkpoints that are whole, and the ids of their stores. */
  checkpoints: { position: number; storeId: string }[]
  onProgress?: (done: number, total: number) => void
}

/** The plan of a repair; null when nothing can be read. Reads only. */
export function planRepair({
  disk,
  dir,
  checkpoints,
  onProgress,
}: RepairOptions): RepairPlan | null {
  const found = findRuns(disk, listSegments(disk, dir), onProgress)
  const storeId = found?.storeId ?? checkpoints[0]?.storeId
  if (storeId === undefined) return null
  const own = checkpoints.filter((checkpoint) => checkpoint.storeId === storeId)
  let best: RepairPlan | null = null
  for (const start of [0, ...own.map(({ position }) => position).sort((a, b) => a - b)]) {
    const chain = chainFrom(found?.runs ?? [], start)
    const position = chain.at(-1)?.last ?? start
    const known = Math.max(found?.known ?? 0, ...own.map((checkpoint) => checkpoint.position))
    if (position > (best?.position ?? 0)) best = { storeId, start, position, known, chain }
  }
  return best
}

interface Output {
  /** Whether the existing file is kept; otherwise it is written again. */
  kept: boolean
  number: number
  runs: Run[]
}

interface ApplyOptions extends CheckpointDirectory {
  checkpoints: readonly CheckedCheckpoint[]
}

/**
 * Changes the directory as planned; the copy contains every file of the log that is removed.
 * Manifests of checkpoints that the log does not reach, or that are not `whole`, are put aside.
 */
export function applyRepair({ disk, dir, checkpoints }: ApplyOptions, plan: RepairPlan): void {
  for (const { name, manifest } of checkpoints) {
    const fits = manifest?.storeId === plan.storeId && manifest.position <= plan.position
    if (!fits) disk.rename(path.join(dir, name), path.join(dir, `${name}.void`))
  }
  removeLeftovers(disk, dir) // of an interrupted repair
  const files = listSegments(disk, dir)
  const outputs = outputsOf(disk, files, plan)
  // All are written before the first is renamed: until then the old log is whole, with the space
  // for the new one taken (R3).
  for (const output of outputs) {
    if (!output.kept) writeSegment(disk, dir, plan, output, output === outputs.at(-1))
  }
  for (const { number, kept } of outputs) {
    const target = path.join(dir, segmentName(number))
    if (!kept) disk.rename(`${target}.tmp`, target)
  }
  syncDirectory(disk, dir)
  const kept = new Set(outputs.map(({ number }) => number))
  for (const { number, path } of files) if (!kept.has(number)) disk.remove(path)
  syncDirectory(disk, dir)
}

function outputsOf(disk: Disk, files: SegmentFile[], { chain, storeId }: RepairPlan): Output[] {
  const byFile: Run[][] = []
  for (const run of chain) {
    if (byFile.at(-1)?.[0]?.name === run.name) byFile.at(-1)!.push(run)
    else byFile.push([run])
  }
  const first = Number.parseInt(chain[0]?.name ?? segmentName(1), 10)
  if (byFile.length === 0) return [{ number: first, runs: [], kept: false }]
  return byFile.map((runs, index) => {
    const file = files.find(({ name }) => name === runs[0].name)!
    const number = first + index
    return { number, runs, kept: file.number === number && isAsNeeded(disk, file, runs, storeId) }
  })
}

function isAsNeeded(disk: Disk, file: SegmentFile, runs: Run[], storeId: string): boolean {
  const { head, path } = file
  const [{ from, to, first, before }] = runs as [Run]
  if (runs.length > 1 || from !== segmentHeaderBytes || head.kind !== 'good') return false
  const { header } = head
  const isOwn = header.storeId === storeId && header.number === file.number
  if (!isOwn || header.firstPosition !== first || header.link !== before) return false
  return lastNonZero(readFile(disk, path), to) === to
}

function writeSegment(
  disk: Disk,
  dir: string,
  { storeId, start, position }: RepairPlan,
  { number, runs }: Output,
  isLast: boolean,
): void {
  const target = disk.open(path.join(dir, `${segmentName(number)}.tmp`), 'create')
  const firstPosition = runs[0]?.first ?? start + 1
  const link = runs[0]?.before ?? 0
  const place = { storeId, number, firstPosition, watermark: firstPosition - 1, link }
  writeAll(disk, target, encodeSegmentHeader({ ...place, settled: true }), 0)
  let at = segmentHeaderBytes
  for (const { name, from, to } of runs) {
    at = copyRange(disk, path.join(dir, name), target, { from, to, at })
  }
  disk.sync(target)
  if (isLast) {
    writeAll(disk, target, encodeSeal(position, runs.at(-1)?.after ?? 0, crcSeed(storeId)), at)
    disk.sync(target)
  }
  disk.close(target)
}

interface Run {
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

interface Runs {
  storeId: string
  runs: Run[]
  /** The last position that any header or frame of the log mentions. */
  known: number
}

/**
 * All runs, in order of segment and offset; null when no frame can be read. Frames of other stores
 * are not found, because their crc is seeded with another store id.
 */
function findRuns(
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
      collect(file.name, readFile(disk, file.path), found, endOf(file, files, storeId))
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
    ids.push(readFile(disk, path).toString('hex', 12, 12 + storeIdBytes))
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
  found.runs = found.runs.filter(({ first, last }) => last >= first) // drops runs of seals alone
}

function startOf(name: string, frame: Frame): Run {
  const { at, end, firstPosition, lastPosition, link, count, crc } = frame
  const after = count > 0 ? crc : link
  return { name, from: at, to: end, first: firstPosition, last: lastPosition, before: link, after }
}

function follows(run: Run, frame: Frame): boolean {
  return run.to === frame.at && frame.firstPosition === run.last + 1 && frame.link === run.after
}

/** The chain of consecutive runs from `start` on. The first run may begin earlier. */
function chainFrom(runs: readonly Run[], start: number): Run[] {
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
