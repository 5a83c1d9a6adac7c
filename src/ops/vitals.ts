// The parts of a node that operators can see: node/server.ts fills them in as the node starts, and
// ops/ shows them.

import type { Journal } from '../../wal/journal/journal.ts'
import { Histogram } from '../base/histogram.ts'
import type { Availability } from '../http/edge-options.ts'
import type { Load } from '../http/load.ts'
import type { Meter, RouteMeter } from '../http/meter.ts'
import type { State } from '../state/state.ts'

/** Statistics of checkpoints by this process; `position` may be of the one it started from. */
export interface CheckpointStats {
  taken: number
  failed: number
  /** Of the newest: its position in the log, its age, its duration in seconds, bytes written. */
  position: number
  ageSeconds(): number
  seconds: number
  bytes: number
  /** Time for which the newest one blocked the event loop when it began; the rest is in slices. */
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
interface ColdReadStats {
  /** Requests that are parked now, and the bytes of blocks that they hold. */
  readonly length: number
  readonly bytes: number
  /** Requests that were rejected because of a limit. */
  readonly refused: number
  readonly limits: { readonly parkedMax: number; readonly bytesMax: number }
  readonly blocksRead: number
}

/** Statistics of reads of text from disk by this process. */
interface TextDiskStats {
  /** Durations of reads. */
  readonly reads: Histogram
  /** Damaged blocks: those rebuilt from parity, and those that could not be. */
  readonly rebuilt: number
  readonly lost: number
}

/** Replication, if the log is replicated. */
export interface ReplicationStats {
  readonly role: 'leader' | 'follower'
  /** The term of the newest record here. */
  term(): number
  /** The lag of this follower behind the stream, or of the stream behind this leader. */
  lagPositions(): number
  lagSeconds(): number
  /** Takeovers by this process, and by other nodes from it. */
  takeovers(): number
  fenced(): number
  /** Requests that were passed on to the leader. */
  forwarded(): number
}

/** Statistics of the readers (readers/readers.ts). */
export interface ReadersStats {
  /** Readers that are configured, and that serve. */
  readonly counts: { readonly configured: number; readonly serving: number }
  /** Those that run. */
  readonly running: readonly RunningReader[]
  /** Processor time of all that have run. */
  readonly cpuSeconds: number
  readonly restarts: number
  /** Requests that were passed on to this process. */
  readonly forwarded: number
  /** Blocks of text that they have read from disk. */
  readonly textReads: number
  /** Ages of durable positions when they reached a reader. */
  readonly staleness: Histogram
  /** Time that answers to writes waited for readers that were slow to take records. */
  readonly heldSeconds: number
  /** Warnings for the operator, one sentence each. */
  readonly warnings: readonly string[]
}

export interface RunningReader {
  /** Its number. */
  reader: number
  position: number
  residentBytes: number
  /** Used bytes of the JS heap, bytes outside it, and those of them that are rendered text. */
  heapBytes: number
  externalBytes: number
  textBytes: number
  /** Of bodies being received, and of answers waiting. */
  bodyBytes: number
  answerBytes: number
}

/** The statistics before the log is replayed. */
interface EarlyVitals {
  version: string
  /** The name of the HTTP server. */
  http: string
  durability: string
  availability: Availability
  meter: Meter
  load: Load
  memoryBytesMax: number
  /** The limit on text in memory. */
  textBytesMax: number
  state: State
  logOutput: LogOutput
}

/**
 * The step of a start: it reads a checkpoint, fills the indexes, and replays the log; with a
 * replicated log it also waits for the stream, and reads it.
 */
export interface StartProgress {
  step: 'checkpoint' | 'indexes' | 'log' | 'stream'
  /** Bytes of the checkpoint or of the log, or a number of indexes. */
  done: number
  of: number
  /** Of the step `stream`: the reason of its waiting, a sentence; or ''. */
  why?: string
}

export interface Vitals extends EarlyVitals {
  /** Null until the log is replayed. */
  journal: Journal | null
  start: StartProgress
  /** The number of answers that wait for the log. */
  gateLength(): number
  /** Reads that take several event-loop iterations: current number, and rejections. */
  slicedWork: { readonly length: number; readonly refused: number }
  pageMaking: { readonly length: number; readonly refused: number }
  /** Polls that wait for news: current number, limit, and totals by outcome. */
  waiting: {
    readonly length: number
    readonly max: number
    readonly ended: Readonly<Record<string, number>>
  }
  /** How many callers were not let in, by reason (forum/guesses.ts). */
  guesses: { readonly notLetIn: Readonly<Record<string, number>> }
  coldReads: ColdReadStats
  textDisk: TextDiskStats
  /** Warnings about problems despite which requests are answered. */
  warnings(): string[]
  /** Steps of the system clock by a minute or more. */
  clockStepsBack: number
  clockStepsAhead: number
  /** The lag of the system clock behind forum time (forum/clock.ts). */
  clockBehindMs(): number
  clockWarnings(): string[]
  checkpoints: CheckpointStats
  /** The processes that answer reads beside this one; null: there are none. */
  readers: ReadersStats | null
  scrub: ScrubStats
  /** Null: it is off. */
  search: SearchStats | null
  /** Null: the node is not replicated. */
  replication: ReplicationStats | null
}

/** All answers of a route since the start. */
export function answersOf({ answers }: RouteMeter): number {
  return answers.reduce((sum, count) => sum + count, 0)
}

/** Requests refused and connections closed since the start, by the exceeded limit. */
export function refusalsOf(vitals: Vitals): Record<string, number> {
  const { load, slicedWork, coldReads, pageMaking, search } = vitals
  return {
    ...load.refused,
    sliced_reads: slicedWork.refused,
    cold_reads: coldReads.refused,
    pages: pageMaking.refused,
    searches: search?.link.refused ?? 0,
  }
}

/** Bytes of bodies being received and of answers waiting, in all processes. */
export function queueBytesOf({ load, readers }: Vitals): { bodies: number; answers: number } {
  const processes = [load, ...(readers?.running ?? [])]
  return {
    bodies: processes.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0),
    answers: processes.reduce((sum, { answerBytes }) => sum + answerBytes, 0),
  }
}

