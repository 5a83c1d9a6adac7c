// Caches pages of threads that many callers read while nothing is added to them. Assembling a page
// of 50 messages, from 50 places in memory, costs more than the rest of answering the request.
//
// P1. The key contains everything that the bytes depend on, so no entry is ever invalidated: any
//     change to what a page shows of its thread, such as a message being erased, changes the
//     thread's position. An empty page also shows its caller's cursor, so it is never cached.
// P2. A page is cached once assembling it has cost as much as caching it would: with 50 messages on
//     the second request, with two on the eighth. Beside a stream of replies, most short pages
//     (tails) are outdated before that, and their copies, which the garbage collector has to find,
//     would cost far more than assembling them: a tenth of the processor time of the swarm
//     (docs/performance.md).
// P3. The size of the cache is bounded, and pages that were read recently stay
//     (kernel/generations.ts).

import assert from 'node:assert/strict'
import { Generations } from '../../kernel/generations.ts'

export interface PageKey {
  thread: number
  /** The thread's messages from index `first` up to, but not including, `end`. */
  first: number
  end: number
  /** The position of the thread's last change. */
  position: number
  /** Set on a page that was read with `before`, which says what precedes it, not what follows. */
  nextBefore?: number | null | undefined
}

interface Cached extends PageKey {
  bytes: Uint8Array
}

const bytesMaxDefault = 32 << 20
/** The number of pages for which requests are counted; a power of two. */
const requestedCount = 8192
/** Costs in units of assembling one message: of a page without messages, and of caching one. */
const [emptyPageCost, cachingCost] = [6, 64]
const messagesPerThread = 2 ** 26

export class PageCache {
  readonly #pages: Generations<number, Cached>
  /** By a hash of a page's name: its `position` and `end` at the last request. */
  readonly #requested = new Float64Array(requestedCount)
  /** The number of such requests, up to the one at which the page is cached. */
  readonly #times = new Uint8Array(requestedCount)

  constructor(bytesMax = bytesMaxDefault) {
    this.#pages = new Generations(bytesMax)
  }

  /** Returns the page's bytes, which never change, or null. */
  get(key: PageKey): Uint8Array | null {
    const cached = this.#pages.get(nameOf(key))
    return cached !== undefined && isSame(cached, key) ? cached.bytes : null
  }

  /** Caches a page that `get` did not find, if added often enough. Returns the copy, or null. */
  add(key: PageKey, page: Uint8Array): Uint8Array | null {
    const { thread, first, end, position, nextBefore } = key
    assert(end > first, 'P1: an empty page is not cached')
    const index = (Math.imul(thread, 0x9e3779b1) ^ first) & (requestedCount - 1)
    const mark = position * 2 ** 8 + (end & 0xff)
    if (this.#requested[index] !== mark) this.#times[index] = 0
    this.#requested[index] = mark
    const enough = requestsUntilCached(end - first)
    if (this.#times[index] < enough) this.#times[index] += 1
    if (this.#times[index] < enough) return null
    const bytes = new Uint8Array(page) // a Buffer would keep alive the whole pool that it lies in
    this.#pages.put(nameOf(key), { thread, first, end, position, nextBefore, bytes })
    return bytes
  }

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
