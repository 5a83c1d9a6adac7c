// --find-limit: publishes replies at one rate after the other, a step each, to find the highest
// rate at which a percentile of the latencies stays below a limit.
//
// F1. Every reply that was due in a step counts. One that has not been sent when the limit has
//     passed since the end of the step has exceeded it, so a stall hides nothing that it held up.
// F2. A step is not kept if an answer was lost, or if the swarm itself was late: if its event loop
//     was nearly always busy, or if its timers alone were late by half of the limit.
// F3. Threads are opened before a step. Within it, the subscriptions of their authors would arrive
//     in bursts, which are not part of the rate and would delay the replies.
//
// limit-search.ts has the target, and chooses the rate of the next step.

import { performance } from 'node:perf_hooks'
import { searchLimit, type Target } from './limit-search.ts'
import { Pace, rateMax } from './pace.ts'
import { grouped } from './progress.ts'
import { openThreads, runStep, type Stage } from './steps.ts'

/** The share of the time for which the event loop of a swarm may be busy (F2). */
const busyMax = 0.95

export type LimitStep = {
  /** In replies per second. */
  rate: number
  /** The number of replies that were due, and of those that were sent. */
  due: number
  sent: number
  /** The percentile of all that were due, in milliseconds; null: too few of them were sent. */
  percentileMs: number | null
  /** The lateness of the swarm's timers at this percentile, and its load: 1 is always busy. */
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

/** The replies per second of the first step. */
const firstRateDefault = 100

export type LimitOptions = {
  target: Target
  /** The replies per second of the first step; null: the default. */
  rate: number | null
  /** The duration of a step. */
  seconds: number
}

/** Searches for the limit. `found` has the steps so far while it does. */
export class LimitFinder {
  readonly found: FoundLimit
  readonly #options: LimitOptions

  constructor(options: LimitOptions) {
    this.found = { target: options.target, rate: null, isComplete: false, steps: [] }
    this.#options = options
  }

  async run(stage: Stage): Promise<void> {
    const search = searchLimit(this.#options.rate ?? firstRateDefault, rateMax)
    let next = search.next()
    while (!next.done) {
      const step = await this.#step(next.value, stage)
      this.found.steps.push(step)
      next = search.next(step.outcome === 'kept')
    }
    this.found.rate = next.value
    this.found.isComplete = true
    stage.progress.say(limitInWords(this.found))
  }

  /** Publishes at a rate. The client's timings are those of this step afterwards. */
  async #step(rate: number, stage: Stage): Promise<LimitStep> {
    const { target, seconds } = this.#options
    const { client } = stage.publishing
    const due = Math.round(rate * seconds)
    const pace = new Pace(rate, { count: due })
    await openThreads(stage, due)
    client.timings.clear()
    const loopBefore = performance.eventLoopUtilization()
    const name = `${grouped(rate)}/s`
    const graceMs = target.limitMs
    const { phase, errors } = await runStep(stage, { name, pace, due, seconds, graceMs })
    const { latency, late } = pace
    const percentile = (target.percentile * due) / latency.count
    const step: LimitStep = {
      rate,
      due,
      sent: latency.count,
      percentileMs: percentile <= 100 ? latency.percentile(percentile) / 1000 : null,
      lateMs: late.percentile(target.percentile) / 1000,
      busy: performance.eventLoopUtilization(loopBefore).utilization,
      errors,
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
  const latency = percentileMs === null ? 'unknown (too few sent)' : `${percentileMs.toFixed(2)} ms`
  return `p${percentile} ${latency}, ${outcomes[outcome]}`
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
    : `limit: ${grouped(rate)} replies a second, ${target.text}${because}`
}

export function limitTable({ target, steps }: FoundLimit): string[][] {
  return [
    ['replies/s', `p${target.percentile} ms`, 'late ms', 'busy %', ''],
    ...steps.map(({ rate, percentileMs, lateMs, busy, outcome }) => [
      grouped(rate),
      percentileMs?.toFixed(2) ?? '-',
      lateMs.toFixed(2),
      (busy * 100).toFixed(0),
      outcomes[outcome],
    ]),
  ]
}
