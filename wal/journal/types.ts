// The types that the parts of the journal share, and its interface. It imports no part that
// imports it.

import type { JournalError } from '../errors.ts'
import type { SyncStats } from './sync-queue.ts'

/**
 * `always`: durable means synced. `interval`: durable means written, and synced within `ms`; a loss
 * of power takes no more than that. `none`: written, and synced when the system likes.
 */
export type Durability = { mode: 'always' } | { mode: 'interval'; ms: number } | { mode: 'none' }
export type Health = 'ok' | 'storage_full' | 'overloaded' | 'storage_failed'
export type Notice = { event: string; level?: 'info' | 'warn'; [field: string]: unknown }

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

/** A place in the log between two frames: the next one starts at byte `at` of segment `number`. */
export interface LogPlace {
  number: number
  at: number
  /** Position of the last record before the place, and the crc of that record's frame. */
  position: number
  link: number
}
