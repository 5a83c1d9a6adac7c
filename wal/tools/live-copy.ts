// Copies the log and the newest checkpoint of a running node without its cooperation. The copy of
// the log is a prefix that ends after a whole frame.
//
// Concurrent changes, and how they are handled:
//
//   frames are appended    a frame that is not whole is read once more: frames are written in
//                          order, so it was whole before a later one was visible
//   a segment begins       the previous one is read once more, now up to its end
//   segments are removed   when a checkpoint covers them: the copy fails, the caller starts again
//   files of checkpoints   never change once they have their names, except where damage is
//                          repaired; if they are removed, the copy fails, the caller starts again
//
// C1. Everything synced when the copy began is in it, or the copy is refused as damaged.
// C2. The copy ends in a seal, so later damage to it is distinguished from a torn tail.

import path from 'node:path'
import {
  type CheckpointDirectory,
  manifestNumbers,
  readManifest,
} from '../checkpoint/checkpoint-files.ts'
import { type Manifest, manifestName, pagesName, parityName } from '../checkpoint/manifest.ts'
import { scrubFile } from '../checkpoint/scrub.ts'
import { openIfThere } from '../checkpoint/sidecar.ts'
import { type Disk, readFile, syncDirectory, writeAll } from '../disk.ts'
import { damageError, type JournalError } from '../errors.ts'
import {
  crcSeed,
  describeBadFrame,
  lastNonZero,
  readFrame,
  type SegmentHeader,
  segmentHeaderBytes,
} from '../journal/format.ts'
import { encodeSeal } from '../journal/prepare-tail.ts'
import {
  checkHeads,
  listSegments,
  readHead,
  type SegmentFile,
  segmentName,
  segmentPath,
} from '../journal/segments.ts'
import { findPromise } from '../journal/tail-rule.ts'
import type { LogPlace } from '../journal/types.ts'
import { checkCheckpoint } from './checkpoint-check.ts'
import { copyFile } from './whole-copy.ts'

interface LiveCopyOptions {
  disk: Disk
  dir: string
  /** A directory without a log. */
  to: string
  /** Segments that end at or before this position are left out. */
  from: number
  onProgress?: ((done: number, total: number) => void) | undefined
}

/**
 * Returns the position that the copy ends at; null when there is no log. Throws a JournalError: 76
 * for a newer format, 77 for damage; and the errors of the disk.
 */
export function copyLiveLog(options: LiveCopyOptions): number | null {
  const { disk, dir, from } = options
  const all = listSegments(disk, dir)
  if (all.length === 0) return null
  const first = all.findLastIndex(
    ({ head }) => head.kind === 'good' && head.header.firstPosition <= from + 1,
  )
  const files = all.slice(Math.max(0, first))
  return new LiveCopy(options, files, checkHeads(files, { dir, from })).run()
}

class LiveCopy {
  readonly #options: LiveCopyOptions
  readonly #files: SegmentFile[]
  readonly #seed: number
  #end: LogPlace
  #bytes: Buffer = Buffer.alloc(0)

  constructor(options: LiveCopyOptions, files: SegmentFile[], first: SegmentHeader) {
    this.#options = options
    this.#files = files
    this.#seed = crcSeed(first.storeId)
    const { number, firstPosition, link } = first
    this.#end = { number, at: 0, position: firstPosition - 1, link }
  }

