// A reader's report about itself to the main process: whether it serves, and all counters that
// /metrics adds up.

import type { HistogramReport } from '../../base/histogram.ts'
import type { Seen } from '../../forum/identities/last-seen.ts'

/** The counters of a route (edge/http/meter.ts). */
export interface RouteReport {
  answers: number[]
  times: HistogramReport
}

export interface ReaderReport {
  /** The reader's number, from 1. */
  reader: number
  /** Whether it serves callers: it has caught up, and listens. */
  isServing: boolean
  /** The position of the last record applied. */
  position: number
  /** The ages of durable positions on arrival. */
  staleness: HistogramReport
  /** Requests that were forwarded to the main process. */
  forwarded: number
  /** Blocks of text that were read from disk. */
  textReads: number
  cpuSeconds: number
  residentBytes: number
  /**
   * Bytes used in the JS heap, bytes outside it, and the part of the latter that is rendered text.
   */
  heapBytes: number
  externalBytes: number
  textBytes: number
  connections: number
  bodyBytes: number
  answerBytes: number
  refused: Record<string, number>
  waiting: number
  waitingEnded: Record<string, number>
  /** Callers who were not let in, by reason. */
  notLetIn: Record<string, number>
  /** The identities that it has seen since the previous report. */
  seen: Seen
  /** Indexed by the routes' places in the edge's meter, which are the same in all processes. */
  routes: RouteReport[]
}

/** Upper bounds of the histogram buckets for staleness. */
export const stalenessBoundsSeconds = [
  0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
]
