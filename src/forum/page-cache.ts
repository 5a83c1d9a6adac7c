// Caches pages of threads that many callers read while nothing is added to them. To assemble a page
// of 50 messages, from 50 places in memory, costs more than the rest of answering the request.
//
// P1. The key contains everything that the bytes depend on: what a page shows of its thread, an
//     erased message included, changes with the thread's position. So no entry is ever
//     invalidated. An empty page also shows its caller's cursor, so it is never cached.
// P2. A page is cached when assembling it has cost as much as caching it would: 50 messages on the
//     second request, two on the eighth. Beside replies, most short pages (tails) are outdated
//     before that, and the copies, which the garbage collector has to find, cost far more than the
//     pages: a tenth of the processor time of the swarm (docs/performance.md).
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
  /** Set if the page says what lies before it, and not what follows. */
  nextBefore?: number | null | undefined
}

interface Cached extends PageKey {
  bytes: Uint8Array
}

const bytesMaxDefault = 32 << 20
/** How many pages are remembered as requested; a power of two. */
const requestedCount = 8192
/** In the time that it takes to assemble one message: a page without messages, and caching one. */
const [emptyPageCost, cachingCost] = [6, 64]
const messagesPerThread = 2 ** 26

export class PageCache {
  readonly #pages: Generations<number, Cached>
  /** By a hash of a page's name: its `position` and `end` at the last request. */
  readonly #requested = new Float64Array(requestedCount)
  /** How often it has been requested so, until that is enough. */
  readonly #times = new Uint8Array(requestedCount)

  constructor(bytesMax = bytesMaxDefault) {
    this.#pages = new Generations(bytesMax)
  }

  /** The page's bytes, which never change, or null. */
  get(key: PageKey): Uint8Array | null {
    const cached = this.#pages.get(nameOf(key))
    return cached !== undefined && isSame(cached, key) ? cached.bytes : null
  }

  /** Caches a page that `get` did not find, if it was added often enough; the copy, or null. */
  add(key: PageKey, page: Uint8Array): Uint8Array | null {
    const { thread, first, end, position, nextBefore } = key
    assert(end > first, 'P1: an empty page is not cached')
    const slot = (Math.imul(thread, 0x9e3779b1) ^ first) & (requestedCount - 1)
    const mark = position * 2 ** 8 + (end & 0xff)
    if (this.#requested[slot] !== mark) this.#times[slot] = 0
    this.#requested[slot] = mark
    const enough = requestsUntilCached(end - first)
    if (this.#times[slot] < enough) this.#times[slot] += 1
    if (this.#times[slot] < enough) return null
    const bytes = new Uint8Array(page) // a Buffer would keep the whole pool that it lies in alive
    this.#pages.put(nameOf(key), { thread, first, end, position, nextBefore, bytes })
    return bytes
  }

  /** Removes all pages. */
  clear(): void {
    this.#pages.clear()
  }
}

function requestsUntilCached(messages: number): number {
  return Math.max(2, Math.ceil(cachingCost / (messages + emptyPageCost)))
}

/** Pages that share a name displace each other, and are distinguished by `isSame`. */
function nameOf({ thread, first, nextBefore }: PageKey): number {
  const name = thread * messagesPerThread + first
  return nextBefore === undefined ? name : -1 - name
}

function isSame(cached: Cached, { thread, first, end, position, nextBefore }: PageKey): boolean {
  return (
    cached.thread === thread &&
    cached.first === first &&
    cached.end === end &&
    cached.position === position &&
    cached.nextBefore === nextBefore
  )
}
