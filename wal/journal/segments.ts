// Segment files: their names, how one is read, and how a new one is made ahead of need.

import path from 'node:path'
import {
  type Disk,
  readFully,
  settled,
  syncDirectory,
  syncDirectoryLater,
  writeAll,
  writeAllLater,
} from '../disk.ts'
import { damageError, storageError, versionError } from '../errors.ts'
import {
  decodeSegmentHeader,
  formatVersion,
  type ReadHeader,
  type SegmentHeader,
  segmentHeaderBytes,
} from './format.ts'
import { syncsInFlightMax } from './sync-queue.ts'
import type { Notice } from './types.ts'

// Written and synced piece by piece: a sync of 64 MiB at once would hold up those of the log.
const pieceBytes = 1024 * 1024
const zeroPiece = Buffer.alloc(pieceBytes)

export interface SegmentFile {
  number: number
  name: string
  path: string
  size: number
  head: ReadHeader
}

export function segmentName(number: number): string {
  return `${String(number).padStart(10, '0')}.wal`
}

export function segmentPath(dir: string, number: number): string {
  return path.join(dir, segmentName(number))
}

/** All segments in order of their numbers, headers read. Other files are left alone. */
export function listSegments(disk: Disk, dir: string): SegmentFile[] {
  const names = disk.list(dir).filter((name) => /^\d{10}\.wal$/.test(name))
  return names.sort().map((name) => {
    const file = { number: Number.parseInt(name, 10), name, path: path.join(dir, name) }
    return { ...file, ...readHead(disk, file.path) }
  })
}

/** The position before the first record; not 0 once a checkpoint has had older segments removed. */
export function positionBefore([first]: SegmentFile[]): number {
  return first?.head.kind === 'good' ? first.head.header.firstPosition - 1 : 0
}

/** The id of the store that the log belongs to; null if there is no log, or it is not readable. */
export function storeIdOf([first]: SegmentFile[]): string | null {
  return first?.head.kind === 'good' ? first.head.header.storeId : null
}

export function readHead(disk: Disk, path: string): Pick<SegmentFile, 'size' | 'head'> {
  try {
    const file = disk.open(path, 'read')
    try {
      const sector = Buffer.alloc(segmentHeaderBytes)
      readFully(disk, file, sector, 0)
      return { size: disk.size(file), head: decodeSegmentHeader(sector) }
    } finally {
      disk.close(file)
    }
  } catch (error) {
    throw storageError(`read ${path}`, error)
  }
}

/** Removes files that a crash left unfinished. */
export function removeLeftovers(disk: Disk, dir: string): void {
  for (const name of disk.list(dir)) {
    if (/^\d{10}\.wal\.tmp$/.test(name)) disk.remove(path.join(dir, name))
  }
}

function giveSpaceBack(disk: Disk, dir: string): void {
  try {
    removeLeftovers(disk, dir)
  } catch {
    // The next attempt, or the next start, removes them.
  }
}

/** Extends a file with synced zeros up to `size`. */
export function fillWithZeros(disk: Disk, file: number, from: number, size: number): void {
  for (let at = from; at < size; at += pieceBytes) {
    writeAll(disk, file, zeroPiece.subarray(0, Math.min(pieceBytes, size - at)), at)
  }
}

/**
 * Opens a segment so that each sync that may be in flight has a descriptor of its own. Returns all
 * descriptors, including those in `open`. Throws the errors of the disk, after closing the
 * descriptors that it opened.
 */
export function openForSyncs(disk: Disk, path: string, open: readonly number[] = []): number[] {
  const files = [...open]
  try {
    while (files.length < syncsInFlightMax) files.push(disk.open(path, 'write'))
  } catch (error) {
    for (const file of files.slice(open.length)) disk.close(file)
    throw error
  }
  return files
}

/**
 * Makes a segment of zeros in the background, so that a roll finds it ready, synced, and with a
 * name that survives. Resolves to its open files (`openForSyncs`), or to null when `stopped`
 * meanwhile. Rejects with the system's error, having removed what it began.
 */
