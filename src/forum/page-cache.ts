// Pages of threads that many callers read while nothing is added: put together once. A page of 50
// messages costs more to assemble, from 50 places in memory, than all else that answering it takes.
//
// P1. The key says all that the bytes depend on: messages never change, and whatever else a page
//     shows of its thread changes with the thread's position. Nothing has to be forgotten. An empty
//     page also shows its caller's cursor, so it is never added.
// P2. A page is cached when it is asked for again, so what is read once costs no memory.
// P3. Two generations, each of at most `bytesMax`: what was read lately stays.

import assert from 'node:assert/strict'

export interface PageKey {
  thread: number
  /** The messages with index `first` up to `end` of the thread. */
  first: number
  end: number
  /** The thread's. */
  position: number
}

interface Cached extends PageKey {
  bytes: Uint8Array
}

const bytesMaxDefault = 32 << 20
/** What a cached page holds beside its bytes, about. */
const overheadBytes = 256
/** How many pages are remembered as asked for once; a power of two. */
const askedCount = 8192
const messagesPerThread = 2 ** 26

export class PageCache {
  readonly #bytesMax: number
  #current = new Map<number, Cached>()
  #before = new Map<number, Cached>()
  /** Of `#current`. */
  #bytes = 0
  /** By a hash of its name, where a page ended and its position when it was asked for last. */
  readonly #asked = new Float64Array(askedCount)

  constructor(bytesMax = bytesMaxDefault) {
    this.#bytesMax = bytesMax
  }

  /** The page's bytes, which stay as they are, or null. */
  get(key: PageKey): Uint8Array | null {
    const name = nameOf(key)
    const current = this.#current.get(name)
    if (current !== undefined) return isSame(current, key) ? current.bytes : null
    const before = this.#before.get(name)
    if (before === undefined || !isSame(before, key)) return null
    this.#put(name, before)
    return before.bytes
  }

  /** Caches a copy of a page that `get` did not find, if it is added again; the copy, or null. */
  add(key: PageKey, page: Uint8Array): Uint8Array | null {
    const { thread, first, end, position } = key
    assert(end > first, 'P1: an empty page is not cached')
    const slot = (Math.imul(thread, 0x9e3779b1) ^ first) & (askedCount - 1)
    const mark = position * 2 ** 8 + (end & 0xff)
    if (this.#asked[slot] !== mark) {
      this.#asked[slot] = mark
      return null
    }
    const bytes = new Uint8Array(page) // a copy by Buffer would hold the pool that it lies in
    this.#put(nameOf(key), { thread, first, end, position, bytes })
    return bytes
  }

  /** Forgets all pages. */
  clear(): void {
    this.#before = this.#current = new Map()
    this.#bytes = 0
  }

  #put(name: number, cached: Cached): void {
    const old = this.#current.get(name)
    if (old !== undefined) this.#bytes -= costOf(old)
    if (this.#bytes + costOf(cached) > this.#bytesMax) {
      this.#before = this.#current
      this.#current = new Map()
      this.#bytes = 0
    }
    this.#current.set(name, cached)
    this.#bytes += costOf(cached)
  }
}

function costOf({ bytes }: Cached): number {
  return bytes.length + overheadBytes
}

/** Pages that share a name displace each other, and are told apart by `isSame`. */
function nameOf({ thread, first }: PageKey): number {
  return thread * messagesPerThread + first
}

function isSame(cached: Cached, { thread, first, end, position }: PageKey): boolean {
  return (
    cached.thread === thread &&
    cached.first === first &&
    cached.end === end &&
    cached.position === position
  )
}
