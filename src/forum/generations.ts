// Bytes that were made recently, by name, in two generations: what is requested again stays, and
// the rest goes without being looked at.
//
//   current   ── full: becomes ──▶   before   ── dropped with the next one
//      ▲                                │
//      └────────── found there ─────────┘
//
// P3. Each generation costs at most `bytesMax`, or holds a single entry.

/** Approximate memory of an entry beside its bytes. */
const overheadBytes = 256

export class Generations<Name, Entry extends { bytes: Uint8Array }> {
  readonly #bytesMax: number
  #current = new Map<Name, Entry>()
  #before = new Map<Name, Entry>()
  /** The cost of all entries in `#current`. */
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get(name: Name): Entry | undefined {
    const current = this.#current.get(name)
    if (current !== undefined) return current
    const before = this.#before.get(name)
    if (before !== undefined) this.put(name, before)
    return before
  }

  /** Keeps the entry in place of an older one of this name. */
  put(name: Name, entry: Entry): void {
    const old = this.#current.get(name)
    if (old !== undefined) this.#bytes -= costOf(old)
    if (this.#bytes + costOf(entry) > this.#bytesMax) {
      this.#before = this.#current
      this.#current = new Map()
      this.#bytes = 0
    }
    this.#current.set(name, entry)
    this.#bytes += costOf(entry)
  }

  clear(): void {
    this.#before = this.#current = new Map()
    this.#bytes = 0
  }
}

function costOf({ bytes }: { bytes: Uint8Array }): number {
  return bytes.length + overheadBytes
}
