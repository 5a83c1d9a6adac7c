// The journal: an append-only log of records that survive the loss of power.
//
//   openJournal: lock ─▶ scan (replay) ─▶ settle ─▶ Writer
//   append ─▶ open batch ─▶ frame written ─▶ sync in flight ─▶ durable ─▶ onDurable
//
// The bytes and the invariants J1..J8 are in format.ts, the rest of a journal's life in writer.ts.

import path from 'node:path'
import { type Disk, realDisk, syncDirectory } from '../disk.ts'
import { codeOf, JournalError, storageError } from '../errors.ts'
import { limitsOf } from './limits.ts'
import { lockDirectory } from './lock.ts'
import { keepReserve } from './reserve.ts'
import { scanLog } from './scan.ts'
import { listSegments } from './segments.ts'
import { settle } from './settle.ts'
import type { SyncStats } from './sync-queue.ts'
import { Writer } from './writer.ts'

/**
 * `always`: durable means synced. `interval`: durable means written, and synced within `ms`; a loss
 * of power takes no more than that. `none`: written, and synced when the system likes.
 */
export type Durability = { mode: 'always' } | { mode: 'interval'; ms: number } | { mode: 'none' }
export type Health = 'ok' | 'storage_full' | 'overloaded' | 'storage_failed'
export type Notice = { event: string; level?: 'info' | 'warn'; [field: string]: unknown }

export interface JournalOptions {
  /** Made when it is missing, one level. */
  dir: string
  disk?: Disk | undefined
  /** A whole number of sectors, from 16 KiB to 1 GiB; default 64 MiB. */
  segmentBytes?: number | undefined
  durability?: Durability
  /**
   * Records after this position are replayed; default 0, all. A function is asked when the
   * directory is locked; it is told the id of the store, or null when there is no log yet.
   */
  from?: number | ((storeId: string | null) => Promise<number>)
  onRecord: (position: number, record: unknown) => void
  /** Bytes of the log that have been read, and all there are. */
  onProgress?: (done: number, total: number) => void
  /** What an operator may want to find in a log, by `event`. */
  onNotice?: (notice: Notice) => void
}

export interface JournalStats {
  batches: number
  records: number
  /** Bytes written, padding included. */
  bytes: number
  /** Bytes of the log that were replayed when it was opened. */
  replayedBytes: number
  syncs: SyncStats
  /** Number of the segment that is written to. */
  segment: number
}

export interface Journal {
  /** 32 hex digits, the same as long as the directory lives. */
  readonly storeId: string
  /** Of the record appended last; 0 in an empty journal. */
  readonly position: number
  /** Up to here records are as durable as the mode promises. */
  readonly durable: number
  /** Ask before every record: anything but `ok` means that it must not be appended. */
  readonly health: Health
  /** What an operator should act on before `health` changes, a sentence each. */
  readonly warnings: string[]
  /** Returns the record's position. Never waits. Throws on our own bugs only. */
  append(record: unknown): number
  /** Writes what was appended now instead of at the turn's end, if a sync may begin. */
  flush(): void
  /** Called whenever `durable` has moved. One listener. */
  onDurable: (durable: number) => void
  /** Called once, when a write or a sync failed: nothing becomes durable any more. */
  onFailed: (error: JournalError) => void
  /** What `onFailed` was called with, for who listens later: it also fails by itself. */
  readonly failure: JournalError | null
  stats(): JournalStats
  /** Resolves when all that was appended is synced, whatever the mode. Rejects when that fails. */
  sync(): Promise<void>
  /** Removes segments whose records are all before this one's position, which is synced. */
  dropBefore(position: number): Promise<void>
  /** Makes durable what was appended, seals, and gives the directory back. Never rejects. */
  close(): Promise<void>
}

const segmentBytesDefault = 64 * 1024 * 1024

/**
 * Locks the directory, replays its records in order, and returns the journal that goes on from
 * there. The event loop keeps running meanwhile. Rejects with a JournalError: 74 storage, 75 in
 * use, 76 written by a newer version, 77 damage; and with what `onRecord` throws.
 */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const { dir, disk = realDisk, durability = { mode: 'always' } } = options
  const { onRecord, onProgress, onNotice = () => {} } = options
  const limits = limitsOf(options.segmentBytes ?? segmentBytesDefault)
  makeDirectory(disk, dir)
  const unlock = await lockDirectory(disk, dir)
  try {
    const from = await startOf(options.from ?? 0, disk, dir)
    const end = await scanLog({ disk, dir, from, onRecord, onProgress })
    if (end === null && from > 0) throw noLog(dir, from)
    const settled = guarded(`prepare ${dir}`, () =>
      settle(end, { disk, dir, segmentBytes: limits.segmentBytes, onNotice }),
    )
    keepReserve(disk, dir)
    const replayedBytes = end?.replayedBytes ?? 0
    return new Writer(settled, {
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
  const [first] = listSegments(disk, dir)
  return from(first?.head.kind === 'good' ? first.head.header.storeId : null)
}

function noLog(dir: string, from: number): JournalError {
  return new JournalError(
    77,
    `${dir} has no log, and it was known to reach position ${from}; nothing was changed, ` +
      'put the segments (*.wal) back',
  )
}

// Its name must survive as well as what it holds.
function makeDirectory(disk: Disk, dir: string): void {
  guarded(`make ${dir}`, () => {
    disk.makeDirectory(dir)
    try {
      syncDirectory(disk, path.dirname(path.resolve(dir)))
    } catch (error) {
      // A parent that may be entered but not read is somebody else's, and older than this.
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
