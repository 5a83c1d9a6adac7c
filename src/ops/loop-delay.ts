// The delay of timers of the event loop since the last look: everything runs in one event loop, so
// whatever blocks it delays every answer.

import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'

const resolutionMs = 10

export class LoopDelay {
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs })

  constructor() {
    this.#histogram.enable()
  }

  /** In seconds, since the last restart; 1 is the longest delay. */
  quantile(q: number): number {
    const nanoseconds = q === 1 ? this.#histogram.max : this.#histogram.percentile(q * 100)
    return Math.max(0, nanoseconds / 1e6 - resolutionMs) / 1e3
  }

  restart(): void {
    this.#histogram.reset()
  }

  stop(): void {
    this.#histogram.disable()
  }
}