/** Records that the slowest reader had not applied when it reported last; NaN: none has. */
export function readersBehind({ readers, journal }: Vitals): number {
  if (readers === null || readers.running.length === 0) return Number.NaN
  const slowest = Math.min(...readers.running.map(({ position }) => position))
  return Math.max(0, (journal?.position ?? 0) - slowest)
}

/** Records that a start would replay. */
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
    pageMaking: { length: 0, refused: 0 },
    waiting: { length: 0, max: 0, ended: {} },
    guesses: { notLetIn: {} },
    coldReads: noColdReads,
    textDisk: { reads: new Histogram([]), rebuilt: 0, lost: 0 },
    warnings: () => [],
    clockStepsBack: 0,
    clockStepsAhead: 0,
    clockBehindMs: () => 0,
    clockWarnings: () => [],
    checkpoints: noCheckpoints,
    readers: null,
    scrub: noScrub,
    search: null,
    replication: null,
  }
}

/** Counts and measurements of the search. */
export interface SearchStats {
  /** The engine that serves; null: none has started yet, '': none loads. */
  readonly engine: string | null
  readonly isAvailable: boolean
  /** Restarts of the process of the index. */
  readonly restarts: number
  readonly progress: {
    /** All messages before this number are indexed; and the number of indexed messages. */
    readonly covered: number
    readonly indexed: number
    readonly shards: number
    readonly bytes: number
    readonly residentBytes: number
    readonly cpuSeconds: number
    /** Why it does not go on; '': it does. */
    readonly trouble: string
  }
  readonly link: {
    /** Searches that wait or are being done, and those that were refused. */
    readonly length: number
    readonly refused: number
    readonly times: Histogram
  }
}
