// Loads blocks of text from disk into the block cache, each once for all who wait for it.
//
//   load ──▶ reading ──good──▶ shown by the cache
//               │ ├──not there any more: a checkpoint has moved the page──▶ its new place
//               │ └──damaged──▶ mended from parity ──▶ shown
//               └──────────────────────┴──▶ not to be had: `damaged` or `failed`
//
// L1. A block is shown only after its crc was found right.
// L2. A slot is held while it is read into, whoever else gives up waiting for it.
//
// Neighbours: cold-reads.ts parks requests; node/text-disk.ts reads and mends.

import assert from 'node:assert/strict'
import { blockBytes, type TextBlocks } from '../state/text-blocks.ts'

/** Where a full block lies on disk. */
export interface BlockPlace {
  /** The number of the page file. */
  file: number
  offset: number
  bytes: number
  crc: number
}

/** A block that is to be read into its slot (text-blocks.ts). */
export interface BlockRead {
  block: number
  slot: number
  place: BlockPlace
}

/**
 * `damaged`: the bytes are not those that were written, or the device cannot read them. `gone`: the
 * file is not there any more. `failed`: another error, as when no more files can be opened.
 */
export interface ReadResult {
  kind: 'good' | 'damaged' | 'gone' | 'failed'
  /** What is wrong; '' when it is good. */
  why: string
}

/** Reads text from disk (node/text-disk.ts). */
export interface TextDisk {
  /** Reads the blocks into their slots; calls `done` later, once, with a result for each. */
  read(reads: readonly BlockRead[], done: (results: readonly ReadResult[]) => void): void
  /** The bytes of a damaged block as they were written, from parity; null: lost. Reports it. */
  mend(read: BlockRead, why: string): Promise<Uint8Array | null>
  /** Reads nothing more, and calls no `done` any more. */
  close(): void
}

/** Stands for a disk where all text is in memory. */
export const unreadDisk: TextDisk = {
  read: () => assert.fail('no text is on disk'),
  mend: () => assert.fail('no text is on disk'),
  close: () => {},
}

export interface TextSource {
  blocks: TextBlocks
  /** Null when the block is not on disk, or is in memory. */
  placeOf(block: number): BlockPlace | null
  disk: TextDisk
}

/** How often a block is looked for in another place. */
const placesMax = 4

export type Loaded = 'loaded' | 'damaged' | 'failed'

interface Loading {
  read: BlockRead
  done: ((outcome: Loaded) => void)[]
  /** How many places were tried. */
  places: number
}

export class BlockLoads {
  /** Blocks that were read from disk and were good. */
  blocksRead = 0
  readonly #source: TextSource
  /** By slot. */
  readonly #loading = new Map<number, Loading>()

  constructor(source: TextSource) {
    this.#source = source
  }

  /** Loads the blocks of these slots, which the caller holds; calls `done` once, maybe at once. */
  load(slots: readonly { block: number; slot: number }[], done: (outcome: Loaded) => void): void {
    let left = 1
    let worst: Loaded = 'loaded'
    const oneDone = (outcome: Loaded) => {
      if (outcome !== 'loaded' && worst !== 'damaged') worst = outcome
      left -= 1
      if (left === 0) done(worst)
    }
    const reads: BlockRead[] = []
    for (const { block, slot } of slots) {
      if (this.#source.blocks.isLoaded(slot)) continue
      const loading = this.#loading.get(slot)
      const place = loading === undefined ? this.#source.placeOf(block) : null
      // One without a place has come back into memory.
      if (loading === undefined && place === null) continue
      left += 1
      if (loading !== undefined) {
        loading.done.push(oneDone)
        continue
      }
      const read = { block, slot, place: place! }
      this.#source.blocks.holdAgain(slot) // L2
      this.#loading.set(slot, { read, done: [oneDone], places: 1 })
      reads.push(read)
    }
    if (reads.length > 0) this.#read(reads)
    oneDone('loaded')
  }

  #read(reads: readonly BlockRead[]): void {
    this.#source.disk.read(reads, (results) => {
      for (const [i, result] of results.entries()) this.#note(reads[i]!, result)
    })
  }

  #note(read: BlockRead, { kind, why }: ReadResult): void {
    switch (kind) {
      case 'good':
        this.blocksRead += 1
        return this.#end(read, 'loaded')
      case 'failed':
        return this.#end(read, 'failed')
      case 'gone':
      case 'damaged':
        this.#readElsewhere(read, why)
    }
  }

  /**
   * Each checkpoint may move a page, and remove or empty the file that it was in before; an erasure
   * brings it into memory. Only what is wrong where the page lies now is damage.
   */
  #readElsewhere(read: BlockRead, why: string): void {
    const loading = this.#loading.get(read.slot)!
    const place = this.#source.placeOf(read.block)
    if (place === null) return this.#end(read, 'failed')
    const isSame = place.file === read.place.file && place.offset === read.place.offset
    if (isSame || loading.places === placesMax) return void this.#mend(read, why)
    loading.places += 1
    loading.read = { ...read, place }
    this.#read([loading.read])
  }

  async #mend(read: BlockRead, why: string): Promise<void> {
    const bytes = await this.#source.disk.mend(read, why)
    if (bytes !== null) this.#source.blocks.bytesOf(read.slot).set(bytes.subarray(0, blockBytes))
    this.#end(read, bytes === null ? 'damaged' : 'loaded')
  }

  #end({ slot }: BlockRead, outcome: Loaded): void {
    const { blocks } = this.#source
    const { done } = this.#loading.get(slot)!
    this.#loading.delete(slot)
    if (outcome === 'loaded') blocks.setLoaded(slot)
    for (const each of done) each(outcome)
    blocks.release(slot)
  }
}
