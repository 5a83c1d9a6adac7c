// Copies whole files, and verifies the copies. Parts that cannot be read are filled with zeros.

import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { CheckpointDirectory } from '../checkpoint/checkpoint-files.ts'
import { blockBytes } from '../checkpoint/parity.ts'
import { type Disk, readFully, syncDirectory, writeAll } from '../disk.ts'
import { isUnreadable, JournalError } from '../errors.ts'

const pieceBytes = 1024 * 1024
// The lock's owner does not use the copy, a start of the copy creates a new reserve, and sockets
// have no content.
const leftOut = /^(?:lock.*|reserve|.*\.sock)$/

/**
 * Copies a directory that no process uses. Throws JournalError 74 when the copy differs, and the
 * errors of the disk.
 */
export function copyWhole(
  { disk, dir }: CheckpointDirectory,
  to: string,
  onProgress: (done: number, total: number) => void = () => {},
): void {
  const names = disk.list(dir).filter((name) => !leftOut.test(name))
  const sizes = names.map((name) => eachPiece({ disk, dir }, name, () => {}, 0))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  let done = 0
  for (const name of names) {
    copyFile({ disk, dir }, name, to, (bytes) => {
      done += bytes
      onProgress(done, total)
    })
  }
  syncDirectory(disk, to)
}

/** Copies one file, whose name the caller syncs. Throws as `copyWhole`. */
export function copyFile(
  { disk, dir }: CheckpointDirectory,
  name: string,
  to: string,
  onCopied: (bytes: number) => void = () => {},
): void {
  let crc = 0
  const target = disk.open(path.join(to, name), 'create')
  try {
    eachPiece({ disk, dir }, name, (piece, at) => {
      writeAll(disk, target, piece, at)
      crc = crc32(piece, crc)
      onCopied(piece.length)
    })
    disk.sync(target)
  } finally {
    disk.close(target)
  }
  let copied = 0
  eachPiece({ disk, dir: to }, name, (piece) => {
    copied = crc32(piece, copied)
  })
  if (copied !== crc) throw new JournalError(74, `the copy of ${name} does not match the original`)
}

/** Returns the size of the file; reads at most `limit` bytes of it. */
function eachPiece(
  { disk, dir }: CheckpointDirectory,
  name: string,
  visit: (piece: Buffer, at: number) => void,
  limit = Number.POSITIVE_INFINITY,
): number {
  const file = disk.open(path.join(dir, name), 'read')
  try {
    const size = disk.size(file)
    const buffer = Buffer.alloc(Math.min(pieceBytes, size))
    for (let at = 0; at < Math.min(size, limit); ) {
      const count = readWithZeros(
        disk,
        file,
        buffer.subarray(0, Math.min(buffer.length, size - at)),
        at,
      )
      if (count === 0) break
      visit(buffer.subarray(0, count), at)
      at += count
    }
    return size
  } finally {
    disk.close(file)
  }
}

/**
 * As `readFully`, but reads block by block where a sector is bad, and fills bad blocks with zeros.
 */
function readWithZeros(disk: Disk, file: number, into: Buffer, at: number): number {
  try {
    return readFully(disk, file, into, at)
  } catch (error) {
    if (!isUnreadable(error)) throw error
  }
  for (let from = 0; from < into.length; from += blockBytes) {
    const block = into.subarray(from, from + blockBytes)
    try {
      readFully(disk, file, block, at + from)
    } catch (error) {
      if (!isUnreadable(error)) throw error
      block.fill(0)
    }
  }
  return into.length
}