  run(): number {
    const { disk, to, onProgress = () => {} } = this.#options
    const total = this.#files.reduce((sum, { size }) => sum + size, 0)
    for (let done = 0, hasNext = true; hasNext; ) {
      const { number } = this.#end
      hasNext = this.#readWhole(number)
      const file = disk.open(segmentPath(to, number), 'create')
      try {
        writeAll(disk, file, this.#bytes.subarray(0, this.#end.at), 0)
        disk.sync(file)
        if (!hasNext) this.#seal(file)
      } finally {
        disk.close(file)
      }
      done += this.#bytes.length
      onProgress(done, Math.max(done, total))
      this.#end.number += 1
    }
    return this.#end.position
  }

  /** Reads a segment up to its last whole frame. Returns whether another segment follows it. */
  #readWhole(number: number): boolean {
    const begin = this.#end
    let promise: string | null = null
    for (let stoppedAt = -1; ; stoppedAt = this.#end.at) {
      this.#load(number)
      const next = this.#headerOf(number + 1)
      this.#end = this.#follow(begin, next)
      if (next !== null && next.firstPosition === this.#end.position + 1) return true
      const follows = next !== null || lastNonZero(this.#bytes, this.#end.at) > this.#end.at
      if (!follows) break
      if (stoppedAt !== this.#end.at) {
        promise = this.#findPromise(number)
        continue
      }
      if (next !== null) throw this.#damage('the next segment begins at a later position')
      if (promise !== null) throw this.#damage(promise)
      break // a frame that is being written
    }
    const known = this.#files.findLast(({ head }) => head.kind !== 'zero')!.number
    if (known > number) throw this.#damage(`${segmentName(number + 1)} has no whole header`)
    return false
  }

  #follow(begin: LogPlace, next: SegmentHeader | null): LogPlace {
    const limit = next === null ? Number.POSITIVE_INFINITY : next.firstPosition - 1
    let end = { ...begin, at: segmentHeaderBytes }
    for (;;) {
      const frame = readFrame(this.#bytes, end.at, this.#seed)
      if (frame === null || frame.lastPosition > limit) return end
      if (frame.firstPosition !== end.position + 1 || frame.link !== end.link) return end
      const link = frame.count === 0 ? end.link : frame.crc
      end = { ...end, at: frame.end, position: frame.lastPosition, link }
    }
  }

  #findPromise(number: number): string | null {
    const file = this.#files.find((known) => known.number === number)
    const { name, head } = file ?? { name: segmentName(number), head: { kind: 'zero' } as const }
    const log = { end: this.#end, seed: this.#seed }
    return findPromise(log, { name, head }, this.#bytes, this.#end.at)
  }

  #load(number: number): void {
    const { disk, dir } = this.#options
    this.#bytes = readFile(disk, segmentPath(dir, number))
  }

  #headerOf(number: number): SegmentHeader | null {
    const { disk, dir } = this.#options
    if (!disk.list(dir).includes(segmentName(number))) return null
    const { head } = readHead(disk, segmentPath(dir, number))
    return head.kind === 'good' ? head.header : null
  }

  // J2 holds for the copy, because all of it is synced.
  #seal(file: number): void {
    const { position, link, at } = this.#end
    writeAll(this.#options.disk, file, encodeSeal(position, link, this.#seed), at)
    this.#options.disk.sync(file)
  }

  #damage(what: string): JournalError {
    const { number, at, position } = this.#end
    const { dir } = this.#options
    const why = `${describeBadFrame(this.#bytes, at, this.#seed)}; ${what}`
    return damageError(dir, segmentPath(dir, number), at, position + 1, why)
  }
}

const unpaced = { pause: () => null, pace: async () => {} }

/**
 * Copies the newest whole checkpoint. Parts that are damaged or cannot be read are rebuilt in the
 * copy. Returns the manifest of the copy at `to`; null when there is no whole checkpoint.
 */
export async function copyCheckpoint(
  from: CheckpointDirectory,
  to: string,
): Promise<Manifest | null> {
  const { disk } = from
  for (const number of manifestNumbers(from)) {
    const read = readManifest(from, number)
    if (read.kind === 'bad') continue
    const files = read.kind === 'good' ? [...read.manifest.files.keys()] : []
    const names = [...files.map(pagesName), manifestName(number)]
    for (const name of names) copyFile(from, name, to)
    for (const file of files) {
      const parity = openIfThere(disk, path.join(from.dir, parityName(file)))
      if (parity === null) continue
      disk.close(parity)
      names.push(parityName(file))
      copyFile(from, parityName(file), to)
    }
    syncDirectory(disk, to)
    const copy = { disk, dir: to }
    if (read.kind === 'good') {
      for (const file of files) await scrubFile(copy, [read.manifest], file, unpaced)
    }
    const { manifest } = await checkCheckpoint(copy, number)
    if (manifest !== null) return manifest
    for (const name of names) disk.remove(path.join(to, name))
  }
  return null
}
