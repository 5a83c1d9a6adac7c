// The room that is left in the file system of the data directory, and how fast it disappears.
//
// D1. The rate is that between the oldest and the newest observation of the last day. Segments and
//     page files come and go, so it is unknown in the first ten minutes.

import { statfs } from 'node:fs/promises'

const everyMs = 60_000
const knownAfterMs = 10 * everyMs
const rememberedMs = 24 * 3_600_000
/** The oldest observation is replaced in steps of this length. */
const stepMs = 3_600_000

interface Observation {
  atMs: number
  freeBytes: number
}

export class DiskSpace {
  /** Null until it is known. */
  freeBytes: number | null = null
  /** Null if it is unknown, or the free room does not shrink. */
  fullInSeconds: number | null = null
  /** One for each `stepMs` of the last day, oldest first. */
  readonly #observed: Observation[] = []

  /** Observes now, and then each minute. Returns a function that ends this. */
  watch(directory: string, now: () => number): () => void {
    const look = async () => {
      // Without an answer, what was observed last is shown.
      const found = await statfs(directory).catch(() => null)
      if (found !== null) this.observe({ atMs: now(), freeBytes: found.bavail * found.bsize })
    }
    void look()
    const timer = setInterval(look, everyMs).unref()
    return () => clearInterval(timer)
  }

  observe(seen: Observation): void {
    const observed = this.#observed
    this.freeBytes = seen.freeBytes
    if (observed.length === 0 || seen.atMs - observed.at(-1)!.atMs >= stepMs) observed.push(seen)
    while (seen.atMs - observed[0].atMs > rememberedMs) observed.shift()
    const { atMs, freeBytes } = observed[0]
    const [elapsedMs, taken] = [seen.atMs - atMs, freeBytes - seen.freeBytes]
    const isKnown = elapsedMs >= knownAfterMs && taken > 0
    this.fullInSeconds = isKnown ? (seen.freeBytes * elapsedMs) / taken / 1000 : null
  }
}
