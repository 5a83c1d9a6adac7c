// The shape of /status.json, as a node writes it and the dashboard reads it. docs/operating.md,
// "The dashboard", describes it for programs, and docs/metrics.md lists the numbers in it.
//
// S1. A program that knows format 1 may rely on every field; fields may be added.
// S2. It contains no id, name or text of a caller: the program itself names columns and reasons. An
//     identity is its number, in the order of registration.
// S3. null is an unknown number: nothing was measured, or nothing has happened yet. A section is
//     null if the node lacks its subject, such as readers.

import type { UnitName } from './units.ts'

export interface Status extends Sections {
  format: 1
  node: {
    version: string
    /** The commit that the program was built from, if it is known. */
    commit: string | null
    node_version: string
    http: string
    durability: string
    /** How many days after its newest message a thread is forgotten; 0: never. */
    retention_days: number
    /**
     * Milliseconds since 1970. Another value means another process, whose samples begin at 1 again.
     */
    started_at: number
    uptime_seconds: number
    /** Where callers reach the forum, if that is known. */
    url: string | null
  }
  ready: Ready
  /** Routes that have answered, those with most answers first. */
  routes: RouteAnswers[]
  /** The values of the newest sample by column; columns without a value are left out. */
  latest: Record<string, number>
  series: Series
  /** The identities whose writes the rate limits have refused most often, most refused first. */
  refused_callers: { identity: number; refused: number }[]
  /** The newest lines of the node's log of level warning and above, newest first. */
  log_lines: LogLine[]
}

/** The sections that instruments fill (operators/ops/instrument.ts). */
export interface Sections {
  log: (Numbers<'position' | 'durable_position' | 'segment' | 'bytes'> & Named<'health'>) | null
  load: Limited<'waiting' | 'gate' | 'cold_reads' | 'queue_bytes' | 'connections'>
  memory: Limited<'resident_bytes' | 'text_bytes' | 'heap_bytes'> & Numbers<'text_total_bytes'>
  disk: Numbers<'free_bytes' | 'full_in_seconds'>
  content: Numbers<'messages' | 'threads' | 'identities'>
  refusals: Record<string, number>
  checkpoints: Numbers<
    | 'position'
    | 'age_seconds'
    | 'duration_seconds'
    | 'bytes'
    | 'records_behind'
    | 'taken'
    | 'failed'
  >
  search:
    | (Numbers<'messages' | 'missing' | 'bytes' | 'resident_bytes' | 'restarts'> & Named<'engine'>)
    | null
  readers: Numbers<
    | 'configured'
    | 'serving'
    | 'behind_records'
    | 'forwarded'
    | 'resident_bytes'
    | 'cpu_seconds'
    | 'restarts'
  > | null
  replication:
    | (Numbers<'term' | 'lag_positions' | 'lag_seconds' | 'forwarded' | 'takeovers' | 'fenced'> &
        Named<'role' | 'node' | 'leader'>)
    | null
}

type Numbers<Name extends string> = Record<Name, number | null>
type Named<Name extends string> = Record<Name, string>
/** Values with the limit of each, or null if there is none. */
type Limited<Name extends string> = Record<Name, { now: number | null; max: number | null }>

export interface LogLine {
  /** Milliseconds since 1970. */
  at: number
  level: 'warn' | 'error' | 'fatal'
  /** The name of the event. The log itself has the details. */
  event: string
}

export interface Ready {
  state: 'starting' | 'serving' | 'degraded' | 'draining'
  text: string
  /** Faults that do not keep the node from answering, one sentence each. */
  warnings: string[]
}

export interface RouteAnswers {
  route: string
  /** The number of answers since the start, and of those with a status of 4xx and 5xx. */
  answers: number
  refused: number
  failed: number
  /** The time to answer of 99 of 100 requests since the start; null if none was timed yet. */
  p99_seconds: number | null
}

/**
 * Samples, one a second, of the last ten minutes or after the sample that the request names
 * (`?after=N`). docs/metrics.md lists their columns.
 */
export interface Series {
  /** The numbers of the first and the last sample; `last` is `first - 1` if there are none. */
  first: number
  last: number
  /** When each sample was taken, in seconds after the start of the process. */
  at: number[]
  /**
   * The values by column, as long as `at`. A column that is `emptyOf(name)` throughout is left out.
   */
  columns: Record<string, (number | null)[]>
}

export interface Chart {
  /** The caption of the chart, and the beginning of its label for screen readers. */
  title: string
  unit: UnitName
  lines: readonly Line[]
  /** The text that is shown while there are no values to draw. */
  noData: string
}

export interface Line {
  label: string
  column: string
  /** The limit of the value, if it has one. */
  max?: number | null
}

/** The maximum number of samples that are kept: one a second for ten minutes. */
export const samplesMax = 600

/** Returns the value that a column implies where it is left out: null for times, otherwise 0. */
export function emptyOf(column: string): number | null {
  return /^(?:\w+_)?(?:p\d+|max)(?::|$)/.test(column) ? null : 0
}
