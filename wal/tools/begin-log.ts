// Begins a log anew after a checkpoint that was copied from another node: removes the old log and
// its checkpoints when their continuation is only in a newer checkpoint, and makes a log that does
// not start at position 1, because this node has no records before that of the checkpoint.
//
//   0000000001.wal │ header: first position P + 1, store id of the other node │ seal │
//
// C1. While the old log is being removed, a mark file exists: the next process that opens the
//     directory completes the removal first, since half of a log cannot be opened.

import path from 'node:path'
import type { CheckpointDirectory } from '../checkpoint/checkpoint-files.ts'
import { type Disk, replaceFile, syncDirectory, writeAll } from '../disk.ts'
import { codeOf, isOfSystem, JournalError, storageError } from '../errors.ts'
import { crcSeed, encodeSegmentHeader, segmentHeaderBytes } from '../journal/format.ts'
import { freeName, listSegments, segmentPath } from '../journal/segments.ts'
import { encodeSeal } from '../journal/settle.ts'

const markName = 'clear-log'
/** Used in place of the mark if the log itself is to be kept. */
const keepingMarkName = 'clear-log.keep'
const segments = /^\d{10}\.wal$/
const parts = /^\d{10}\.(?:wal|checkpoint|pages|parity)(?:\.tmp)?$/

/**
 * Decides that the log is to be removed or, with `keeps`, put aside: its segments stay under names
 * that end in `.replaced`. The next `clearLog` carries this out. Throws JournalError 74.
 */
export function planClearing(
  { disk, dir }: CheckpointDirectory,
  { keeps }: { keeps: boolean },
): void {
  guarded(dir, () => {
    const mark = path.join(dir, keeps ? keepingMarkName : markName)
    try {
      disk.close(disk.open(mark, 'create'))
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    syncDirectory(disk, dir)
  })
}

/**
 * Removes the log and its checkpoints if `planClearing` has decided so; files that were put aside
 * stay. The caller has locked the directory. Returns whether there was anything to do. Throws
 * JournalError 74.
 */
export function clearLog({ disk, dir }: CheckpointDirectory): boolean {
  return guarded(dir, () => {
    const names = disk.list(dir)
    const marks = [markName, keepingMarkName].filter((name) => names.includes(name))
    if (marks.length === 0) return false
    const keeps = marks.includes(keepingMarkName)
    for (const name of names) {
      const file = path.join(dir, name)
      if (keeps && segments.test(name)) disk.rename(file, freePath(disk, dir, name))
      else if (parts.test(name)) disk.remove(file)
    }
    syncDirectory(disk, dir)
    for (const name of marks) disk.remove(path.join(dir, name))
    syncDirectory(disk, dir)
    return true
  })
}

function freePath(disk: Disk, dir: string, name: string): string {
  return path.join(dir, freeName(disk, dir, `${name}.replaced`))
}

function guarded<T>(dir: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw isOfSystem(error) ? storageError(`clear the log in ${dir}`, error) : error
  }
}

const number = 1

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
