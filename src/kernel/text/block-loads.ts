// Loads blocks of text from disk into the block cache, for one request at a time.
//
//   load ──▶ reading ──good──▶ shown by the cache
//               │ ├──gone: a checkpoint has moved the page──▶ read at its new place
//               │ └──damaged──▶ rebuilt from parity ──▶ shown
//               └──────────────────────┴──▶ unavailable: `damaged` or `failed`
//
// L1. A block is shown only after its CRC was found to be right.
// L2. A slot stays held while it is being read into, even if its request gives up.
//
// Neighbours: cold-reads.ts parks requests; kernel/text/disk.ts reads blocks and rebuilds damaged
// ones.

import assert from 'node:assert/strict'
import { blockBytes, type TextBlocks } from './blocks.ts'

/** The location of a full block on disk. */
export interface BlockPlace {
  /** The number of the page file. */
  file: number
  offset: number
  bytes: number
  crc: number
}

/** A block that is to be read into its slot (blocks.ts). */
export interface BlockRead {
  block: number
  slot: number
  place: BlockPlace
}

/**
 * `damaged`: the bytes are not the ones that were written, or the device cannot read them. `gone`:
 * the file no longer exists. `failed`: any other error, such as too many open files.
 */
export interface ReadResult {
  kind: 'good' | 'damaged' | 'gone' | 'failed'
  /** The reason why the result is not good, or ''. */
  why: string
}

/** Reads text from disk (kernel/text/disk.ts). */
export interface TextDisk {
  /**
   * Reads the blocks into their slots. Calls `done` once, possibly before returning, with a result
   * for each block.
   */
  read(reads: readonly BlockRead[], done: (results: readonly ReadResult[]) => void): void
  /**
   * Rebuilds a damaged block from parity, and reports the damage. Resolves to the bytes that were
   * written, or to null if they are lost.
   */
  mend(read: BlockRead, why: string): Promise<Uint8Array | null>
  /** Stops reading. Reads in progress fail, and so do later ones. */
  close(): void
}

/** Stands in for the disk when all text is in memory. */
export const unreadDisk: TextDisk = {
  read: () => assert.fail('no text is on disk'),
  mend: () => assert.fail('no text is on disk'),
  close: () => {},
}

export interface TextSource {
  blocks: TextBlocks
  /** Returns null if the block is in memory, or not on disk. */
  placeOf(block: number): BlockPlace | null
  disk: TextDisk
}

/** The maximum number of places, including the first, in which a block is looked for. */
const placesMax = 4

export type Loaded = 'loaded' | 'damaged' | 'failed'

interface Loading {
  /** The number of blocks whose outcome is not yet known. */
  left: number
  worst: Loaded
  done: (outcome: Loaded) => void
}

export class BlockLoads {
  /** The number of blocks that were read from disk and were good. */
  blocksRead = 0
  readonly #source: TextSource
  #loading: Loading | null = null

  constructor(source: TextSource) {
    this.#source = source
  }

  /**
   * Loads the blocks of these slots, which the caller must hold. Calls `done` once, possibly before
   * returning. Must not be called again until that load is done.
   */
  load(slots: readonly { block: number; slot: number }[], done: (outcome: Loaded) => void): void {
    assert(this.#loading === null, 'blocks are loaded for one request at a time')
    const reads = this.#readsOf(slots)
    if (reads.length === 0) return done('loaded')
    this.#loading = { left: reads.length, worst: 'loaded', done }
    for (const { slot } of reads) this.#source.blocks.holdAgain(slot) // L2
    this.#source.disk.read(reads, (results) => {
      for (let i = 0; i < reads.length; i++) this.#note(reads[i], results[i], 1)
    })
  }

  #readsOf(slots: readonly { block: number; slot: number }[]): BlockRead[] {
    const reads: BlockRead[] = []
    for (const { block, slot } of slots) {
      if (this.#source.blocks.isLoaded(slot)) continue
      const place = this.#source.placeOf(block)
      if (place !== null) reads.push({ block, slot, place }) // null: it is in memory again
    }
    return reads
  }

  /** `places` is the number of places that have been tried. */
  #note(read: BlockRead, { kind, why }: ReadResult, places: number): void {
    switch (kind) {
      case 'good':
        this.blocksRead += 1
        return this.#end(read, 'loaded')
      case 'failed':
        return this.#end(read, 'failed')
      case 'gone':
      case 'damaged':
        this.#readElsewhere(read, why, places)
    }
  }

  /**
   * Reads a block again at its page's current place. Each checkpoint may move a page, and remove or
   * empty the file that contained it; an erasure brings the page into memory. Only a fault at the
   * current place is damage.
   */
  #readElsewhere(read: BlockRead, why: string, places: number): void {
    const place = this.#source.placeOf(read.block)
    if (place === null) return this.#end(read, 'failed')
    const isSame = place.file === read.place.file && place.offset === read.place.offset
    if (isSame || places === placesMax) return void this.#mend(read, why)
    const moved = { ...read, place }
    this.#source.disk.read([moved], ([result]) => this.#note(moved, result!, places + 1))
  }

  async #mend(read: BlockRead, why: string): Promise<void> {
    const bytes = await this.#source.disk.mend(read, why)
    if (bytes !== null) this.#source.blocks.bytesOf(read.slot).set(bytes.subarray(0, blockBytes))
    this.#end(read, bytes === null ? 'damaged' : 'loaded')
  }

  #end({ slot }: BlockRead, outcome: Loaded): void {
    const { blocks } = this.#source
    const loading = this.#loading!
    if (outcome === 'loaded') blocks.setLoaded(slot)
    else if (loading.worst !== 'damaged') loading.worst = outcome
    blocks.release(slot)
    loading.left -= 1
    if (loading.left > 0) return
    this.#loading = null
    loading.done(loading.worst)
  }
}
