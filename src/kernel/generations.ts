// A cache of bytes by name, in two generations: entries that are requested again stay, and the
// others are dropped without being examined one by one.
//
//   current   ── full: becomes ──▶   before   ── dropped when the next one is full
//      ▲                                │
//      └────────── found there ─────────┘
//
// P3. Each generation costs at most `bytesMax`, or holds a single entry.
// P4. The bytes of a dropped entry are overwritten, because text in them may have been erased or be
//     erased later; but only after the answers of this event-loop iteration have left.

import { Queue } from '../base/queue.ts'

/** Approximate memory of an entry beside its bytes. */
const overheadBytes = 256
/** The number of bytes that are overwritten in one event-loop iteration, in about 0.1 ms. */
const wipedPerSlice = 1 << 20

export class Generations<Name, Entry extends { bytes: Uint8Array }> {
  readonly #bytesMax: number
  #current = new Map<Name, Entry>()
  #before = new Map<Name, Entry>()
  /** The cost of all entries in `#current`, in bytes (`costOf`). */
  #cost = 0
  readonly #dropped = new Queue<Uint8Array>()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get(name: Name): Entry | undefined {
    const current = this.#current.get(name)
    if (current !== undefined) return current
    const before = this.#before.get(name)
    if (before !== undefined) {
      this.#before.delete(name)
      this.put(name, before)
    }
    return before
  }

  /** Stores the entry, in place of an older one of this name. */
  put(name: Name, entry: Entry): void {
    const old = this.#current.get(name)
    if (old !== undefined) {
      this.#cost -= costOf(old)
      this.#drop(old)
    }
    if (this.#cost + costOf(entry) > this.#bytesMax) {
      for (const each of this.#before.values()) this.#drop(each)
      this.#before = this.#current
      this.#current = new Map()
      this.#cost = 0
    }
    this.#current.set(name, entry)
    this.#cost += costOf(entry)
  }

  clear(): void {
    for (const generation of [this.#current, this.#before]) {
      for (const each of generation.values()) this.#drop(each)
      generation.clear()
    }
    this.#cost = 0
  }

  #drop({ bytes }: Entry): void {
    this.#dropped.push(bytes)
    if (this.#dropped.length === 1) setImmediate(() => this.#wipe())
  }

  #wipe(): void {
    for (let left = wipedPerSlice; left > 0 && this.#dropped.length > 0; ) {
      const bytes = this.#dropped.shift()
      bytes.fill(0)
      left -= bytes.length
    }
    if (this.#dropped.length > 0) setImmediate(() => this.#wipe())
  }
}

function costOf({ bytes }: { bytes: Uint8Array }): number {
  return bytes.length + overheadBytes
}
