// The shape of /status.json, as a node writes it and the dashboard reads it. docs/operating.md,
// "The dashboard", describes it for programs, and docs/metrics.md lists the numbers in it.
//
// S1. A program that knows format 1 may rely on every field but `page`; fields may be added.
// S2. No id, name or text of a caller is in it: columns and reasons have names of the program.
// S3. null is a number that is unknown: nothing was measured, or nothing has happened yet. A
//     section is null where the node lacks its subject, such as readers.

import type { UnitName } from './units.ts'

export interface Status {
  format: 1
  node: {
    version: string
    node_version: string
    /** The HTTP server. */
    http: string
    durability: string
    /** Milliseconds since 1970. Another one: another process, whose samples begin at 1 again. */
    started_at: number
    uptime_seconds: number
  }
  ready: Ready
  /** Routes that have answered, those with most answers first. */
  routes: RouteAnswers[]
  /** The newest sample: its values by column; columns without a value are left out. */
  latest: Record<string, number>
  series: Series
  /** The content of the dashboard; it may change with every version. */
  page: Page
  /** A section of instruments (ops/instrument.ts); one with a limit is {now, max}. */
  [section: string]: unknown
}

export interface Ready {
  state: 'starting' | 'serving' | 'degraded' | 'draining'
  /** The line of /readyz. */
  text: string
  /** Faults that do not keep the node from answering, one sentence each. */
  warnings: string[]
}

export interface RouteAnswers {
  route: string
  /** Answers since the start, and those with a status of 4xx and 5xx. */
  answers: number
  refused: number
  failed: number
}

/**
 * Samples, one a second, of the last ten minutes or after the one that the request names
 * (`?after=N`). docs/metrics.md lists their columns.
 */
export interface Series {
  /** The numbers of the first and the last sample; `last` is `first - 1` where there are none. */
  first: number
  last: number
  /** When each was taken, in seconds after the start of the process. */
  at: number[]
  /** By column, as long as `at`. A column without any value but `emptyOf` it is left out. */
  columns: Record<string, (number | null)[]>
}

/** The content of the dashboard, in words. */
export interface Page {
  /** The name of the node's state. */
  state: string
  uptime: string
  /** The numbers at the top. */
  headline: Fact[]
  panels: Panel[]
}

export interface Panel {
  id: string
  title: string
  /** The present values. */
  facts: Fact[]
  chart: Chart
  /** A sentence below them. */
  note?: string
}

export interface Fact {
  name: string
  value: string
  /** Whether people should look at it. */
  isBad?: boolean
}

export interface Chart {
  /** Its subject; a name for it. */
  title: string
  unit: UnitName
  lines: Line[]
}

export interface Line {
  label: string
  /** The column of the samples, or a value that stays: a limit, which is drawn dashed. */
  column: string | number
}

/** The most samples that are kept: ten minutes of one a second. */
export const samplesMax = 600

/** The value of a column that is left out: no time is known, and nothing else happened. */
export function emptyOf(column: string): number | null {
  return /^(?:\w+_)?(?:p\d+|max)(?::|$)/.test(column) ? null : 0
}
