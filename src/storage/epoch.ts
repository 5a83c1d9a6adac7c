// Identifies the history of the log. A node that continues from a backup assigns positions that its
// clients have already seen to other messages: a new epoch begins. /api/status shows it. A cursor
// beyond the end is reset to the beginning of the epoch (forum/forum.ts, `pageStart`).
//
//   no file                        the first epoch; its name is the store's
//   {"id":null,"position":1000}    a backup: the first start on it gives it a name
//   {"id":"5b3e…","position":1000}
//
// E1. Two starts on copies of one backup begin two epochs.
// E2. The epoch has its name before the first answer in it.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { CheckpointDirectory } from '../../wal/checkpoint/checkpoint-files.ts'
import { readText } from '../../wal/disk.ts'
import { storageError } from '../../wal/errors.ts'
import { replaceText } from '../../wal/replace-file.ts'

const idBytes = 16

export interface Epoch {
  /** 32 hex characters. */
  id: string
  /** The last position before it; null in the first one. */
  begin: number | null
}

/** The epoch of the data directory `place`, which the caller has locked. */
export function loadEpoch(place: CheckpointDirectory, storeId: string): Epoch {
  const path = join(place.dir, 'epoch')
  try {
    const text = readText(place.disk, path)
    if (text === null) return { id: storeId, begin: null }
    const { id, position } = JSON.parse(text) as { id: string | null; position: number }
    if (id !== null) return { id, begin: position }
    const newId = randomBytes(idBytes).toString('hex')
    writeEpoch(place, newId, position)
    return { id: newId, begin: position }
  } catch (error) {
    throw storageError(`read or write ${path}`, error)
  }
}

/** Makes the epoch of `place`, which the caller has locked, the one of other nodes. */
export function adoptEpoch(
  place: CheckpointDirectory,
  { store, epoch, epochBegin }: { store: string; epoch: string; epochBegin: number | null },
): void {
  if (epochBegin === null && epoch === store) return
  writeEpoch(place, epoch, epochBegin ?? 0)
}

/** Makes the next start on `place` begin an epoch behind `position`. */
export function beginEpochAt(place: CheckpointDirectory, position: number): void {
  writeEpoch(place, null, position)
}

function writeEpoch({ disk, dir }: CheckpointDirectory, id: string | null, position: number): void {
  replaceText(disk, join(dir, 'epoch'), `${JSON.stringify({ id, position })}\n`)
}
