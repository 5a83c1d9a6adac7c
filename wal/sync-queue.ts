// The syncs in flight, oldest first. A sync covers what was written before it started, and counts
// only when all older ones have come back: Linux tells a write error to one sync of a descriptor,
// and another one that ran beside it may well report success for the same bytes.

import type { Disk } from './disk.ts'

interface Sync {
  file: number
  position: number
  bytes: number
  done: boolean
}

// Upper bounds of the histogram's buckets, milliseconds; one more bucket holds what is slower.
const bucketBoundsMs = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000]

export interface SyncStats {
  count: number
  seconds: number
  secondsMax: number
  buckets: { boundSeconds: number; count: number }[]
}

export class SyncQueue {
  readonly #disk: Disk
  readonly #onSynced: (position: number, bytes: number) => void
  readonly #onFailed: (error: Error) => void
  readonly #queue: Sync[] = []
  readonly #retired: number[] = []
  readonly #buckets = new Array<number>(bucketBoundsMs.length + 1).fill(0)
  #count = 0
  #totalMs = 0
  #longestMs = 0
  #failed = false

  /** `onSynced` hears of positions in order; after `onFailed`, which comes once, of none. */
  constructor(
    disk: Disk,
    onSynced: (position: number, bytes: number) => void,
    onFailed: (error: Error) => void,
  ) {
    this.#disk = disk
    this.#onSynced = onSynced
    this.#onFailed = onFailed
  }

  get length(): number {
    return this.#queue.length
  }

  /** Starts a sync of `file`. `bytes` are those written to it since the last start. */
  start(file: number, position: number, bytes: number): void {
    const sync = { file, position, bytes, done: false }
    this.#queue.push(sync)
    const startedMs = performance.now()
    this.#disk.dataSyncLater(file, (error) => {
      this.#measure(performance.now() - startedMs)
      if (this.#failed) return
      if (error !== null) {
        this.#failed = true
        this.#onFailed(error)
        return
      }
      sync.done = true
      this.#advance()
    })
  }

  /** Closes a file that gets no more syncs when those in flight are back. */
  retire(file: number): void {
    this.#retired.push(file)
    this.#closeRetired()
  }

  stats(): SyncStats {
    const buckets = this.#buckets.map((count, index) => {
      return { boundSeconds: (bucketBoundsMs[index] ?? Number.POSITIVE_INFINITY) / 1000, count }
    })
    const secondsMax = this.#longestMs / 1000
    return { count: this.#count, seconds: this.#totalMs / 1000, secondsMax, buckets }
  }

  #advance(): void {
    let position = -1
    let bytes = 0
    while (this.#queue[0]?.done === true) {
      const sync = this.#queue.shift()!
      position = sync.position
      bytes += sync.bytes
    }
    if (position < 0) return
    if (this.#retired.length > 0) this.#closeRetired()
    this.#onSynced(position, bytes)
  }

  #closeRetired(): void {
    for (const file of this.#retired.splice(0)) {
      if (this.#queue.some((sync) => sync.file === file)) this.#retired.push(file)
      else this.#disk.close(file)
    }
  }

  #measure(ms: number): void {
    this.#count++
    this.#totalMs += ms
    this.#longestMs = Math.max(this.#longestMs, ms)
    const bucket = bucketBoundsMs.findIndex((bound) => ms <= bound)
    this.#buckets[bucket < 0 ? bucketBoundsMs.length : bucket]!++
  }
}
