// The files of checkpoints: how one gets its name, how a start finds those that it may use, and how
// unneeded ones are removed.

import path from 'node:path'
import {
  type Disk,
  readFile,
  readFullyLater,
  removeLater,
  replaceFileLater,
  syncDirectoryLater,
  writeAllLater,
} from '../disk.ts'
import { isOfSystem, isUnreadable, JournalError, messageOf, versionError } from '../errors.ts'
import { listSegments, positionBefore } from '../journal/segments.ts'
import {
  checkpointVersion,
  decodeManifest,
  type Manifest,
  manifestName,
  numberIn,
  pagesName,
  parityName,
  type ReadManifest,
} from './manifest.ts'

export interface CheckpointDirectory {
  disk: Disk
  dir: string
}

/** Numbers of the manifests in a directory, newest first. */
export function manifestNumbers({ disk, dir }: CheckpointDirectory): number[] {
  const names = disk.list(dir).filter((name) => /^\d{10}\.checkpoint$/.test(name))
  return names.map(numberIn).sort((a, b) => b - a)
}

/** The next checkpoint's number: greater than that of any file of a checkpoint in the directory. */
export function nextNumber({ disk, dir }: CheckpointDirectory): number {
  return Math.max(0, ...disk.list(dir).map(numberIn)) + 1
}

/** Throws the errors of the disk, except for a bad sector, which makes the manifest bad. */
export function readManifest({ disk, dir }: CheckpointDirectory, number: number): ReadManifest {
  try {
    return decodeManifest(readFile(disk, path.join(dir, manifestName(number))), number)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return { kind: 'bad', why: messageOf(error) }
  }
}

export function writeManifest(
  { disk, dir }: CheckpointDirectory,
  number: number,
  bytes: Buffer,
): Promise<void> {
  return replaceFileLater(disk, path.join(dir, manifestName(number)), (file) =>
    writeAllLater(disk, file, bytes, 0),
  )
}

/** Whether a manifest reads as it was written. */
export async function isWritten(
  { disk, dir }: CheckpointDirectory,
  number: number,
  written: Buffer,
) {
  const file = disk.open(path.join(dir, manifestName(number)), 'read')
  try {
    const bytes = Buffer.alloc(written.length + 1)
    const read = await readFullyLater(disk, file, bytes, 0)
    return bytes.subarray(0, read).equals(written)
  } finally {
    disk.close(file)
  }
}

/** Removes the files of checkpoint `number`, which failed, as far as the disk permits. */
export async function removeAttempt(
  { disk, dir }: CheckpointDirectory,
  number: number,
  pageFiles: readonly number[],
): Promise<void> {
  const remove = async (name: string) => {
    await ifPossible(removeLater(disk, path.join(dir, `${name}.tmp`)))
    await ifPossible(removeLater(disk, path.join(dir, name)))
  }
  await remove(manifestName(number))
  await ifPossible(syncDirectoryLater(disk, dir)) // a manifest never outlives its pages
  for (const file of pageFiles) {
    await remove(pagesName(file))
    await remove(parityName(file))
  }
}

/** Ignores system errors: a file that is missing, or stays until the next start, does no harm. */
export async function ifPossible(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!isOfSystem(error)) throw error
  }
}

/** Removes files that a crash left unfinished. */
export function removeUnfinished({ disk, dir }: CheckpointDirectory): void {
  for (const name of disk.list(dir)) {
    if (/^\d{10}\.(checkpoint|pages|parity)\.tmp$/.test(name)) disk.remove(path.join(dir, name))
  }
}

/**
 * Removes the manifests that are no longer kept, then the page files that only they named, with
 * their parity: a manifest never outlives its pages.
 */
export async function removeUnneeded(
  { disk, dir }: CheckpointDirectory,
  kept: ReadonlySet<number>,
  pages: ReadonlySet<number>,
): Promise<void> {
  const newest = Math.max(...kept)
  const isOld = (number: number) => number > 0 && number <= newest
  const names = disk.list(dir)
  const remove = async (unneeded: string[]) => {
    for (const name of unneeded) await removeLater(disk, path.join(dir, name))
    if (unneeded.length > 0) await syncDirectoryLater(disk, dir)
  }
  await remove(
    names.filter(
      (name) => /\.checkpoint$/.test(name) && isOld(numberIn(name)) && !kept.has(numberIn(name)),
    ),
  )
  await remove(
    names.filter(
      (name) =>
        /\.(?:pages|parity)$/.test(name) && isOld(numberIn(name)) && !pages.has(numberIn(name)),
    ),
  )
}

/** A manifest that cannot be used, and why. */
export interface BadManifest {
  name: string
  why: string
}

interface Accepted {
  /** The version of the state that the caller can read. */
  stateVersion: number
  /** The id of the log's store; null: there is no log. */
  storeId: string | null
}

/**
 * The manifests that are whole, newest first; their pages are not checked. Throws JournalError 76
 * for another format, 77 for one of another store, and the errors of the disk.
 */
export function findManifests(
  directory: CheckpointDirectory,
  { stateVersion, storeId }: Accepted,
): { good: Manifest[]; bad: BadManifest[] } {
  const good: Manifest[] = []
  const bad: BadManifest[] = []
  for (const number of manifestNumbers(directory)) {
    const name = manifestName(number)
    const file = path.join(directory.dir, name)
    const read = readManifest(directory, number)
    if (read.kind === 'other') throw versionError(file, read.version, checkpointVersion)
    if (read.kind === 'bad') {
      bad.push({ name, why: read.why })
      continue
    }
    const { manifest } = read
    if (manifest.stateVersion !== stateVersion) {
      throw versionError(file, manifest.stateVersion, stateVersion, 'state')
    }
    if (storeId !== null && manifest.storeId !== storeId) {
      const stores = `${manifest.storeId}, and the log to store ${storeId}`
      throw new JournalError(
        77,
        `${file} belongs to store ${stores}; nothing was changed, move the foreign files away`,
      )
    }
    good.push(manifest)
  }
  return { good, bad }
}

/**
 * To be called when no checkpoint can be used: throws JournalError 77, which names the damaged
 * ones, unless the log is complete from its first record.
 */
export function refuseWithoutLog(
  { disk, dir }: CheckpointDirectory,
  bad: readonly BadManifest[],
): void {
  const begin = positionBefore(listSegments(disk, dir))
  if (begin === 0) return
  const reasons = bad.map(({ name, why }) => `${name}: ${why}`).join('; ')
  throw new JournalError(
    77,
    `no checkpoint in ${dir} can be used (${reasons}), and positions before ${begin + 1} are ` +
      'missing from the log; nothing was changed, restore a backup',
  )
}
