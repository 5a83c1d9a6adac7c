// Prepares the segment that the journal continues in, and makes the frames that the scan accepted
// durable. A log that ends in a seal continues in its last segment. In every other case (killed,
// torn, new) the frames above the base go into a new segment, which gets its name once synced:
//
//   segment n        │ header │ synced … │ frames above the base │ torn bytes │
//                                        ▲ base                       └─▶ copied to n.wal.torn
//                                        └──────────┬───────────┘
//   segment n + 1    │ header, settled   │ the same frames │ seal │ 0…
//
// Why not in place: after a failed sync the page cache may show what the disk does not have, so
// they must be written again; and a power loss while synced sectors are written again could spoil
// what was acknowledged. This way a crash at any step leaves the old log, or the new one.

import { randomBytes } from 'node:crypto'
import { type Disk, syncDirectory, writeAll } from '../disk.ts'
import { isLackOfSpace } from '../errors.ts'
import {
  crcSeed,
  encodeSegmentHeader,
  finishFrame,
  frameHeaderBytes,
  sectorBytes,
  segmentHeaderBytes,
  storeIdBytes,
  wholeSectors,
} from './format.ts'
import type { LogEnd } from './scan.ts'
import {
  copyRange,
  fillWithZeros,
  keepAside,
  openForSyncs,
  removeLeftovers,
  segmentName,
  segmentPath,
} from './segments.ts'
import type { LogPlace, Notice } from './types.ts'

/** The end of the log, ready for the writer: an open segment that ends in a seal, and the spare. */
export interface PreparedTail {
  storeId: string
  seed: number
  place: LogPlace
  firstPosition: number
  /** Its descriptors, one for each sync that may be in flight. */
  files: readonly number[]
  size: number
  /** Whether the next segment, the spare, exists already, filled with zeros. */
  hasSpare: boolean
}

export interface PrepareOptions {
  disk: Disk
  dir: string
  segmentBytes: number
  onNotice: (notice: Notice) => void
}

/** Safe against a crash after any step. Throws the errors of the disk. */
export function prepareTail(end: LogEnd | null, options: PrepareOptions): PreparedTail {
  const { disk, dir } = options
  removeLeftovers(disk, dir)
  const tail = end?.verdict === 'continue' ? continueInPlace(end, options) : moveTail(end, options)
  const { number } = tail.place
  const hasSpare = keepOneSpare(end, number + 1, options)
  syncDirectory(disk, dir)
  const files = openForSyncs(disk, segmentPath(dir, number), [tail.file])
  return { ...tail, files, hasSpare }
}

type WithoutSpare = Omit<PreparedTail, 'hasSpare' | 'files'> & { file: number }

// The seal is written again: its own sync may have failed, and J2 must hold for later watermarks.
function continueInPlace(end: LogEnd, options: PrepareOptions): WithoutSpare {
  const { disk, dir } = options
  const { storeId, seed, end: place } = end
  const file = disk.open(segmentPath(dir, place.number), 'write')
  const seal = encodeSeal(place.position, place.link, seed)
  writeAll(disk, file, seal, wholeSectors(place.at) - sectorBytes)
  // A backup, or a segment made on a full disk, has no space after its content.
  growIfThereIsSpace(file, place.at, options)
  disk.sync(file)
  const { firstPosition } = end.segments.at(-1)!
  return { storeId, seed, place, firstPosition, file, size: disk.size(file) }
}

function moveTail(end: LogEnd | null, options: PrepareOptions): WithoutSpare {
  const { disk, dir, onNotice } = options
  if (end !== null) {
    giveZerosBack(end, options)
    putTornAside(end, options)
  }
  const storeId = end?.storeId ?? randomBytes(storeIdBytes).toString('hex')
  const seed = end?.seed ?? crcSeed(storeId)
  const base = end?.base ?? { number: 0, at: 0, position: 0, link: 0 }
  const last = end?.end ?? base
  const number = base.number + 1
  const target = segmentPath(dir, number)

  const file = takeSpareOrCreate(end, number, options)
  let at = segmentHeaderBytes
  if (end !== null) at = copyTail(end, file, options)
  writeAll(disk, file, encodeSeal(last.position, last.link, seed), at)
  const { position, link } = base
  const firstPosition = position + 1
  const head = { storeId, number, firstPosition, watermark: last.position, link }
  writeAll(disk, file, encodeSegmentHeader({ ...head, settled: true }), 0)
  at += sectorBytes
  growIfThereIsSpace(file, at, options)
  disk.sync(file)
  disk.rename(`${target}.tmp`, target)
  syncDirectory(disk, dir)
  if (end !== null) cutBehindBase(end, options)
  onNotice({ event: 'segment_settled', segment: segmentName(number), position: last.position })
  const place = { ...last, number, at }
  return { storeId, seed, place, firstPosition, file, size: disk.size(file) }
}

