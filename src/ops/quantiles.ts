// Quantiles of what a histogram counted lately, from histograms that only grow.
//
// Q1. They are of the last `stepsMax` steps: with one a second, of about ten seconds.
// Q2. Within a bucket values are taken to be spread evenly, as Prometheus does it; those above the
//     last bound are taken to be that bound.

/** Over how many steps; more are smoother, and later to show a change. */
const stepsMax = 10

export class QuantileWindow {
  readonly #bounds: readonly number[]
  /** The counts of the last steps; the next step replaces the oldest. */
  readonly #past: Float64Array[]
  readonly #recent: Float64Array
  #next = 0

  /** `bounds`: upper bounds of the buckets; the counts have one more. They begin at 0. */
  constructor(bounds: readonly number[]) {
    const empty = () => new Float64Array(bounds.length + 1)
    this.#bounds = bounds
    this.#past = Array.from({ length: stepsMax }, empty)
    this.#recent = empty()
  }

  /** Takes the counts of now, by bucket, since the beginning. */
  step(counts: ArrayLike<number>): void {
    const oldest = this.#past[this.#next]
    for (let i = 0; i < oldest.length; i++) this.#recent[i] = counts[i] - oldest[i]
    oldest.set(counts)
    this.#next = (this.#next + 1) % stepsMax
  }

  /** The value below which the share `q` of the values lies; NaN if there were none. */
  quantile(q: number): number {
    const recent = this.#recent
    let total = 0
    for (const count of recent) total += count
    if (total === 0) return Number.NaN
    let left = q * total
    for (let i = 0; i < this.#bounds.length; i++) {
      if (left <= recent[i] && recent[i] > 0) {
        const begin = i === 0 ? 0 : this.#bounds[i - 1]
        return begin + ((this.#bounds[i] - begin) * left) / recent[i]
      }
      left -= recent[i]
    }
    return this.#bounds[this.#bounds.length - 1]
  }
}
