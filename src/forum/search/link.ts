// The path of searches to the index, and of its answers back, in the node or in a reader.
//
//   find ──▶ waits ──its caller's turn──▶ in flight ──found──▶ its route runs ──▶ done
//     │        └─────late, or stopped───────────┴──▶ refused
//     └── too many ──▶ refused
//
// L1. At most `placesMax` searches have a place: they are in flight, or found while their routes
//     have yet to run. The others wait for a place, and callers take turns. No caller has more than
//     its share of the places, so that one is free for the next caller.
// L2. At most `pendingMax` searches wait or have a place, and no caller has more than its share of
//     these (base/shares.ts). Further searches are refused.
// L3. The process of the index may end at any time; searches in flight are then sent to the next
//     one. A search without an answer after `patienceMs` is refused, and gives its place back.

import type { Socket } from 'node:net'
import { Histogram } from '../../base/histogram.ts'
import { type Holder, Shares } from '../../base/shares.ts'
import { type Found, receive, type Search, send } from './protocol.ts'

const placesMax = 4
const pendingMax = 256
const patienceMs = 10_000
const checkEveryMs = 1000

export type SearchRequest = Omit<Search, 'type' | 'id'> & {
  /** The caller whose turn the search takes (base/shares.ts). */
  turn: Holder
}

/** The result of a search. Call `done` when it is no longer needed. */
export type Hits = Pick<Found, 'messages' | 'next' | 'covered'> & { done(): void }

interface Pending {
  request: SearchRequest
  begun: number
  resolve(hits: Hits | null): void
}

const boundsSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 10]

export class SearchLink {
  /** Searches that were refused because of a limit. */
  refused = 0
  readonly times = new Histogram(boundsSeconds)
  /** All messages before this number are indexed, as far as this process knows. */
  covered = 0
  #socket: Socket | null = null
  #lastId = 0
  /** The waiting searches of each caller. Callers are in the order of their turns. */
  readonly #waiting = new Map<Holder, Pending[]>()
  readonly #shares = new Shares(pendingMax)
  readonly #inFlight = new Map<number, Pending>()
  /** The searches that have a place (L1). */
  readonly #places = new Shares(placesMax)
  #isStopped = false
  #timer: NodeJS.Timeout | null = null

  /** The number of searches that wait or have a place. */
  get length(): number {
    return this.#shares.taken
  }

  /** Sends searches over this socket from now on, beginning with those that are in flight. */
  connect(socket: Socket): void {
    this.#socket = socket
    for (const [id, { request }] of this.#inFlight) this.#send(id, request)
    this.#sendNext()
  }

  /** Stops sending: the index is gone, and another one will come. */
  disconnect(): void {
    this.#socket = null
  }

  /** Resolves the search that the index has answered. */
  take(found: Found): void {
    this.covered = found.covered
    const pending = this.#inFlight.get(found.id)
    if (pending === undefined) return // it was late, and has been refused
    this.#inFlight.delete(found.id)
    this.times.add((performance.now() - pending.begun) / 1000)
    let isDone = false
    const done = () => {
      if (isDone) return
      isDone = true
      this.#places.giveBack(pending.request.turn)
      this.#shares.giveBack(pending.request.turn)
      this.#sendNext()
    }
    const { messages, next, covered } = found
    pending.resolve({ messages, next, covered, done })
  }

  /** Takes answers from this socket, over which the index sends nothing else. */
  receiveFrom(socket: Socket): void {
    receive<Found>(socket, (found) => this.take(found))
  }

  /**
   * Sends a search to the index when its turn comes. Resolves to null if there are too many
   * searches, or if the index cannot be reached in time.
   */
  find(request: SearchRequest): Promise<Hits | null> {
    if (this.#isStopped || !this.#shares.mayTake(request.turn)) {
      this.refused += 1
      return Promise.resolve(null)
    }
    this.#shares.take(request.turn)
    const own = this.#waiting.get(request.turn) ?? []
    this.#timer ??= setInterval(() => this.#giveUp(), checkEveryMs).unref()
    return new Promise((resolve) => {
      own.push({ request, begun: performance.now(), resolve })
      this.#waiting.set(request.turn, own)
      this.#sendNext()
    })
  }

  /** Refuses all searches, now and later. */
  stop(): void {
    this.#isStopped = true
    if (this.#timer !== null) clearInterval(this.#timer)
    for (const pending of this.#inFlight.values()) this.#refuse(pending)
    for (const pending of [...this.#waiting.values()].flat()) this.#refuse(pending)
    this.#inFlight.clear()
    this.#waiting.clear()
  }

  #sendNext(): void {
    while (this.#socket !== null) {
      const turn = [...this.#waiting.keys()].find((holder) => this.#places.mayTake(holder))
      if (turn === undefined) return
      const own = this.#waiting.get(turn)!
      const pending = own.shift()!
      this.#waiting.delete(turn)
      if (own.length > 0) this.#waiting.set(turn, own) // behind the other callers
      this.#places.take(turn)
      this.#lastId += 1
      this.#inFlight.set(this.#lastId, pending)
      this.#send(this.#lastId, pending.request)
    }
  }

  #send(id: number, { turn: _, ...search }: SearchRequest): void {
    if (this.#socket !== null) send(this.#socket, { type: 'search', id, ...search })
  }

  /** Refuses searches that are late (L3). */
  #giveUp(): void {
    const before = performance.now() - patienceMs
    const isLate = ({ begun }: Pending) => begun < before
    for (const [id, pending] of this.#inFlight) {
      if (!isLate(pending)) continue
      this.#inFlight.delete(id)
      this.#places.giveBack(pending.request.turn)
      this.#refuse(pending)
    }
    for (const [turn, own] of this.#waiting) {
      const left = own.filter((pending) => !isLate(pending))
      for (const pending of own) if (isLate(pending)) this.#refuse(pending)
      if (left.length === 0) this.#waiting.delete(turn)
      else this.#waiting.set(turn, left)
    }
    this.#sendNext()
  }

  #refuse({ request, resolve }: Pending): void {
    this.refused += 1
    this.#shares.giveBack(request.turn)
    resolve(null)
  }
}
