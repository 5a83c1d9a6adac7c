// The parts of a node that operators can see, and that ops/ shows. node/server.ts adds to them
// while the node starts; serve.ts adds the disk, which only its port shows.

import type { Journal } from '../../../wal/journal/journal.ts'
import { Histogram } from '../../base/histogram.ts'
import { TopCounts } from '../../base/top-counts.ts'
import type { Availability } from '../../edge/http/edge-options.ts'
import type { Load } from '../../edge/http/load.ts'
import type { Meter, RouteMeter } from '../../edge/http/meter.ts'
import type { SearchHost } from '../../forum/search/host.ts'
import type { SearchLink } from '../../forum/search/link.ts'
import type { State } from '../../forum/state.ts'
import type { ColdReads } from '../../kernel/text/cold-reads.ts'
import type { NodeTextDisk } from '../../kernel/text/disk.ts'
import type { LogLine } from '../../people/browser/dashboard/status.ts'
import type { DiskSpace } from './disk-space.ts'

/** Statistics of this process's checkpoints; `position` may be that of the one it started from. */
export class CheckpointStats {
  taken = 0
  failed = 0
  /** The newest one: its position in the log, age, duration in seconds, and bytes written. */
  position = 0
  ageSeconds = (): number => Number.NaN
  seconds = 0
  bytes = 0
  /**
   * The seconds for which the newest one blocked the event loop when it began; the rest is sliced.
   */
  beginSeconds = 0
}

/** The output of the node's log (log.ts). */
export interface LogOutput {
  /** The number of lines that standard output has not accepted since the start. */
  readonly linesDropped: number
  /** Warnings for the operator, one sentence each. */
  readonly warnings: string[]
  /** The newest lines of level warning and above, newest first. */
  readonly newest: readonly LogLine[]
}

/** Statistics of this process's scrubs of page files. */
export class ScrubStats {
  /** Bytes of page files that were read. */
  bytes = 0
  /**
   * The number of damaged pages that were rewritten: from parity, or from memory by a checkpoint.
   */
  byParity = 0
  byMemory = 0
  /** Returns the seconds since a pass over all page files ended, or NaN if none has. */
  ageSeconds = (): number => Number.NaN
  /** The number of damaged pages that the last complete pass found. */
  found = 0
}

/** Requests that wait for text that is on disk (kernel/text/cold-reads.ts). */
type ColdReadStats = Pick<ColdReads, 'length' | 'bytes' | 'refused' | 'limits' | 'blocksRead'>

const noColdReads: ColdReadStats = {
  ...{ length: 0, bytes: 0, refused: 0, blocksRead: 0 },
  limits: { parkedMax: 0, bytesMax: 0 },
}

/** Statistics of this process's reads of text from disk (kernel/text/disk.ts). */
export type TextDiskStats = Pick<NodeTextDisk, 'reads' | 'rebuilt' | 'lost'>

const noTextDisk: TextDiskStats = { reads: new Histogram([]), rebuilt: 0, lost: 0 }

/** Statistics of the search (forum/search/host.ts). */
export type SearchStats = Pick<
  SearchHost,
  'engine' | 'isAvailable' | 'absence' | 'restarts' | 'progress'
> & { link: Pick<SearchLink, 'length' | 'refused' | 'times'> }

export interface ClockStats {
  /** The number of steps by a minute or more, in each direction. */
  readonly stepsBack: number
  readonly stepsAhead: number
  /** Returns the lag behind forum time (kernel/clock.ts). */
  behindMs(): number
  warnings(): string[]
}

const steadyClock: ClockStats = {
  ...{ stepsBack: 0, stepsAhead: 0 },
  behindMs: () => 0,
  warnings: () => [],
}

export interface ReplicationStats {
  readonly node: string
  readonly role: 'leader' | 'follower'
  /** Returns the term of the newest record on this node. */
  term(): number
  /** Returns the lag of this follower behind the stream, or of the stream behind this leader. */
  lagPositions(): number
  lagSeconds(): number
  /** Whether the state may be outdated: the lease of this leader lapsed, or this follower lags. */
  isStale(): boolean
  /** Returns how often this process took over from another node; `fenced`: another node from it. */
  takeovers(): number
  fenced(): number
  /** Returns the number of requests that were passed on to the leader. */
  forwarded(): number
}

/** Statistics of the readers (cluster/readers/readers.ts). */
export interface ReadersStats {
  readonly counts: { readonly configured: number; readonly serving: number }
  readonly running: readonly RunningReader[]
  /** The processor time of all readers that have run. */
  readonly cpuSeconds: number
  readonly restarts: number
  /** The number of requests that readers have passed on to this process. */
  readonly forwarded: number
  /** The number of polls that wait for news, in all processes. */
  readonly waiting: number
  readonly textReads: number
  /** The ages of durable positions when they reached a reader. */
  readonly staleness: Histogram
  /** The time for which answers to writes waited for readers that were slow to take records. */
  readonly heldSeconds: number
  readonly warnings: readonly string[]
}

