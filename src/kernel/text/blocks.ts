// The block cache of cold text, which keeps recently used blocks of 16 KiB that were read from
// disk. It knows nothing of files; kernel/text/cold-reads.ts has the missing blocks loaded.
//
//   slab, 1 MiB SharedArrayBuffer (memory is used as it is touched)
//   ┌───────┬───────┬─────┬───────┐
//   │ slot  │ slot  │ …   │ slot  │      a slot holds one block, and never moves
//   └───────┴───────┴─────┴───────┘
//
//   absent ──hold──▶ held, being read ──setLoaded──▶ held ──release──▶ cached ──▶ absent
//                           └────────────release─────────────────────────────────▶
//
// B1. `get` returns a block only after `setLoaded` has confirmed its bytes.
// B2. A held slot keeps its bytes: it is neither evicted nor used for another block.
// B3. Blocks that no request holds take at most `cachedBytesMax`. The least recently used are
//     evicted first, as approximated by the second-chance algorithm.
// B4. A free slot holds zeros, as in page-slots.ts.
//
// The slabs are shared memory because a worker thread reads into them (kernel/text/reader.ts).

import assert from 'node:assert/strict'

/** The size of a block in bytes. */
export const blockBytes = 16384

/** More than the blocks of the largest page: 100 messages of 8,000 escaped characters. */
export const coldPageBytesMax = 16 << 20

/** Limits on the number of requests that wait for blocks, and on the bytes that they hold. */
export interface ColdReadsLimits {
  parkedMax: number
  bytesMax: number
}

const slabBytes = 1 << 20
const slotsPerSlab = slabBytes / blockBytes
const none = -1

export class TextBlocks {
  /** Look-ups that found their block in the cache, and those that did not. */
  hits = 0
  misses = 0
  /** The memory of all slots. Slabs are added and never removed. */
  readonly slabs: SharedArrayBuffer[] = []
  /** The slot of each block that is in the cache or being read. */
  readonly #slotOf = new Map<number, number>()
  /** By slot: its block, or `nothing`; the number of its holds; whether it may be shown (B1). */
  readonly #blockOf: number[] = []
  readonly #holds: number[] = []
  readonly #isLoaded: boolean[] = []
  /** By slot: whether it was used since its release, or since the clock hand last passed it. */
  readonly #isUsed: boolean[] = []
  readonly #free: number[] = []
  #cachedSlotsMax = 0
  /** The number of loaded slots that no request holds. */
  #cached = 0
  /** The clock hand: the slot that the next eviction examines first. */
  #hand = 0
  readonly #missing = new Set<number>()
  /** The blocks shown since `noteShown`, or null when they are not being noted. */
  #shown: Set<number> | null = null

  constructor(cachedBytesMax = 0) {
    this.cachedBytesMax = cachedBytesMax
  }

  /** Sets the limit on the bytes of blocks that no request holds (B3). */
  set cachedBytesMax(bytes: number) {
    this.#cachedSlotsMax = Math.floor(bytes / blockBytes)
    while (this.#cached > this.#cachedSlotsMax) this.#evict()
  }

  /** The bytes of the blocks that are in the cache or being read. */
  get bytes(): number {
    return (this.#blockOf.length - this.#free.length) * blockBytes
  }

  /**
   * Returns a block's bytes, or a part of them, valid until the next `await`. If the block is
   * missing, notes that and returns null.
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

  /** Whether any block was noted as missing since the last `takeMissing`. */
  get isMissing(): boolean {
    return this.#missing.size > 0
  }

  /** Returns the blocks noted as missing, each once and in ascending order, and forgets them. */
  takeMissing(): number[] {
    const missing = [...this.#missing].sort((a, b) => a - b)
    this.#missing.clear()
    return missing
  }

  noteShown(): void {
    this.#shown = new Set()
  }

  /** Returns the blocks shown since `noteShown`, and stops noting them. */
  takeShown(): Iterable<number> {
    const shown = this.#shown ?? []
    this.#shown = null
    return shown
  }

  /** Drops a block whose content has changed, so that its old bytes are never shown again. */
  drop(block: number): void {
    const slot = this.#slotOf.get(block)
    if (slot === undefined) return
    this.#slotOf.delete(block)
    this.#blockOf[slot] = none
    if (this.#holds[slot] > 0) return // `release` frees it later
    this.#cached -= 1
    this.#freeSlot(slot)
  }

  /** Holds the block's slot and returns it. A block without one is given a slot to be read into. */
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

  /** Adds a hold to a held slot, even if its block has another slot by now (`drop`). */
  holdAgain(slot: number): void {
    assert(this.#holds[slot] > 0, 'B2: an unheld slot may be of another block')
    this.#holds[slot] += 1
  }

  /**
   * Releases one hold on a slot. A slot without a loaded block is freed when its last hold ends.
   */
  release(slot: number): void {
    assert(this.#holds[slot] > 0, 'B2: only what is held is released')
    this.#holds[slot] -= 1
    if (this.#holds[slot] > 0) return
    const block = this.#blockOf[slot]
    if (block === none || !this.#isLoaded[slot]) {
      this.#slotOf.delete(block)
      this.#blockOf[slot] = none
      return this.#freeSlot(slot)
    }
    this.#isUsed[slot] = false // blocks read once do not evict those used repeatedly
    this.#cached += 1
    if (this.#cached > this.#cachedSlotsMax) this.#evict()
  }

  isLoaded(slot: number): boolean {
    return this.#isLoaded[slot]
  }

  /** Marks a held slot as containing the bytes of its block, which have been checked. */
  setLoaded(slot: number): void {
    assert(this.#holds[slot] > 0, 'B2: a slot is held while it is filled')
    this.#isLoaded[slot] = true
  }

  bytesOf(slot: number): Uint8Array {
    const { slab, at } = this.placeOf(slot)
    return new Uint8Array(this.slabs[slab], at, blockBytes)
  }

  /** Returns the location of a slot: the index of its slab, and its offset there in bytes. */
  placeOf(slot: number): { slab: number; at: number } {
    return { slab: Math.floor(slot / slotsPerSlab), at: (slot % slotsPerSlab) * blockBytes }
  }

  #addSlot(): number {
    const slot = this.#blockOf.push(none) - 1
    if (slot % slotsPerSlab === 0) this.slabs.push(new SharedArrayBuffer(slabBytes))
    return slot
  }

  /** Frees the slot of a block that no request holds and that has not been used recently. */
  #evict(): void {
    for (;;) {
      const slot = this.#hand
      this.#hand = (slot + 1) % this.#blockOf.length
      if (this.#blockOf[slot] === none || this.#holds[slot] > 0) continue
      if (this.#isUsed[slot]) {
        this.#isUsed[slot] = false
        continue
      }
      this.#slotOf.delete(this.#blockOf[slot])
      this.#blockOf[slot] = none
      this.#cached -= 1
      return this.#freeSlot(slot)
    }
  }

  #freeSlot(slot: number): void {
    this.bytesOf(slot).fill(0)
    this.#free.push(slot)
  }
}
