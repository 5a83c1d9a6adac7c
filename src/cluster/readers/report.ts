// What a reader reports about itself to the main process, which adds its counters to those of its
// own, so that operators see the node as one. A reader reports twice a second, and the increase
// since its previous report is added. If a reader is killed, its counts since the last report are
// lost.

import { Histogram, type HistogramReport } from '../../base/histogram.ts'
import type { Load } from '../../edge/http/load.ts'
import type { Meter } from '../../edge/http/meter.ts'
import type { Seen } from '../../forum/identities/last-seen.ts'
import type { RunningReader } from '../../operators/ops/vitals.ts'

interface CountedHere {
  meter: Meter
  load: Load
  /** The polls that have stopped waiting, by reason (forum/feed/waiting.ts). */
  waitingEnded: Record<string, number>
  /** Callers who were not let in, by reason (forum/identities/guesses.ts). */
  notLetIn: Record<string, number>
}

export class ReaderCounts {
  cpuSeconds = 0
  forwarded = 0
  textReads = 0
  readonly staleness = new Histogram(stalenessBoundsSeconds)
  readonly #here: CountedHere

  constructor(here: CountedHere) {
    this.#here = here
  }

  /** Adds the increase between two reports of one reader; `before` null: since its start. */
  add(before: ReaderReport | null, now: ReaderReport): void {
    const { meter, load, waitingEnded, notLetIn } = this.#here
    this.cpuSeconds += now.cpuSeconds - (before?.cpuSeconds ?? 0)
    this.forwarded += now.forwarded - (before?.forwarded ?? 0)
    this.textReads += now.textReads - (before?.textReads ?? 0)
    this.staleness.grow(before?.staleness, now.staleness)
    addNamed(load.refused, before?.refused, now.refused)
    addNamed(waitingEnded, before?.waitingEnded, now.waitingEnded)
    addNamed(notLetIn, before?.notLetIn, now.notLetIn)
    for (const [i, route] of now.routes.entries()) {
      const [total, earlier] = [meter.routes[i], before?.routes[i]]
      for (const [status, count] of route.answers.entries()) {
        total.answers[status] += count - (earlier?.answers[status] ?? 0)
      }
      total.times.grow(earlier?.times, route.times)
    }
  }
}

function addNamed<Name extends string>(
  total: Record<Name, number>,
  before: Record<string, number> | undefined,
  now: Record<string, number>,
): void {
  for (const name of Object.keys(total) as Name[]) {
    total[name] += (now[name] ?? 0) - (before?.[name] ?? 0)
  }
}

/** The counters of a route (edge/http/meter.ts). */
interface RouteReport {
  answers: number[]
  times: HistogramReport
}

export interface ReaderReport extends RunningReader {
  /** Whether it serves callers: it has caught up, and listens. */
  isServing: boolean
  /** The ages of durable positions on arrival. */
  staleness: HistogramReport
  /** Requests that were forwarded to the main process. */
  forwarded: number
  /** Blocks of text that were read from disk. */
  textReads: number
  cpuSeconds: number
  connections: number
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
