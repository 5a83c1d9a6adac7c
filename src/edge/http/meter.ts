// Counts the answers of each route by status class, and their durations, for operators.
//
// M1. Counting costs a request less than 100 ns (bench/meter-cost.ts of ec952255): numbers in
//     arrays, no text. Reading the clock costs about as much as all the rest, so only one request
//     in `timedEvery` is timed.
// M2. A label is the name in the route's declaration, never the requested path: no id is a label.

import { Histogram } from '../../base/histogram.ts'

/** One in this many requests is timed; a power of two. */
export const timedEvery = 16

const boundsSeconds = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10,
]

/** The counters of one route. */
export class RouteMeter {
  readonly name: string
  /** Answers by the first digit of their status. */
  readonly answers = new Float64Array(6)
  /** The durations of the answers that were timed, in seconds. */
  readonly times = new Histogram(boundsSeconds)

  constructor(name: string) {
    this.name = name
  }

  /** Counts an answer. `startedMs` is what `Meter.start` returned. */
  count(status: number, startedMs: number): void {
    this.answers[(status / 100) | 0] += 1
    if (startedMs === 0) return
    this.times.add((performance.now() - startedMs) / 1000)
  }
}

export class Meter {
  /** Requests that no route answers: unknown paths and methods, and all before serving begins. */
  readonly none = new RouteMeter('none')
  readonly routes: RouteMeter[] = [this.none]
  #requests = 0

  add(name: string): RouteMeter {
    const meter = new RouteMeter(name)
    this.routes.push(meter)
    return meter
  }

  /** Returns when the request began, in milliseconds, or 0 if this one is not timed. */
  start(): number {
    this.#requests += 1
    return this.#requests % timedEvery === 0 ? performance.now() : 0
  }
}