export async function makeSpare(
  disk: Disk,
  dir: string,
  number: number,
  size: number,
  stopped: () => boolean,
): Promise<number[] | null> {
  const target = segmentPath(dir, number)
  const temporary = `${target}.tmp`
  removeLeftovers(disk, dir)
  const file = disk.open(temporary, 'create')
  try {
    for (let at = 0; at < size && !stopped(); ) {
      const piece = zeroPiece.subarray(0, size - at)
      await writeAllLater(disk, file, piece, at)
      at += piece.length
      await settled((done) => disk.dataSyncLater(file, done))
    }
    if (!stopped()) {
      await settled((done) => disk.syncLater(file, done))
      disk.rename(temporary, target)
      await syncDirectoryLater(disk, dir)
      return openForSyncs(disk, target, [file])
    }
  } catch (error) {
    disk.close(file)
    giveSpaceBack(disk, dir)
    throw error
  }
  disk.close(file)
  disk.remove(temporary)
  return null
}

/**
 * Removes the segments before the one that holds `position`, which is synced, oldest first. Each
 * removal is durable before the next, so that no crash leaves a gap.
 */
export async function dropSegments(
  { disk, dir, onNotice }: { disk: Disk; dir: string; onNotice: (notice: Notice) => void },
  position: number,
): Promise<void> {
  const files = listSegments(disk, dir)
  // The first segment's header must be known to be durable: a synced record after it proves that.
  const first = files.findLastIndex(
    ({ head }) => head.kind === 'good' && head.header.firstPosition <= position,
  )
  const dropped = files.slice(0, Math.max(0, first)).map(({ name }) => name)
  for (const name of dropped) {
    await settled((done) => disk.removeLater(path.join(dir, name), done))
    await syncDirectoryLater(disk, dir)
  }
  if (dropped.length > 0) onNotice({ event: 'segments_dropped', segments: dropped, position })
}

/** Copies `from..to` of a segment to a separate, durable file; returns its name. */
export function keepAside(
  disk: Disk,
  dir: string,
  segment: number,
  from: number,
  to: number,
): string {
  const name = freeName(disk, dir, `${segmentName(segment)}.torn`)
  const copy = disk.open(path.join(dir, name), 'create')
  try {
    copyRange(disk, segmentPath(dir, segment), copy, { from, to, at: 0 })
    disk.sync(copy)
  } catch (error) {
    disk.remove(path.join(dir, name))
    throw error
  } finally {
    disk.close(copy)
  }
  syncDirectory(disk, dir)
  return name
}

export function freeName(disk: Disk, dir: string, preferred: string): string {
  const taken = new Set(disk.list(dir))
  let name = preferred
  for (let suffix = 1; taken.has(name); suffix++) name = `${preferred}-${suffix}`
  return name
}

/** Copies bytes `from..to` of one file to `at` of another. Returns the offset after them. */
export function copyRange(
  disk: Disk,
  name: string,
  target: number,
  range: { from: number; to: number; at: number },
): number {
  const piece = Buffer.alloc(Math.min(pieceBytes, range.to - range.from))
  let at = range.at
  const source = disk.open(name, 'read')
  try {
    for (let from = range.from; from < range.to; ) {
      const bytes = piece.subarray(0, Math.min(piece.length, range.to - from))
      const count = readFully(disk, source, bytes, from)
      if (count === 0) break
      writeAll(disk, target, bytes.subarray(0, count), at)
      from += count
      at += count
    }
  } finally {
    disk.close(source)
  }
  return at
}

/**
 * Returns the first segment's header. Throws JournalError 76 for another format, 77 for a segment
 * that is missing, doubled, out of place or from another store.
 */
export function checkHeads(
  files: SegmentFile[],
  { dir, from }: { dir: string; from: number },
): SegmentHeader {
  for (const { path, head } of files) {
    if (head.kind === 'other') throw versionError(path, head.version, formatVersion)
  }
  const damage = (file: SegmentFile, position: number, what: string) =>
    damageError(dir, file.path, 0, position, what)

  // The first segment gets its name when its header is durable already: no crash can tear it.
  const first = files[0]
  if (first.head.kind !== 'good') throw damage(first, from + 1, 'the header is not whole')
  const { header } = first.head
  files.forEach((file, index) => {
    const number = first.number + index
    if (file.number !== number) throw damage(file, from + 1, `segment ${number} is missing`)
    if (file.head.kind !== 'good') return
    const own = file.head.header
    if (own.number !== number) {
      throw damage(file, own.firstPosition, `it is segment ${own.number} under another name`)
    }
    if (own.storeId !== header.storeId) {
      throw damage(
        file,
        own.firstPosition,
        `it belongs to store ${own.storeId}, not ${header.storeId}`,
      )
    }
  })
  if (header.firstPosition > from + 1) {
    throw damage(first, from + 1, `positions before ${header.firstPosition} are missing`)
  }
  return header
}