/** What a reader has reported about itself. */
export interface RunningReader {
  /** Its number, from 1. */
  reader: number
  /** The position of the last record applied. */
  position: number
  residentBytes: number
  /**
   * Used bytes of the JS heap, bytes outside it, and those of the latter that are rendered text.
   */
  heapBytes: number
  externalBytes: number
  textBytes: number
  /** Bytes of bodies that are being received, and of answers that wait. */
  bodyBytes: number
  answerBytes: number
}

/** The vitals that exist before the log is replayed. */
interface EarlyVitals {
  version: string
  http: string
  durability: string
  retentionDays: number
  availability: Availability
  meter: Meter
  load: Load
  memoryBytesMax: number
  textBytesMax: number
  /** The state; while the node starts, what has been read of it. */
  state: State
  checkpoints: CheckpointStats
  scrub: ScrubStats
  logOutput: LogOutput
}

/**
 * The progress of a start. Its steps read a checkpoint, fill the indexes, and replay the log. With
 * a replicated log, a step also waits for the stream, and reads it.
 */
export interface StartProgress {
  step: 'checkpoint' | 'indexes' | 'log' | 'stream'
  /** Bytes of the checkpoint or of the log, or numbers of indexes: those done, and all. */
  done: number
  of: number
  /** In the step `stream`, a sentence that says why it waits, or ''. */
  why?: string
}

const notStarted: StartProgress = { step: 'checkpoint', done: 0, of: 0 }

/** Returns the vitals that are known once the log is replayed, as they are before that. */
function laterVitals() {
  return {
    journal: null as Journal | null,
    start: notStarted,
    /** The answers that wait for the log. */
    gate: { length: 0 },
    /** Reads that take several event-loop iterations: current number, and total of rejections. */
    slicedWork: { length: 0, refused: 0 } as Readonly<Record<'length' | 'refused', number>>,
    pageMaking: { length: 0, refused: 0 } as Readonly<Record<'length' | 'refused', number>>,
    /** Polls of this process that wait for news: current number, limit, and totals by outcome. */
    waiting: { length: 0, max: 0, ended: {} as Readonly<Record<string, number>> },
    /** The number of callers that were not let in, by reason (forum/identities/guesses.ts). */
    guesses: { notLetIn: {} as Readonly<Record<string, number>> },
    /** The numbers of the identities whose writes rate limits refuse (forum/write.ts). */
    refusedCallers: new TopCounts(0) as Pick<TopCounts<number>, 'top'>,
    coldReads: noColdReads,
    textDisk: noTextDisk,
    /** Returns warnings about problems that do not keep the node from answering. */
    warnings: (): string[] => [],
    clock: steadyClock,
    /** The readers beside this process, or null if there are none. */
    readers: null as ReadersStats | null,
    /** The room of the data directory (disk-space.ts). */
    disk: { freeBytes: null, fullInSeconds: null } as Pick<
      DiskSpace,
      'freeBytes' | 'fullInSeconds'
    >,
    /** Where callers reach the forum; null until it serves, and on all addresses. */
    url: null as string | null,
    /** The search, or null if it is off. */
    search: null as SearchStats | null,
    /** The replication, or null if the log is not replicated. */
    replication: null as ReplicationStats | null,
  }
}

export type Vitals = EarlyVitals & ReturnType<typeof laterVitals>

/** Returns the vitals of a node that has not replayed its log yet. */
export function newVitals(early: EarlyVitals): Vitals {
  return { ...early, ...laterVitals() }
}

/** Returns the number of answers of a route since the start. */
export function answersOf({ answers }: RouteMeter): number {
  return answers.reduce((sum, count) => sum + count, 0)
}

/** Returns the requests refused and connections closed since the start, by the exceeded limit. */
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

/** Returns the bytes of bodies being received and of answers waiting, in all processes. */
export function queueBytesOf({ load, readers }: Vitals): { bodies: number; answers: number } {
  const processes = [load, ...(readers?.running ?? [])]
  return {
    bodies: processes.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0),
    answers: processes.reduce((sum, { answerBytes }) => sum + answerBytes, 0),
  }
}

/** Returns how many records the slowest reader lacked at its last report; NaN if no reader runs. */
export function readersBehind({ readers, journal }: Vitals): number {
  if (readers === null || readers.running.length === 0) return Number.NaN
  const slowest = Math.min(...readers.running.map(({ position }) => position))
  return Math.max(0, (journal?.position ?? 0) - slowest)
}

/** Returns the number of records that a start would replay. */
export function recordsBehind({ journal, checkpoints: { position } }: Vitals): number {
  return (journal?.position ?? position) - position
}

/** The output of a log that is not written to standard output. */
export const allWritten: LogOutput = { linesDropped: 0, warnings: [], newest: [] }