// The zeros at the end of the log are space for the new segment, even if the disk is full.
function giveZerosBack({ end, torn }: LogEnd, { disk, dir }: PrepareOptions): void {
  const tornTo = torn.find(({ number }) => number === end.number)?.to ?? 0
  const file = disk.open(segmentPath(dir, end.number), 'write')
  disk.truncate(file, wholeSectors(Math.max(end.at, tornTo)))
  disk.close(file)
}

function putTornAside({ torn, end }: LogEnd, { disk, dir, onNotice }: PrepareOptions): void {
  for (const { number, from, to } of torn) {
    const keptAs = keepAside(disk, dir, number, from, to)
    const segment = segmentName(number)
    const { position } = end
    const cut = { segment, offset: from, bytes: to - from, keptAs, position }
    onNotice({ event: 'torn_tail_cut', level: 'warn', ...cut })
  }
}

// A spare is used only when it is the only one, because using it must not leave a gap.
function takeSpareOrCreate(end: LogEnd | null, number: number, options: PrepareOptions): number {
  const { disk, dir, segmentBytes } = options
  const target = segmentPath(dir, number)
  const spare = end?.spares.length === 1 ? end.spares[0] : null
  const fits = spare?.number === number && spare.size === segmentBytes
  if (!fits) return disk.open(`${target}.tmp`, 'create')
  disk.rename(target, `${target}.tmp`)
  // Written only after the old name is durably gone: a power loss must not leave half of it there.
  syncDirectory(disk, dir)
  return disk.open(`${target}.tmp`, 'write')
}

function copyTail({ base, ends }: LogEnd, target: number, { disk, dir }: PrepareOptions): number {
  let at = segmentHeaderBytes
  for (const [number, to] of ends) {
    if (number < base.number) continue
    const from = number === base.number ? base.at : segmentHeaderBytes
    at = wholeSectors(copyRange(disk, segmentPath(dir, number), target, { from, to, at }))
  }
  return at
}

// Without space the segment is only as long as its content: reads continue, and writes resume when
// the next segment can be made.
function growIfThereIsSpace(file: number, from: number, options: PrepareOptions): void {
  const { disk, segmentBytes } = options
  const size = disk.size(file)
  if (size >= segmentBytes) return
  try {
    fillWithZeros(disk, file, Math.max(from, size), segmentBytes)
  } catch (error) {
    if (!isLackOfSpace(error)) throw error
    disk.truncate(file, from)
  }
}

// Frees the space of the frames that are now in the next segment. It is correct without that, too:
// a segment ends where the next one begins (format.ts, J8).
function cutBehindBase({ base }: LogEnd, { disk, dir }: PrepareOptions): void {
  const file = disk.open(segmentPath(dir, base.number), 'write')
  disk.truncate(file, base.at)
  disk.close(file)
}

function keepOneSpare(end: LogEnd | null, number: number, options: PrepareOptions): boolean {
  let kept = false
  for (const spare of end?.spares ?? []) {
    if (spare.number < number) continue
    if (spare.number === number && spare.size === options.segmentBytes) kept = true
    else options.disk.remove(segmentPath(options.dir, spare.number))
  }
  return kept
}

/** A frame without records that says: everything up to `position` is synced. */
export function encodeSeal(position: number, link: number, seed: number): Buffer {
  const seal = Buffer.alloc(sectorBytes)
  const frame = { length: frameHeaderBytes, count: 0, firstPosition: position + 1, link }
  finishFrame(seal, { ...frame, watermark: position }, seed)
  return seal
}
