// The block cache of cold text: blocks of 16 KiB that were read from disk, the recently used ones
// kept. It knows nothing of files: text/cold-reads.ts has the blocks read that are missing here.
//
//   slab, 1 MiB SharedArrayBuffer (memory is used as it is touched)
//   ┌───────┬───────┬─────┬───────┐
//   │ slot  │ slot  │ …   │ slot  │      a slot holds one block, and never moves
//   └───────┴───────┴─────┴───────┘
//
//   absent ──hold──▶ held, being read ──setLoaded──▶ held ──release──▶ cached ──▶ absent
//                           └────────────release─────────────────────────────────▶
//
// B1. `get` shows a block only after `setLoaded` has confirmed its bytes.
// B2. A slot that is held keeps its bytes: it is neither evicted nor used for another block.
// B3. Blocks that no request holds take at most `cachedBytesMax`; the least recently used give way
//     (approximately, by a second chance).
// B4. A free slot holds zeros, as in page-slots.ts.
//
// The slabs are shared memory, because a worker thread reads into them (text/reader.ts).

import assert from 'node:assert/strict'

/** Bytes of a block. */
export const blockBytes = 16384

/** More than the blocks of the largest page, 100 messages of 8,000 characters that are escaped. */
export const coldPageBytesMax = 16 << 20

/** Limits of the requests that wait for blocks, and of the bytes that they hold. */
export interface ColdReadsLimits {
  parkedMax: number
  bytesMax: number
}

const slabBytes = 1 << 20
const slotsPerSlab = slabBytes / blockBytes
const nothing = -1

export class TextBlocks {
  /** Look-ups that found the block here, and others. */
  hits = 0
  misses = 0
  /** The memory of all slots; slabs are only added. */
  readonly slabs: SharedArrayBuffer[] = []
  /** The slot of each block that is here or being read. */
  readonly #slotOf = new Map<number, number>()
  /** By slot: its block, or `nothing`; its holders; whether it may be shown (B1). */
  readonly #blockOf: number[] = []
  readonly #holds: number[] = []
  readonly #isLoaded: boolean[] = []
  /** By slot: whether it was used since it was released, or since the hand passed. */
  readonly #isUsed: boolean[] = []
  readonly #free: number[] = []
  #cachedSlotsMax = 0
  /** The number of loaded slots that no request holds. */
  #cached = 0
  /** The slot that is looked at next when one has to give way. */
  #hand = 0
  readonly #missing = new Set<number>()
  /** The blocks that were shown since `noteShown`. */
  #shown: Set<number> | null = null

  constructor(cachedBytesMax = 0) {
    this.cachedBytesMax = cachedBytesMax
  }

