// Counts how often each key occurs, in bounded memory, to name the most frequent ones: the
// Space-Saving algorithm (Metwally, Agrawal, El Abbadi, 2005).
//
// T1. At most `keysMax` keys are kept. A further one takes the place and the count of the rarest,
//     so a count may be too large, by that of the rarest key at most, and never too small. A key
//     with more than one in `keysMax` of all occurrences is always among them.

export class TopCounts<Key> {
  readonly #keysMax: number
  readonly #counts = new Map<Key, number>()

  constructor(keysMax: number) {
    this.#keysMax = keysMax
  }

  count(key: Key): void {
    let before = this.#counts.get(key)
    if (before === undefined && this.#counts.size >= this.#keysMax) {
      const [rarest, least] = this.#sorted().at(-1)!
      this.#counts.delete(rarest)
      before = least
    }
    this.#counts.set(key, (before ?? 0) + 1)
  }

  /** Returns up to `most` keys with their counts, the most frequent first. */
  top(most: number): [Key, number][] {
    return this.#sorted().slice(0, most)
  }

  #sorted(): [Key, number][] {
    return [...this.#counts].sort(([, a], [, b]) => b - a)
  }
}
