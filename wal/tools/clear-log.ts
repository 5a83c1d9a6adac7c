// Removes a log and its checkpoints, to make room for another copy of the same history: when what
// would continue the log is only in a newer checkpoint.
//
// C1. A file says that it is being done, until it is: whoever opens the directory finishes it
//     first, since half of a log cannot be opened.

import path from 'node:path'
import type { CheckpointDirectory } from '../checkpoint/checkpoint-files.ts'
import { type Disk, syncDirectory } from '../disk.ts'
import { codeOf, isOfSystem, storageError } from '../errors.ts'
import { freeName } from '../journal/segments.ts'

const markName = 'clear-log'
/** As the mark, if the log itself is to be kept. */
const keepingMarkName = 'clear-log.keep'
const segments = /^\d{10}\.wal$/
const parts = /^\d{10}\.(?:wal|checkpoint|pages|parity)(?:\.tmp)?$/

/**
 * Decides that the log is removed, or put aside if it `keeps` it: its segments stay under names
 * that end in `.replaced`. The next `clearLog` does it. Throws JournalError 74.
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
 * Removes the log and its checkpoints if that was decided; what was put aside stays. The caller has
 * locked the directory. Returns whether there was anything to do. Throws JournalError 74.
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
