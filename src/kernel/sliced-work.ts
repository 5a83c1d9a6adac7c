// Reads that take too long for one event-loop iteration are done in slices, one slice in each
// iteration, so that other requests are answered in between.
//
// W1. Callers take turns: each gets a slice before any gets its next one, however many jobs it has.
//     The jobs of a caller take turns in the same way. So a job more delays its own caller only.
// W2. At most `jobsMax` jobs of callers wait or run. Of these a caller has a share
//     (base/shares.ts), and at most `jobsOfOneMax`; a further job is rejected as `overloaded`. The
//     node itself and its operators have as many jobs as one caller, apart from those of callers.
// W3. Stopping ends every job with `shutting_down`.

import { Queue } from '../base/queue.ts'
import { type Holder, Shares } from '../base/shares.ts'

const jobsMax = 512
const jobsOfOneMax = 64

/** The holder of the jobs of the node itself and of its operators. */
export const ownWork = 'the node'

interface Job {
  /** Does one slice; returns whether the job is finished. */
  runSlice(): boolean
  stop(): void
}

/** Why a job was not finished: a `Rejection` (rejection.ts). */
export interface JobRejection {
  rejected: 'overloaded' | 'shutting_down'
}

export class SlicedWork {
  /** Jobs that were rejected because there were too many. */
  refused = 0
  /** The jobs of each holder. The first holder is the next one to get a slice (W1). */
  readonly #jobs = new Map<Holder, Queue<Job>>()
  readonly #ofCallers = new Shares(jobsMax)
  readonly #own = new Shares(2 * jobsOfOneMax) // of which a single holder gets half
  #isStopped = false
  readonly #atNextTick: (run: () => void) => void

  /** `atNextTick` calls a function in the next iteration of the event loop. */
  constructor(atNextTick: (run: () => void) => void = setImmediate) {
    this.#atNextTick = atNextTick
  }

  get length(): number {
    return this.#ofCallers.taken + this.#own.taken
  }

  /**
   * Calls `slice` in the following iterations until it returns an outcome instead of null. Resolves
   * in the iteration of the last slice, before anything else can change the state.
   */
  add<T>(holder: Holder, slice: () => T | null): Promise<T | JobRejection> {
    if (this.#isStopped) return Promise.resolve({ rejected: 'shutting_down' })
    const isFirst = this.#jobs.size === 0
    const jobs = this.#jobs.get(holder) ?? new Queue<Job>()
    const shares = this.#sharesOf(holder)
    if (jobs.length >= jobsOfOneMax || !shares.mayTake(holder)) {
      this.refused += 1
      return Promise.resolve({ rejected: 'overloaded' })
    }
    return new Promise((resolve) => {
      const runSlice = () => {
        const outcome = slice()
        if (outcome !== null) resolve(outcome)
        return outcome !== null
      }
      jobs.push({ runSlice, stop: () => resolve({ rejected: 'shutting_down' }) })
      this.#jobs.set(holder, jobs)
      shares.take(holder)
      if (isFirst) this.#atNextTick(() => this.#tick())
    })
  }

  /** Ends every job; later ones are rejected. */
  stop(): void {
    this.#isStopped = true
    for (const [holder, jobs] of this.#jobs) {
      this.#sharesOf(holder).giveBack(holder, jobs.length)
      while (jobs.length > 0) jobs.shift().stop()
    }
    this.#jobs.clear()
  }

  #sharesOf(holder: Holder): Shares {
    return holder === ownWork ? this.#own : this.#ofCallers
  }

  #tick(): void {
    const [next] = this.#jobs
    if (next === undefined) return // stopped meanwhile
    const [holder, jobs] = next
    const job = jobs.shift()
    if (job.runSlice()) this.#sharesOf(holder).giveBack(holder)
    else jobs.push(job)
    this.#jobs.delete(holder)
    if (jobs.length > 0) this.#jobs.set(holder, jobs)
    if (this.#jobs.size > 0) this.#atNextTick(() => this.#tick())
  }
}
