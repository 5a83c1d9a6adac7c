// Latencies in microseconds, counted in buckets of nearly equal values, as in an HDR histogram. So
// those of several processes can be added, and percentiles of the sum are as exact as of each.
//
// L1. A value up to 256 is counted as it is, and a greater one as the middle of its bucket, of
//     which each power of two has 128: the error is at most 0.4 %. `max` is exact.
// L2. The text is `value`, or `value*count`, for each bucket in order: "12 15*3 1030*2".

const exactMax = 256
const bitsPerBucket = 7

/** In milliseconds, 0 if nothing is counted; `histogram` has all of them, in microseconds (L2). */
export type Spread = { p50: number; p90: number; p99: number; max: number; histogram: string }

export class Latencies {
  count = 0
  /** 0: nothing is counted. */
  max = 0
  readonly #counts = new Map<number, number>()

  /** Returns the latencies of a text (L2), of which `max` is the greatest. Throws if it is none. */
  static parse(text: string, max: number): Latencies {
    const latencies = new Latencies()
    for (const part of text === '' ? [] : text.split(' ')) {
      const [value, times = 1, ...rest] = part.split('*').map(Number)
      if (!(value > 0 && times > 0 && rest.length === 0)) throw new Error(`${part}: no latency`)
      latencies.record(value, times)
    }
    latencies.max = max
    return latencies
  }

  record(microseconds: number, times = 1): void {
    const bucket = bucketOf(microseconds)
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + times)
    this.count += times
    this.max = Math.max(this.max, microseconds)
  }

  add(other: Latencies): void {
    const max = Math.max(this.max, other.max)
    for (const [bucket, times] of other.#counts) this.record(bucket, times)
    this.max = max
  }

  /** Returns the value that `percent` of all values do not exceed; 0 if nothing is counted. */
  percentile(percent: number): number {
    const rank = Math.max(1, Math.ceil((percent / 100) * this.count))
    if (rank >= this.count) return this.max
    let counted = 0
    for (const [bucket, times] of this.#sorted()) {
      counted += times
      if (counted >= rank) return Math.min(bucket, this.max)
    }
    return this.max
  }

  spread(): Spread {
    const [p50, p90, p99, max] = [50, 90, 99, 100].map((percent) => this.percentile(percent) / 1000)
    return { p50, p90, p99, max, histogram: `${this}` }
  }

  toString(): string {
    return this.#sorted()
      .map(([bucket, times]) => (times === 1 ? `${bucket}` : `${bucket}*${times}`))
      .join(' ')
  }

  #sorted(): [bucket: number, times: number][] {
    return [...this.#counts].sort(([a], [b]) => a - b)
  }
}

/** Returns the middle of the bucket, which is in the bucket (L1). */
function bucketOf(microseconds: number): number {
  if (microseconds <= exactMax) return microseconds
  const width = 2 ** (Math.floor(Math.log2(microseconds)) - bitsPerBucket)
  return Math.floor(microseconds / width) * width + width / 2
}
