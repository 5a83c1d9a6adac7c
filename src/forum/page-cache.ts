// Caches pages of threads that many callers read while nothing is added to them. To assemble a page
// of 50 messages, from 50 places in memory, costs more than the rest of answering the request.
//
// P1. The key contains everything that the bytes depend on: what a page shows of its thread, an
//     erased message included, changes with the thread's position. So no entry is ever
//     invalidated. An empty page also shows its caller's cursor, so it is never cached.
// P2. A page is cached on its second request, so a page that is read only once costs no memory.
// P3. Its size is bounded, and recently read pages stay (generations.ts).

import assert from 'node:assert/strict'
import { Generations } from './generations.ts'

export interface PageKey {
  thread: number
  /** The thread's messages from index `first` up to, but not including, `end`. */
  first: number
  end: number
  /** The position of the thread's last change. */
  position: number
}

interface Cached extends PageKey {
  bytes: Uint8Array
}

const bytesMaxDefault = 32 << 20
/** How many pages are remembered as requested once; a power of two. */
const requestedCount = 8192
const messagesPerThread = 2 ** 26

export class PageCache {
  readonly #pages: Generations<number, Cached>
  /** By a hash of a page's name: its `position` and `end` at the last request. */
  readonly #requested = new Float64Array(requestedCount)

  constructor(bytesMax = bytesMaxDefault) {
    this.#pages = new Generations(bytesMax)
  }

  /** The page's bytes, which never change, or null. */
  get(key: PageKey): Uint8Array | null {
    const cached = this.#pages.get(nameOf(key))
    return cached !== undefined && isSame(cached, key) ? cached.bytes : null
  }

  /** Caches a page that `get` did not find, if it is added the second time; the copy, or null. */
  add(key: PageKey, page: Uint8Array): Uint8Array | null {
    const { thread, first, end, position } = key
    assert(end > first, 'P1: an empty page is not cached')
    const slot = (Math.imul(thread, 0x9e3779b1) ^ first) & (requestedCount - 1)
    const mark = position * 2 ** 8 + (end & 0xff)
    if (this.#requested[slot] !== mark) {
      this.#requested[slot] = mark
      return null
    }
    const bytes = new Uint8Array(page) // a Buffer would keep the whole pool that it lies in alive
    this.#pages.put(nameOf(key), { thread, first, end, position, bytes })
    return bytes
  }

  /** Removes all pages. */
  clear(): void {
    this.#pages.clear()
  }
}

/** Pages that share a name displace each other, and are distinguished by `isSame`. */
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
