// What the forum reads text with (forum/block-loads.ts): a reader in the background, measured, and
// the mending of what is damaged.

import type { BlockRead, ReadResult, TextDisk } from '../forum/block-loads.ts'
import type { TextMending } from './text-mending.ts'
import type { BlockReader } from './text-reader.ts'

/** Upper bounds of the buckets of `NodeTextDisk.reads`. */
export const readBoundsSeconds = [
  0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10,
] as const

export class NodeTextDisk implements TextDisk {
  /** How long reads of the blocks of one request took: counts by bucket, and the sum in seconds. */
  readonly reads = new Float64Array(readBoundsSeconds.length + 1)
  readSeconds = 0
  readonly #reader: BlockReader
  readonly #mending: TextMending

  constructor(reader: BlockReader, mending: TextMending) {
    this.#reader = reader
    this.#mending = mending
  }

  read(reads: readonly BlockRead[], done: (results: readonly ReadResult[]) => void): void {
    const begun = performance.now()
    this.#reader.read(reads, (results) => {
      this.#count((performance.now() - begun) / 1000)
      done(results)
    })
  }

  mend(read: BlockRead, why: string): Promise<Uint8Array | null> {
    return this.#mending.mend(read, why)
  }

  close(): void {
    this.#reader.close()
  }

  #count(seconds: number): void {
    const bucket = readBoundsSeconds.findIndex((bound) => seconds <= bound)
    this.reads[bucket === -1 ? readBoundsSeconds.length : bucket] += 1
    this.readSeconds += seconds
  }
}
