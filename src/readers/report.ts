// What a reader tells the main process about itself: whether it serves, and all that /metrics adds
// up.

import type { HistogramReport } from '../base/histogram.ts'

/** The counters of a route (http/meter.ts). */
export interface RouteReport {
  answers: number[]
  times: HistogramReport
}

export interface ReaderReport {
  /** Its number. */
  reader: number
  /** Whether it answers callers: it has caught up, and listens. */
  isServing: boolean
  /** The position of the last record applied. */
  position: number
  /** How old durable positions were when they came. */
  staleness: HistogramReport
  /** Requests that were passed on to the main process. */
  forwarded: number
  /** Blocks of text that were read from disk. */
  textReads: number
  cpuSeconds: number
  residentBytes: number
  /** Used bytes of the JS heap, bytes outside it, and those of them that are rendered text. */
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
  /** By the places of the routes in the edge's meter, which are the same in all processes. */
  routes: RouteReport[]
}

/** Upper bounds of the buckets of staleness. */
export const stalenessBoundsSeconds = [
  0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
]
