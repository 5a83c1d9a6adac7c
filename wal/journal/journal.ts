// The journal: an append-only log of records that survive the loss of power.
//
//   openJournal: lock ─▶ scan (replay) ─▶ prepareTail ─▶ Writer
//   append ─▶ open batch ─▶ frame written ─▶ sync in flight ─▶ durable ─▶ onDurable
//
// The bytes and the invariants J1..J8 are in format.ts, the rest of a journal's life in writer.ts.

import path from 'node:path'
import { type Disk, realDisk, syncDirectory } from '../disk.ts'
import { codeOf, JournalError, storageError } from '../errors.ts'
import { keepReserve, lockDirectory } from './lock.ts'
import { prepareTail } from './prepare-tail.ts'
import { scanLog } from './scan.ts'
import { listSegments, storeIdOf } from './segments.ts'
import { type Durability, type Journal, journalLimits, type Notice } from './types.ts'
import { Writer } from './writer.ts'

export type { Durability, Health, Journal, JournalStats, Notice } from './types.ts'

export interface JournalOptions {
  /** The data directory; its last level is created when it is missing. */
  dir: string
  disk?: Disk | undefined
  /** A whole number of sectors, from 16 KiB to 1 GiB; default 64 MiB. */
  segmentBytes?: number | undefined
  durability?: Durability
  /**
   * Records after this position are replayed; default 0: all. A function is called when the
   * directory is locked, with the id of the store, or null when there is no log yet.
   */
  from?: number | ((storeId: string | null) => Promise<number>)
  onRecord: (position: number, record: unknown) => void
  /** Receives the bytes of the log that have been read, and their total. */
  onProgress?: (done: number, total: number) => void
  /** Receives events for the operator's log, named by `event`. */
  onNotice?: (notice: Notice) => void
}

const segmentBytesDefault = 64 * 1024 * 1024

/**
 * Locks the directory, replays its records in order, and returns the journal, which appends after
 * them. The event loop keeps running meanwhile. Rejects with a JournalError (74 storage, 75 in use,
 * 76 written by a newer version, 77 damage), and with any error that `onRecord` throws.
 */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const { dir, disk = realDisk, durability = { mode: 'always' } } = options
  const { onRecord, onProgress, onNotice = () => {} } = options
  const limits = journalLimits(options.segmentBytes ?? segmentBytesDefault)
  makeDirectory(disk, dir)
  const unlock = await lockDirectory(disk, dir)
  try {
    const from = await startOf(options.from ?? 0, disk, dir)
    const end = await scanLog({ disk, dir, from, onRecord, onProgress })
    if (end === null && from > 0) throw noLog(dir, from)
    const tail = guarded(`prepare ${dir}`, () =>
      prepareTail(end, { disk, dir, segmentBytes: limits.segmentBytes, onNotice }),
    )
    keepReserve(disk, dir)
    const replayedBytes = end?.replayedBytes ?? 0
    return new Writer(tail, {
      disk,
      dir,
      limits,
      durability,
      replayedBytes,
      onNotice,
      unlock,
    })
  } catch (error) {
    unlock()
    throw error
  }
}

async function startOf(
  from: Exclude<JournalOptions['from'], undefined>,
  disk: Disk,
  dir: string,
): Promise<number> {
  if (typeof from === 'number') return from
  return from(storeIdOf(listSegments(disk, dir)))
}

function noLog(dir: string, from: number): JournalError {
  return new JournalError(
    77,
    `${dir} has no log, but it was known to reach position ${from}; nothing was changed, ` +
      'put the segments (*.wal) back',
  )
}

// The directory's own name must be durable, too.
function makeDirectory(disk: Disk, dir: string): void {
  guarded(`make ${dir}`, () => {
    disk.makeDirectory(dir)
    try {
      syncDirectory(disk, path.dirname(path.resolve(dir)))
    } catch (error) {
      // A parent that can be entered but not read belongs to another user, and existed before.
      if (codeOf(error) !== 'EACCES') throw error
    }
  })
}

function guarded<T>(doing: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw storageError(doing, error)
  }
}
