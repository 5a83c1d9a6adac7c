// Reads that take too long for one event-loop iteration are done in slices, one slice in each
// iteration, so that other requests are answered in between.
//
// W1. Jobs take turns: each gets a slice before any gets its next one.
// W2. At most `jobsMax` jobs of callers wait or run. Of these a caller has a share
//     (base/shares.ts), and at most `jobsOfOneMax`; a further job is rejected as `overloaded`. The
//     node itself and its operators have as many jobs as one caller, apart from those of callers.
// W3. Stopping ends every job with `shutting_down`.

import type { Holder } from '../base/shares.ts'

const jobsMax = 64
const jobsOfOneMax = 8

/** The holder of the jobs of the node itself and of its operators. */
export const ownWork = 'the node'

interface Job {
  holder: Holder
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
  #jobs: Job[] = []
  #isStopped = false
  readonly #atNextTick: (run: () => void) => void

  /** `atNextTick` calls a function in the next iteration of the event loop. */
  constructor(atNextTick: (run: () => void) => void = setImmediate) {
    this.#atNextTick = atNextTick
  }

  /** The number of jobs that are not finished. */
  get length(): number {
    return this.#jobs.length
  }

  /**
   * Calls `slice` in the following iterations until it returns an outcome instead of null. Resolves
   * in the iteration of the last slice, before anything else can change the state.
   */
  add<T>(holder: Holder, slice: () => T | null): Promise<T | JobRejection> {
    if (this.#isStopped) return Promise.resolve({ rejected: 'shutting_down' })
    const held = this.#jobs.filter((job) => job.holder === holder).length
    const ofCallers = this.#jobs.filter((job) => job.holder !== ownWork).length
    const free = holder === ownWork ? jobsOfOneMax : jobsMax - ofCallers
    if (held >= Math.min(jobsOfOneMax, free)) {
      // as in base/shares.ts, S1
      this.refused += 1
      return Promise.resolve({ rejected: 'overloaded' })
    }
    return new Promise((resolve) => {
      const runSlice = () => {
        const outcome = slice()
        if (outcome !== null) resolve(outcome)
        return outcome !== null
      }
      this.#jobs.push({ holder, runSlice, stop: () => resolve({ rejected: 'shutting_down' }) })
      if (this.#jobs.length === 1) this.#atNextTick(() => this.#tick())
    })
  }

  /** Ends every job; later ones are rejected. */
  stop(): void {
    this.#isStopped = true
    for (const job of this.#jobs) job.stop()
    this.#jobs = []
  }

  #tick(): void {
    const job = this.#jobs.shift()
    if (job === undefined) return // stopped meanwhile
    if (!job.runSlice()) this.#jobs.push(job)
    if (this.#jobs.length > 0) this.#atNextTick(() => this.#tick())
  }
}
