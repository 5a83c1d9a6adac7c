// --find-limit: publishes at one rate after the other, a step each, to find the highest rate at
// which a percentile of the latencies stays below a limit.
//
// F1. Every message that was due in a step counts. One that has not been sent when the limit has
//     passed since the end of the step has exceeded it, so a stall hides nothing that it held up.
// F2. A step is not kept if an answer was lost, or if the swarm itself was late: if its event loop
//     was nearly always busy, or if its timers alone were late by half of the limit.
// F3. A step continues the threads that the steps before have begun. If it opened others, all lanes
//     would begin it with subscriptions, which delay the first messages as no later ones.

import { createHistogram, performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Corpus } from './corpus.ts'
import { searchLimit, type Target } from './limit-search.ts'
import { Pace, rateMax } from './pace.ts'
import { grouped, groupedCount, type Progress } from './progress.ts'
import { type Publishing, publishThreads } from './publish.ts'

/** The share of the time for which the event loop of a swarm may be busy (F2). */
const busyMax = 0.95

export type LimitStep = {
  /** In messages per second. */
  rate: number
  /** The number of messages that were due, and of those that were sent. */
  due: number
  sent: number
  /** The percentile of all that were due, in milliseconds; null: too few of them were sent. */
  percentileMs: number | null
  /** How late the timers of the swarm were at this percentile, and how busy it was, to 1. */
  lateMs: number
  busy: number
  /** Answers that were lost. */
  errors: number
  outcome: keyof typeof outcomes
}

const outcomes = {
  kept: 'kept',
  exceeded: 'exceeded',
  errors: 'not kept: answers were lost',
  late: 'not kept: the swarm itself was late',
}

/** `rate` is null if no rate was kept, or if the search was interrupted and so is not complete. */
export type FoundLimit = {
  target: Target
  rate: number | null
  isComplete: boolean
  steps: LimitStep[]
}

/** The messages per second of the first step. */
const firstRateDefault = 100

export type LimitOptions = {
  target: Target
  /** The messages per second of the first step; null: the default. */
  rate: number | null
  /** The duration of a step. */
  seconds: number
  connections: number
}

/** Searches for the limit. `found` has the steps so far while it does. */
export class LimitFinder {
  readonly found: FoundLimit
  readonly #options: LimitOptions
  readonly #publishing: Publishing
  readonly #progress: Progress

  constructor(options: LimitOptions, publishing: Publishing, progress: Progress) {
    this.found = { target: options.target, rate: null, isComplete: false, steps: [] }
    this.#options = options
    this.#publishing = publishing
    this.#progress = progress
  }

  async run(corpus: Corpus): Promise<void> {
    const search = searchLimit(this.#options.rate ?? firstRateDefault, rateMax)
    let next = search.next()
    while (!next.done) {
      const step = await this.#step(next.value, corpus)
      this.found.steps.push(step)
      next = search.next(step.outcome === 'kept')
    }
    this.found.rate = next.value
    this.found.isComplete = true
    this.#progress.say(limitInWords(this.found))
  }

  /** Publishes at a rate. The client's timings are those of this step afterwards. */
  async #step(rate: number, corpus: Corpus): Promise<LimitStep> {
    const { target, seconds, connections } = this.#options
    const { client } = this.#publishing
    const due = Math.round(rate * seconds)
    const pace = new Pace(rate, { count: due })
    this.#publishing.pace = pace
    client.timings.clear()
    const errorsBefore = client.errors
    const loopBefore = performance.eventLoopUtilization()
    const endsAt = performance.now() + seconds * 1000
    const phase = this.#progress.phase(`${grouped(rate)}/s`, due, 'messages')
    const timer = setTimeout(() => pace.stop(), seconds * 1000 + target.limitMs)
    await publishThreads(this.#publishing, connections, corpus, phase.tick).finally(() =>
      clearTimeout(timer),
    )
    // Throws if the run was interrupted, because this is not a whole step then.
    const restMs = Math.max(0, endsAt - performance.now())
    await sleep(restMs, undefined, { signal: client.closing })
    const latency = createHistogram()
    for (const operation of ['create thread', 'reply'] as const) {
      const timing = client.timings.get(operation)
      if (timing !== undefined) latency.add(timing.latency)
    }
    const percentile = (target.percentile * due) / latency.count
    const step: LimitStep = {
      rate,
      due,
      sent: latency.count,
      percentileMs: percentile <= 100 ? latency.percentile(percentile) / 1000 : null,
      lateMs: pace.late.percentile(target.percentile) / 1000,
      busy: performance.eventLoopUtilization(loopBefore).utilization,
      errors: client.errors - errorsBefore,
      outcome: 'kept',
    }
    step.outcome = outcomeOf(step, target)
    phase.end(`: ${stepInWords(step, target)}`)
    return step
  }
}

/** Decides whether a step has kept the target (F1, F2). */
export function outcomeOf(
  { errors, busy, lateMs, percentileMs }: Omit<LimitStep, 'outcome'>,
  { limitMs }: Target,
): LimitStep['outcome'] {
  if (errors > 0) return 'errors'
  if (busy > busyMax || lateMs > limitMs / 2) return 'late'
  return percentileMs !== null && percentileMs < limitMs ? 'kept' : 'exceeded'
}

/** `p99 3.21 ms, kept`. */
function stepInWords({ percentileMs, outcome }: LimitStep, { percentile }: Target): string {
  const value = percentileMs === null ? 'unknown (too few sent)' : `${percentileMs.toFixed(2)} ms`
  return `p${percentile} ${value}, ${outcomes[outcome]}`
}

/** Returns the result in a sentence, and whether it is the swarm that limits it. */
export function limitInWords({ target, rate, isComplete, steps }: FoundLimit): string {
  if (!isComplete) return 'limit: not known, the search was interrupted'
  const above = steps
    .filter((step) => step.rate > (rate ?? 0) && step.outcome !== 'kept')
    .sort((a, b) => a.rate - b.rate)[0]
  const isLate = above?.outcome === 'late'
  const because = isLate ? `; at ${grouped(above.rate)} the swarm itself was late` : ''
  return rate === null
    ? `limit: no rate keeps ${target.text}${because}`
    : `limit: ${groupedCount(rate, 'message')} a second, ${target.text}${because}`
}

/** Returns the steps as lines of a table. */
export function limitTable({ target, steps }: FoundLimit): string[][] {
  return [
    ['messages/s', `p${target.percentile} ms`, 'late ms', 'busy %', ''],
    ...steps.map(({ rate, percentileMs, lateMs, busy, outcome }) => [
      grouped(rate),
      percentileMs?.toFixed(2) ?? '-',
      lateMs.toFixed(2),
      (busy * 100).toFixed(0),
      outcomes[outcome],
    ]),
  ]
}
