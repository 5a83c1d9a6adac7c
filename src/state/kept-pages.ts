// Pages of threads that many callers read while nothing is added: put together once. A page of 50
// messages costs more to assemble, from 50 places in memory, than all else that answering it takes.
//
// K1. The key says all that the bytes depend on: messages never change, and whatever else a page
//     shows of its thread changes with the thread's position. Nothing has to be forgotten.
// K2. A page is kept when it is asked for again, so what is read once costs no memory.
// K3. Two generations, each of at most `bytesMax`: what was read lately stays.

export interface PageKey {
  thread: number
  /** The messages with index `first` up to `end` of the thread. */
  first: number
  end: number
  /** The thread's. */
  position: number
}

interface Kept extends PageKey {
  bytes: Uint8Array
}

const bytesMaxDefault = 32 << 20
/** What a kept page holds beside its bytes, about. */
const overheadBytes = 256
/** How many pages are remembered as asked for once; a power of two. */
const askedCount = 8192
/** Names of pages are thread and first message: both fit in a number without rounding. */
const messagesPerThread = 2 ** 26

export class KeptPages {
  readonly #bytesMax: number
  #current = new Map<number, Kept>()
  #before = new Map<number, Kept>()
  #bytes = 0
  /** By a hash of its name, where a page ended and its position when it was asked for last. */
  readonly #asked = new Float64Array(askedCount)

  constructor(bytesMax = bytesMaxDefault) {
    this.#bytesMax = bytesMax
  }

  /** The page's bytes, which stay as they are, or null. */
  find(key: PageKey): Uint8Array | null {
    const name = nameOf(key)
    const kept = this.#current.get(name)
    if (kept !== undefined) return isSame(kept, key) ? kept.bytes : null
    const before = this.#before.get(name)
    if (before === undefined || !isSame(before, key)) return null
    this.#keep(name, before)
    return before.bytes
  }

  /** Keeps a copy of a page that was not found, if it was offered before; the copy, or null. */
  offer(key: PageKey, bytes: Uint8Array): Uint8Array | null {
    const slot = (Math.imul(key.thread, 0x9e3779b1) ^ key.first) & (askedCount - 1)
    const mark = key.position * 2 ** 8 + (key.end & 0xff)
    if (this.#asked[slot] !== mark) {
      this.#asked[slot] = mark
      return null
    }
    const { thread, first, end, position } = key
    const copy = Buffer.from(bytes)
    this.#keep(nameOf(key), { thread, first, end, position, bytes: copy })
    return copy
  }

  #keep(name: number, kept: Kept): void {
    const bytes = kept.bytes.length + overheadBytes
    if (this.#bytes + bytes > this.#bytesMax) {
      this.#before = this.#current
      this.#current = new Map()
      this.#bytes = 0
    }
    this.#current.set(name, kept)
    this.#bytes += bytes
  }
}

function nameOf({ thread, first }: PageKey): number {
  return thread * messagesPerThread + first
}

function isSame(kept: Kept, { thread, first, end, position }: PageKey): boolean {
  return (
    kept.thread === thread && kept.first === first && kept.end === end && kept.position === position
  )
}
