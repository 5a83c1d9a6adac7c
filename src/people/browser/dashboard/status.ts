// The shape of /status.json, as a node writes it and the dashboard reads it. docs/operating.md,
// "The dashboard", describes it for programs, and docs/metrics.md lists the numbers in it.
//
// S1. A program that knows format 1 may rely on every field except `page`; fields may be added.
// S2. It contains no id, name or text of a caller: the program itself names columns and reasons.
// S3. null is an unknown number: nothing was measured, or nothing has happened yet. A section is
//     null if the node lacks its subject, such as readers.

import type { UnitName } from './units.ts'

export interface Status {
  format: 1
  node: {
    version: string
    node_version: string
    /** The name of the HTTP server. */
    http: string
    durability: string
    /**
     * Milliseconds since 1970. Another value means another process, whose samples begin at 1 again.
     */
    started_at: number
    uptime_seconds: number
  }
  ready: Ready
  /** Routes that have answered, those with most answers first. */
  routes: RouteAnswers[]
  /** The values of the newest sample by column; columns without a value are left out. */
  latest: Record<string, number>
  series: Series
  /** The content of the dashboard; it may change with every version. */
  page: Page
  /** A section of instruments (operators/ops/instrument.ts). A value with a limit is {now, max}. */
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
  /** The number of answers since the start, and of those with a status of 4xx and 5xx. */
  answers: number
  refused: number
  failed: number
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
  /** A sentence below the facts. */
  note?: string
}

export interface Fact {
  name: string
  value: string
  /** Whether the value needs attention. */
  isBad?: boolean
}

export interface Chart {
  /** The subject of the chart, which also labels it. */
  title: string
  unit: UnitName
  lines: Line[]
}

export interface Line {
  label: string
  /** A column of the samples, or a constant: a limit, which is drawn dashed. */
  column: string | number
}

/** The maximum number of samples that are kept: one a second for ten minutes. */
export const samplesMax = 600

/** Returns the value that a column implies where it is left out: null for times, otherwise 0. */
export function emptyOf(column: string): number | null {
  return /^(?:\w+_)?(?:p\d+|max)(?::|$)/.test(column) ? null : 0
}
