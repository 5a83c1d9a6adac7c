// A histogram of durations, in the form that Prometheus reads: counts by bucket, and the sum.
//
//   bounds   │ ≤ 0.001 │ ≤ 0.01 │ ≤ 0.1 │         upper bounds, in seconds
//   counts   │    7    │    3   │   0   │  1  │   one more, for longer ones

/** The numbers of a histogram as one process sends them to another. */
export interface HistogramReport {
  counts: number[]
  sum: number
}

export class Histogram {
  readonly bounds: readonly number[]
  readonly counts: Float64Array
  /** The sum of all durations, in seconds. */
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  /** The number of durations added. */
  get count(): number {
    return this.counts.reduce((sum, count) => sum + count, 0)
  }

  add(seconds: number): void {
    let bucket = 0
    while (seconds > this.bounds[bucket]) bucket += 1
    this.counts[bucket] += 1
    this.sum += seconds
  }

  report(): HistogramReport {
    return { counts: [...this.counts], sum: this.sum }
  }

  /** Adds what another histogram with the same bounds has gained between two of its reports. */
  grow(before: HistogramReport | undefined, now: HistogramReport): void {
    for (const [i, count] of now.counts.entries()) {
      this.counts[i] += count - (before?.counts[i] ?? 0)
    }
    this.sum += now.sum - (before?.sum ?? 0)
  }
}
