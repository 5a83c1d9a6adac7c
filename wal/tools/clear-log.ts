// Removes a log and its checkpoints, to make room for another copy of the same history: when what
// would continue the log is only in a newer checkpoint.
//
// C1. A file says that it is being done, until it is: whoever opens the directory finishes it
//     first, since half of a log cannot be opened.

import path from 'node:path'
import type { CheckpointDirectory } from '../checkpoint/checkpoint-files.ts'
import { syncDirectory } from '../disk.ts'
import { codeOf, isOfSystem, storageError } from '../errors.ts'

const markName = 'clear-log'
const parts = /^\d{10}\.(?:wal|checkpoint|pages|parity)(?:\.tmp)?$/

/** Decides that the log is removed; the next `clearLog` does it. Throws JournalError 74. */
export function planClearing({ disk, dir }: CheckpointDirectory): void {
  guarded(dir, () => {
    const mark = path.join(dir, markName)
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
    if (!names.includes(markName)) return false
    for (const name of names) if (parts.test(name)) disk.remove(path.join(dir, name))
    syncDirectory(disk, dir)
    disk.remove(path.join(dir, markName))
    syncDirectory(disk, dir)
    return true
  })
}

function guarded<T>(dir: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw isOfSystem(error) ? storageError(`clear the log in ${dir}`, error) : error
  }
}
