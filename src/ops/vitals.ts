// What operators can see of a node: node/server.ts fills it in as the node starts, ops/ shows it.

import type { Journal } from '../../wal/journal/journal.ts'
import type { Availability } from '../http/edge-options.ts'
import type { Load } from '../http/load.ts'
import type { Meter } from '../http/meter.ts'
import type { State } from '../state/state.ts'
import type { ReadersStats } from './reader-metrics.ts'

/** Statistics of checkpoints by this process; `position` may be of the one it started from. */
export interface CheckpointStats {
  taken: number
  failed: number
  /** Of the newest: its position in the log, its age, its duration in seconds, bytes written. */
  position: number
  ageSeconds(): number
  seconds: number
  bytes: number
  /** How long the newest one blocked the event loop when it began; the rest is in slices. */
  beginSeconds: number
}

/** The output of the log (log.ts). */
export interface LogOutput {
  /** Lines that standard output did not accept, since the start. */
  readonly linesDropped: number
  /** Warnings for the operator, one sentence each. */
  readonly warnings: string[]
}

/** Statistics of scrubs of page files by this process. */
export interface ScrubStats {
  /** Bytes of page files that were read. */
  bytes: number
  /** Damaged pages that were rewritten: from parity, or from memory by a checkpoint. */
  byParity: number
  byMemory: number
  /** Seconds since a pass over all page files ended; NaN: none has. */
  ageSeconds(): number
  /** Damaged pages that the last complete pass found. */
  found: number
}

/** Requests that wait for text that is on disk. */
export interface ColdReadStats {
  /** How many are parked now, and the bytes of blocks that they hold. */
  readonly length: number
  readonly bytes: number
  /** How many were rejected because of a limit. */
  readonly refused: number
  readonly limits: { readonly parkedMax: number; readonly bytesMax: number }
  readonly blocksRead: number
}

/** Statistics of reads of text from disk by this process. */
export interface TextDiskStats {
  /** How long reads took: counts by bucket, the upper bounds of these, and the sum. */
  readonly reads: ArrayLike<number>
  readonly readBoundsSeconds: readonly number[]
  readonly readSeconds: number
  /** Damaged blocks: those rebuilt from parity, and those that could not be. */
  readonly rebuilt: number
  readonly lost: number
}

/** Replication, on a node that has it. */
export interface ReplicationStats {
  readonly role: 'leader' | 'follower'
  /** The term of the newest record here. */
  term(): number
  /** How far this follower is behind the stream, or the stream behind this leader. */
  lagPositions(): number
  lagSeconds(): number
  /** How often this process took over, and how often another node took over from it. */
  takeovers(): number
  fenced(): number
  /** Requests that were passed on to the leader. */
  forwarded(): number
}

/** What is known before the log is replayed. */
interface EarlyVitals {
  version: string
  /** The name of the HTTP server. */
  http: string
  durability: string
  availability: Availability
  meter: Meter
  load: Load
  memoryBytesMax: number
  /** How much text may be in memory. */
  textBytesMax: number
  state: State
  logOutput: LogOutput
}

/**
 * What a start does now: it reads a checkpoint, fills the indexes, and replays the log; with a
 * replicated log it also waits for the stream, and reads it.
 */
export interface StartProgress {
  step: 'checkpoint' | 'indexes' | 'log' | 'stream'
  /** Bytes of the checkpoint or of the log, or a number of indexes. */
  done: number
  of: number
  /** Of the step `stream`: what it waits for, a sentence; or ''. */
  why?: string
}

export interface Vitals extends EarlyVitals {
  /** Null until the log is replayed. */
  journal: Journal | null
  start: StartProgress
  /** The number of answers that wait for the log. */
  gateLength(): number
  /** Reads that take several event-loop iterations: how many there are, and were rejected. */
  slicedWork: { readonly length: number; readonly refused: number }
  /** Polls that wait for news: how many there are and may be, and how many have ended how. */
  waiting: {
    readonly length: number
    readonly max: number
    readonly ended: Readonly<Record<string, number>>
  }
  coldReads: ColdReadStats
  textDisk: TextDiskStats
  /** Warnings about problems despite which requests are answered. */
  warnings(): string[]
  /** How often the system clock was set, by a minute or more. */
  clockStepsBack: number
  clockStepsAhead: number
  /** By how many milliseconds the system clock is behind forum time (forum/clock.ts). */
  clockBehindMs(): number
  clockWarnings(): string[]
  checkpoints: CheckpointStats
  /** The processes that answer reads beside this one; null: there are none. */
  readers: ReadersStats | null
  scrub: ScrubStats
  /** Null: the node is not replicated. */
  replication: ReplicationStats | null
}

/** Requests refused and connections closed since the start, by what there was too much of. */
export function refusalsOf({ load, slicedWork, coldReads }: Vitals): Record<string, number> {
  return { ...load.refused, sliced_reads: slicedWork.refused, cold_reads: coldReads.refused }
}

/** How many records the slowest reader had not applied when it reported last; NaN: none has. */
export function readersBehind({ readers, journal }: Vitals): number {
  if (readers === null || readers.running.length === 0) return Number.NaN
  const slowest = Math.min(...readers.running.map(({ position }) => position))
  return Math.max(0, (journal?.position ?? 0) - slowest)
}

/** How many records a start would replay. */
export function recordsBehind({ journal, checkpoints: { position } }: Vitals): number {
  return (journal?.position ?? position) - position
}

/** The statistics of a process that has taken no checkpoint. */
export const noCheckpoints: Readonly<CheckpointStats> = {
  taken: 0,
  failed: 0,
  position: 0,
  ageSeconds: () => Number.NaN,
  seconds: 0,
  bytes: 0,
  beginSeconds: 0,
}

/** The output of a log that is not written to standard output. */
export const allWritten: LogOutput = { linesDropped: 0, warnings: [] }

/** The statistics of a process that has scrubbed nothing. */
export const noScrub: Readonly<ScrubStats> = {
  bytes: 0,
  byParity: 0,
  byMemory: 0,
  ageSeconds: () => Number.NaN,
  found: 0,
}

const noColdReads: ColdReadStats = {
  length: 0,
  bytes: 0,
  refused: 0,
  limits: { parkedMax: 0, bytesMax: 0 },
  blocksRead: 0,
}

/** The vitals of a node that has not replayed its log yet. */
export function newVitals(early: EarlyVitals): Vitals {
  return {
    ...early,
    journal: null,
    start: { step: 'checkpoint', done: 0, of: 0 },
    gateLength: () => 0,
    slicedWork: { length: 0, refused: 0 },
    waiting: { length: 0, max: 0, ended: {} },
    coldReads: noColdReads,
    textDisk: { reads: [0], readBoundsSeconds: [], readSeconds: 0, rebuilt: 0, lost: 0 },
    warnings: () => [],
    clockStepsBack: 0,
    clockStepsAhead: 0,
    clockBehindMs: () => 0,
    clockWarnings: () => [],
    checkpoints: noCheckpoints,
    readers: null,
    scrub: noScrub,
    replication: null,
  }
}
