// What the edge counts, for operators: each route's answers by status class, and their times.
//
// M1. Counting costs a request less than 100 ns (bench/meter-cost.ts): numbers in arrays, no text.
//     A look at the clock costs about as much as all the rest, so only one request in `timedEvery`
//     is timed.
// M2. A route is named by its declaration, never by the path that was asked for: no id is a label.

/** One request in so many is timed; a power of two. */
export const timedEvery = 16

/** Upper bounds of the histogram's buckets, seconds; one more bucket holds what is slower. */
export const latencyBoundsSeconds = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10,
] as const

/** What is counted of one route. */
export class RouteMeter {
  readonly name: string
  /** Answers by the first digit of their status. */
  readonly answers = new Float64Array(6)
  /** Timed answers by bucket. */
  readonly buckets = new Float64Array(latencyBoundsSeconds.length + 1)
  /** Of all timed answers together. */
  seconds = 0

  constructor(name: string) {
    this.name = name
  }

  /** Counts an answer. `startedMs` is what `Meter.start` gave. */
  count(status: number, startedMs: number): void {
    this.answers[(status / 100) | 0] += 1
    if (startedMs === 0) return
    const seconds = (performance.now() - startedMs) / 1000
    let bucket = 0
    while (seconds > latencyBoundsSeconds[bucket]) bucket += 1
    this.buckets[bucket] += 1
    this.seconds += seconds
  }
}

export class Meter {
  /** Requests that no route answers: unknown paths and methods, all while there is no service. */
  readonly none = new RouteMeter('none')
  readonly routes: RouteMeter[] = [this.none]
  #requests = 0

  add(name: string): RouteMeter {
    const meter = new RouteMeter(name)
    this.routes.push(meter)
    return meter
  }

  /** When the request began, in milliseconds; 0: this one is not timed. */
  start(): number {
    this.#requests += 1
    return this.#requests % timedEvery === 0 ? performance.now() : 0
  }
}
