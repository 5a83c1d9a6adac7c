// The operations that are measured, and what happens second by second: requests, lost answers and
// latencies, for the live line, the lines of --json and the plots of --html.
//
// M1. A second counts the requests that were answered in it. A run shorter than a second has one
//     interval.

import { performance } from 'node:perf_hooks'
import { Latencies, type Spread } from './latencies.ts'

export const timedOperations = [
  'create identity',
  'create thread',
  'reply',
  'subscribe',
  'poll feed',
  'replay',
  'read thread',
  'read feed',
  'search',
  'claim',
  'release',
  // Not a request: how long a message took to reach an agent that waits for it.
  'wake',
] as const

/** `null`: not part of the summary. */
export type TimedOperation = (typeof timedOperations)[number] | null

export interface Interval extends Spread {
  /** The time from the first request to the end of the interval. */
  second: number
  phase: string
  requests: number
  /** Answers that were lost, or had status 503 or 429, and whose requests were sent again. */
  errors: number
  rate: number
}

export class Meter {
  readonly intervals: Interval[] = []
  /** The current phase of the run, as the intervals name it. */
  phase = ''
  /** The time of performance.now() from which seconds count. */
  begunAt = 0
  /** Called with each interval. */
  readonly watchers: ((interval: Interval) => void)[] = []
  #latency = new Latencies()
  #errors = 0
  #intervalAt = 0
  #timer: NodeJS.Timeout | null = null

  /** Counts an answer that took this many microseconds. */
  answered(microseconds: number): void {
    this.#latency.record(microseconds)
  }

  /** Counts a lost answer, whose request will be sent again. */
  lost(): void {
    this.#errors += 1
  }

  start(): void {
    this.begunAt = performance.now()
    this.#intervalAt = this.begunAt
    this.#timer = setInterval(() => this.#end(), 1000).unref()
  }

  stop(): void {
    if (this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
    if (this.#latency.count > 0 || this.#errors > 0) this.#end()
  }

  #end(): void {
    const now = performance.now()
    const { count } = this.#latency
    const interval: Interval = {
      second: (now - this.begunAt) / 1000,
      phase: this.phase,
      requests: count,
      errors: this.#errors,
      rate: count / ((now - this.#intervalAt) / 1000),
      ...this.#latency.spread(),
    }
    this.#latency = new Latencies()
    this.#errors = 0
    this.#intervalAt = now
    this.intervals.push(interval)
    for (const watch of this.watchers) watch(interval)
  }
}

/** `1,204/s, p50 3.1 p99 9.8 ms, 2 errors`. */
export function intervalInWords({ rate, p50, p99, errors }: Interval): string {
  const failed = errors === 0 ? '' : `, ${errors} errors`
  const latency = `p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms`
  return `${Math.round(rate).toLocaleString('en-US')}/s, ${latency}${failed}`
}
