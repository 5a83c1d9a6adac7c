// Begins a log anew after a checkpoint that was copied from another node: makes a log that does not
// start at position 1, because this node has no records before that of the checkpoint; and replaces
// a log whose continuation is only in a newer checkpoint by such a copy, which is made beside it.
//
//   0000000001.wal │ header: first position P + 1, store id of the other node │ seal │
//
//   fetched-log/ is filled ─▶ mark ─▶ old files removed ─▶ 0000000001.wal moved ─▶ the rest moved
//   ─▶ mark removed
//
// C1. While files are removed or moved, a mark file exists: the next process that opens the
//     directory completes this first, since half of a log cannot be opened.
// C2. One complete copy exists at every step. Before there is a mark, it is the old log. From then
//     on it is the copy beside, which is whole and durable. While its segment is in `fetched-log`,
//     every file of a log in the directory is an old one; afterwards every one is of the copy.

import path from 'node:path'
import type { CheckpointDirectory } from '../checkpoint/checkpoint-files.ts'
import { type Disk, replaceFile, syncDirectory, writeAll } from '../disk.ts'
import { isOfSystem, JournalError, storageError } from '../errors.ts'
import { crcSeed, encodeSegmentHeader, segmentHeaderBytes } from '../journal/format.ts'
import { encodeSeal } from '../journal/prepare-tail.ts'
import { freeName, listSegments, segmentName, segmentPath } from '../journal/segments.ts'

/** What happens to the old log. */
interface Plan {
  /** Whether its segments are kept, under names that end in `.replaced`. */
  keeps: boolean
  /** Whether the copy beside takes its place. */
  isReplaced: boolean
}

const marks: ReadonlyMap<string, Plan> = new Map([
  ['clear-log', { keeps: false, isReplaced: false }],
  ['replace-log', { keeps: false, isReplaced: true }],
  ['replace-log.keep', { keeps: true, isReplaced: true }],
])
const besideName = 'fetched-log'
const number = 1
const segments = /^\d{10}\.wal$/
const parts = /^\d{10}\.(?:wal|checkpoint|pages|parity)(?:\.tmp)?$/

/** Decides that the log is to be removed; the next `finishPlan` does so. Throws JournalError 74. */
export function planClearing(directory: CheckpointDirectory): void {
  mark(directory, 'clear-log')
}

/**
 * Decides that the copy in `besideLog` takes the place of the log, whose segments are removed or,
 * with `keeps`, put aside. The next `finishPlan` carries this out. Throws JournalError 74.
 */
export function planReplacing(directory: CheckpointDirectory, { keeps }: { keeps: boolean }): void {
  mark(directory, keeps ? 'replace-log.keep' : 'replace-log')
}

/** Returns the empty directory in which another copy of the log is made. Throws JournalError 74. */
export function besideLog({ disk, dir }: CheckpointDirectory): CheckpointDirectory {
  const beside = path.join(dir, besideName)
  guarded(beside, () => {
    disk.makeDirectory(beside)
    for (const name of partsIn(disk, beside)) disk.remove(path.join(beside, name))
    syncDirectory(disk, dir)
  })
  return { disk, dir: beside }
}

/**
 * Removes or replaces the log and its checkpoints as planned; files that were put aside stay. The
 * caller has locked the directory. Returns whether there was anything to do. Throws JournalError
 * 74.
 */
export function finishPlan({ disk, dir }: CheckpointDirectory): boolean {
  return guarded(dir, () => {
    const names = disk.list(dir)
    const found = [...marks.keys()].filter((name) => names.includes(name))
    const plans = found.map((name) => marks.get(name)!)
    if (plans.length === 0) return false
    const keeps = plans.some((plan) => plan.keeps)
    if (plans.some((plan) => plan.isReplaced)) replace(disk, dir, keeps)
    else removeLog(disk, dir, keeps)
    for (const name of found) disk.remove(path.join(dir, name))
    syncDirectory(disk, dir)
    return true
  })
}

function mark({ disk, dir }: CheckpointDirectory, name: string): void {
  guarded(dir, () => {
    if (!disk.list(dir).includes(name)) disk.close(disk.open(path.join(dir, name), 'create'))
    syncDirectory(disk, dir)
  })
}

function removeLog(disk: Disk, dir: string, keeps: boolean): void {
  for (const name of partsIn(disk, dir)) {
    const file = path.join(dir, name)
    if (keeps && segments.test(name)) {
      disk.rename(file, path.join(dir, freeName(disk, dir, `${name}.replaced`)))
    } else disk.remove(file)
  }
  syncDirectory(disk, dir)
}

function replace(disk: Disk, dir: string, keeps: boolean): void {
  const beside = path.join(dir, besideName)
  const move = (names: string[]) => {
    for (const name of names) disk.rename(path.join(beside, name), path.join(dir, name))
    syncDirectory(disk, dir) // first, so that a name is in both directories rather than in none
    syncDirectory(disk, beside)
  }
  const segment = partsIn(disk, beside).filter((name) => name === segmentName(number))
  if (segment.length > 0) removeLog(disk, dir, keeps)
  move(segment) // durable before the rest is moved, also if it was moved before a crash
  move(partsIn(disk, beside))
}

function partsIn(disk: Disk, dir: string): string[] {
  return disk.list(dir).filter((name) => parts.test(name))
}

function guarded<T>(dir: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw isOfSystem(error) ? storageError(`replace the log in ${dir}`, error) : error
  }
}

/**
 * Makes an empty log in `dir` whose first record will be at `position` + 1. Safe against a crash at
 * any step. Throws JournalError 77 when the directory has a log, 74 when the disk fails.
 */
export function beginLog(
  { disk, dir }: CheckpointDirectory,
  { storeId, position }: { storeId: string; position: number },
): void {
  try {
    if (listSegments(disk, dir).length > 0) throw new JournalError(77, `${dir} has a log already`)
    replaceFile(disk, segmentPath(dir, number), (file) => {
      const place = { number, firstPosition: position + 1, watermark: position, link: 0 }
      writeAll(disk, file, encodeSegmentHeader({ storeId, ...place, settled: true }), 0)
      writeAll(disk, file, encodeSeal(position, 0, crcSeed(storeId)), segmentHeaderBytes)
    })
  } catch (error) {
    throw isOfSystem(error) ? storageError(`begin a log in ${dir}`, error) : error
  }
}
