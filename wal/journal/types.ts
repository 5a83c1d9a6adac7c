// The journal's interface, its limits, and the types that its parts share.

import assert from 'node:assert/strict'
import type { Histogram } from '../../src/base/histogram.ts'
import type { Disk } from '../disk.ts'
import type { JournalError } from '../errors.ts'
import {
  frameBytesMax,
  frameHeaderBytes,
  recordBytesMax,
  recordHeaderBytes,
  sectorBytes,
  segmentBytesMax,
  segmentHeaderBytes,
} from './format.ts'

/**
 * `always`: durable means synced. `interval`: durable means written, and synced within `ms`, which
 * bounds what a power loss can lose. `none`: written, and synced when the system decides.
 */
export type Durability = { mode: 'always' } | { mode: 'interval'; ms: number } | { mode: 'none' }
export type Health = 'ok' | 'storage_full' | 'overloaded' | 'storage_failed'
export type Notice = { event: string; level?: 'info' | 'warn'; [field: string]: unknown }

/**
 * Receives a frame that has been written: the position of its first record, the count of its
 * records, and the records as they are encoded in it (`eachEncoded` of format.ts). The bytes are
 * valid until it returns.
 */
export type OnFrame = (first: number, count: number, records: Uint8Array) => void

/** The parts of an open journal, besides the place at which it continues. */
export interface WriterOptions {
  disk: Disk
  dir: string
  limits: JournalLimits
  durability: Durability
  replayedBytes: number
  onNotice: (notice: Notice) => void
  unlock: () => void
}

export interface JournalStats {
  batches: number
  records: number
  /** Bytes written, padding included. */
  bytes: number
  /** Bytes of the log that were replayed when it was opened. */
  replayedBytes: number
  syncs: Histogram
  segment: number
}

export interface Journal {
  /** 32 hex digits that identify the store; they never change. */
  readonly storeId: string
  /** Position of the last appended record; 0 in an empty journal. */
  readonly position: number
  /** Position of the last record in a frame that has been written. */
  readonly written: number
  /** Position up to which records are as durable as the mode promises. */
  readonly durable: number
  /** Must be checked before every record: unless it is `ok`, none may be appended. */
  readonly health: Health
  /** Warnings to act on before `health` changes, one sentence each. */
  readonly warnings: string[]
  /** Returns the record's position. Never waits. Throws only for a bug of ours. */
  append(record: unknown): number
  /**
   * Appends `count` records that another journal of the same format has encoded, as they are in its
   * frames; returns the position of the last one. One call may append at most as many bytes as one
   * record may have (`cutRecords` of format.ts), and `health` must be checked before, as for
   * `append`.
   */
  appendEncoded(records: Uint8Array, count: number): number
  /** Writes the open batch now instead of in the next event-loop iteration, if a sync may begin. */
  flush(): void
  /** Called whenever `durable` has advanced. There is one listener. */
  onDurable: (durable: number) => void
  /** Called once, when a write or a sync failed: nothing becomes durable any more. */
  onFailed: (error: JournalError) => void
  /** Called for each frame that has been written, before it is synced; null: no listener. */
  onFrame: OnFrame | null
  /** The error that `onFailed` was called with, for listeners that are added later. */
  readonly failure: JournalError | null
  stats(): JournalStats
  /** Resolves when all appended records are synced, in any mode. Rejects if that fails. */
  sync(): Promise<void>
  /**
   * Makes the next record begin a new segment if it would share one with the record at `position`,
   * so that `dropBefore` can remove that one without the next. False: this is not possible now, but
   * it will be soon.
   */
  separate(position: number): boolean
  /** Removes segments that contain only records before `position`, which must be synced. */
  dropBefore(position: number): Promise<void>
  /** Syncs all records, seals the log and releases the directory's lock. Never rejects. */
  close(): Promise<void>
}

/** A place in the log between two frames: the next one starts at byte `at` of segment `number`. */
export interface LogPlace {
  number: number
  at: number
  /** Position of the last record before the place, and the crc of that record's frame. */
  position: number
  link: number
}

const segmentBytesMin = 16 * 1024

interface JournalLimits {
  segmentBytes: number
  recordBytesMax: number
  /** The most bytes that may wait for a sync: the open batch, and frames that are written. */
  unsyncedBytesMax: number
  /** A batch as long as this is written beside syncs in flight; a shorter one waits for them. */
  besideBytesMin: number
}

/** The limits of writes. `segmentBytes` is a whole number of sectors, from 16 KiB to 1 GiB. */
export function journalLimits(segmentBytes: number): JournalLimits {
  assert(segmentBytes % sectorBytes === 0)
  assert(segmentBytes >= segmentBytesMin)
  assert(segmentBytes <= segmentBytesMax)
  const limits = {
    segmentBytes,
    recordBytesMax: Math.min(recordBytesMax, segmentBytes / 16),
    unsyncedBytesMax: Math.min(frameBytesMax, segmentBytes / 4),
    besideBytesMin: Math.min(4096, segmentBytes / 32),
  }
  const largestFrame = frameHeaderBytes + recordHeaderBytes + limits.recordBytesMax + sectorBytes
  // A record of the largest size can be written when nothing waits.
  assert(largestFrame <= limits.unsyncedBytesMax)
  // A new segment has room for any batch, with its header before and a seal after it.
  assert(segmentHeaderBytes + limits.unsyncedBytesMax + sectorBytes <= segmentBytes)
  // A crash can tear the log from the last watermark to the last byte. That is less than a segment
  // holds before the next one begins, so a torn tail never spans three segments. A segment that
  // begins early, for `separate`, is preceded by a sync of such a watermark instead.
  assert(2 * limits.unsyncedBytesMax < segmentBytes - limits.unsyncedBytesMax)
  return limits
}