  /** The limit of bytes of blocks that no request holds (B3). */
  set cachedBytesMax(bytes: number) {
    this.#cachedSlotsMax = Math.floor(bytes / blockBytes)
    while (this.#cached > this.#cachedSlotsMax) this.#evict()
  }

  /** Bytes of the blocks that are here or being read. */
  get bytes(): number {
    return (this.#blockOf.length - this.#free.length) * blockBytes
  }

  /**
   * The bytes of a block, or some of them, valid until the next `await`; null, and noted, if it is
   * missing.
   */
  get(block: number, from = 0, length = blockBytes): Uint8Array | null {
    const slot = this.#slotOf.get(block)
    if (slot === undefined || !this.#isLoaded[slot]) {
      this.misses += 1
      this.#missing.add(block)
      return null
    }
    this.hits += 1
    this.#isUsed[slot] = true
    this.#shown?.add(block)
    const { slab, at } = this.placeOf(slot)
    return new Uint8Array(this.slabs[slab], at + from, length)
  }

  /** Whether a block was noted as missing since the last `takeMissing`. */
  get isMissing(): boolean {
    return this.#missing.size > 0
  }

  /** The blocks noted as missing, in ascending order, each once; forgets them. */
  takeMissing(): number[] {
    const missing = [...this.#missing].sort((a, b) => a - b)
    this.#missing.clear()
    return missing
  }

  /** Notes the blocks that are shown from now on, too. */
  noteShown(): void {
    this.#shown = new Set()
  }

  /** The blocks that were shown since `noteShown`, which ends. */
  takeShown(): Iterable<number> {
    const shown = this.#shown ?? []
    this.#shown = null
    return shown
  }

  /** The block's content is another one now, so its old bytes are never shown again. */
  drop(block: number): void {
    const slot = this.#slotOf.get(block)
    if (slot === undefined) return
    this.#slotOf.delete(block)
    this.#blockOf[slot] = nothing
    if (this.#holds[slot] > 0) return // released later
    this.#cached -= 1
    this.#freeSlot(slot)
  }

  /** Holds the slot of a block, and gives it one, to be read into, if it has none. */
  hold(block: number): number {
    let slot = this.#slotOf.get(block)
    if (slot === undefined) {
      slot = this.#free.pop() ?? this.#addSlot()
      this.#slotOf.set(block, slot)
      this.#blockOf[slot] = block
      this.#isLoaded[slot] = false
      this.#holds[slot] = 0
    } else if (this.#holds[slot] === 0) this.#cached -= 1
    this.#holds[slot] += 1
    return slot
  }

  /** Holds a slot once more that is held, even if its block has another one by now (`drop`). */
  holdAgain(slot: number): void {
    assert(this.#holds[slot] > 0, 'B2: an unheld slot may be of another block')
    this.#holds[slot] += 1
  }

  /** Ends one hold. */
  release(slot: number): void {
    assert(this.#holds[slot] > 0, 'B2: only what is held is released')
    this.#holds[slot] -= 1
    if (this.#holds[slot] > 0) return
    const block = this.#blockOf[slot]
    if (block === nothing || !this.#isLoaded[slot]) {
      this.#slotOf.delete(block)
      this.#blockOf[slot] = nothing
      return this.#freeSlot(slot)
    }
    this.#isUsed[slot] = false // what is read once does not push out what is used again
    this.#cached += 1
    if (this.#cached > this.#cachedSlotsMax) this.#evict()
  }

  isLoaded(slot: number): boolean {
    return this.#isLoaded[slot]
  }

  /** The bytes of a held slot are those of its block, and are checked. */
  setLoaded(slot: number): void {
    assert(this.#holds[slot] > 0, 'B2: a slot is held while it is filled')
    this.#isLoaded[slot] = true
  }

  /** The bytes of a slot. */
  bytesOf(slot: number): Uint8Array {
    const { slab, at } = this.placeOf(slot)
    return new Uint8Array(this.slabs[slab], at, blockBytes)
  }

  /** Where a slot lies: the index of its slab, and the offset in it. */
  placeOf(slot: number): { slab: number; at: number } {
    return { slab: Math.floor(slot / slotsPerSlab), at: (slot % slotsPerSlab) * blockBytes }
  }

  #addSlot(): number {
    const slot = this.#blockOf.push(nothing) - 1
    if (slot % slotsPerSlab === 0) this.slabs.push(new SharedArrayBuffer(slabBytes))
    return slot
  }

  /** Frees the slot of a block that no request holds and that was not used lately. */
  #evict(): void {
    for (;;) {
      const slot = this.#hand
      this.#hand = (slot + 1) % this.#blockOf.length
      if (this.#blockOf[slot] === nothing || this.#holds[slot] > 0) continue
      if (this.#isUsed[slot]) {
        this.#isUsed[slot] = false
        continue
      }
      this.#slotOf.delete(this.#blockOf[slot])
      this.#blockOf[slot] = nothing
      this.#cached -= 1
      return this.#freeSlot(slot)
    }
  }

  #freeSlot(slot: number): void {
    this.bytesOf(slot).fill(0)
    this.#free.push(slot)
  }
}
