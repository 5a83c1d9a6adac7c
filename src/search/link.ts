// Searches on their way to the index and back, in the node or in a reader.
//
//   find ──▶ waits ──its caller's turn──▶ asked ──found──▶ its request runs ──▶ done
//              └── too many, too late, stopped ──▶ refused
//
// L1. At most `askedMax` searches are asked at a time, including those whose requests have yet to
//     run; the others wait, and callers take turns.
// L2. At most `pendingMax` wait or are asked, and no caller has more than its share of that
//     (base/shares.ts); a further one is refused.
// L3. The process of the index may end at any time: what was asked is asked again of the next one.
//     A search that has waited for `patienceMs` is refused.

import type { Socket } from 'node:net'
import { Histogram } from '../base/histogram.ts'
import { type Holder, Shares } from '../base/shares.ts'
import { type Found, receive, type Search, send } from './protocol.ts'

const askedMax = 4
const pendingMax = 256
const patienceMs = 10_000
const checkEveryMs = 1000

export type Asked = Omit<Search, 'type' | 'id'> & {
  /** Whose turn it takes (base/shares.ts). */
  turn: Holder
}

/** What was found. `done` is to be called when nothing more is made of it. */
export type Hits = Pick<Found, 'messages' | 'next' | 'covered'> & { done(): void }

interface Pending {
  asked: Asked
  begun: number
  resolve(hits: Hits | null): void
}

const boundsSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 10]

export class SearchLink {
  /** Searches that were refused because of a limit. */
  refused = 0
  /** How long searches took. */
  readonly times = new Histogram(boundsSeconds)
  /** All messages before this number are indexed, as far as is known. */
  covered = 0
  #socket: Socket | null = null
  #lastId = 0
  /** Searches that wait for the turn of their caller, who is the key; in the order of turns. */
  readonly #waiting = new Map<Holder, Pending[]>()
  readonly #shares = new Shares(pendingMax)
  readonly #asked = new Map<number, Pending>()
  /** Searches that were asked, and whose requests have not run. */
  #open = 0
  #isStopped = false
  #timer: NodeJS.Timeout | null = null

  /** How many searches wait or are done. */
  get length(): number {
    return this.#shares.taken
  }

  /** The index is reached through this socket from now on. */
  connect(socket: Socket): void {
    this.#socket = socket
    for (const [id, { asked }] of this.#asked) this.#send(id, asked)
    this.#askNext()
  }

  /** The index is gone; another one will come. */
  disconnect(): void {
    this.#socket = null
  }

  /** Takes what the index has found. */
  take(found: Found): void {
    this.covered = found.covered
    const pending = this.#asked.get(found.id)
    if (pending === undefined) return // it was too late
    this.#asked.delete(found.id)
    this.times.add((performance.now() - pending.begun) / 1000)
    let isDone = false
    const done = () => {
      if (isDone) return
      isDone = true
      this.#open -= 1
      this.#shares.giveBack(pending.asked.turn)
      this.#askNext()
    }
    const { messages, next, covered } = found
    pending.resolve({ messages, next, covered, done })
  }

  /** Receives what the index sends over this socket, where it sends nothing else. */
  receiveFrom(socket: Socket): void {
    receive<Found>(socket, (found) => this.take(found))
  }

  /** Null: there are too many, or the index cannot be reached. */
  find(asked: Asked): Promise<Hits | null> {
    if (this.#isStopped || !this.#shares.mayTake(asked.turn)) {
      this.refused += 1
      return Promise.resolve(null)
    }
    this.#shares.take(asked.turn)
    const own = this.#waiting.get(asked.turn) ?? []
    this.#timer ??= setInterval(() => this.#giveUp(), checkEveryMs).unref()
    return new Promise((resolve) => {
      own.push({ asked, begun: performance.now(), resolve })
      this.#waiting.set(asked.turn, own)
      this.#askNext()
    })
  }

  /** Refuses everything, now and later. */
  stop(): void {
    this.#isStopped = true
    if (this.#timer !== null) clearInterval(this.#timer)
    for (const pending of this.#asked.values()) this.#refuse(pending)
    for (const pending of [...this.#waiting.values()].flat()) this.#refuse(pending)
    this.#asked.clear()
    this.#waiting.clear()
  }

  #askNext(): void {
    while (this.#socket !== null && this.#open < askedMax && this.#waiting.size > 0) {
      const [[turn, own]] = this.#waiting as Iterable<[Holder, Pending[]]>
      const pending = own.shift()!
      this.#waiting.delete(turn)
      if (own.length > 0) this.#waiting.set(turn, own) // behind the other callers
      this.#open += 1
      this.#lastId += 1
      this.#asked.set(this.#lastId, pending)
      this.#send(this.#lastId, pending.asked)
    }
  }

  #send(id: number, { turn: _, ...search }: Asked): void {
    if (this.#socket !== null) send(this.#socket, { type: 'search', id, ...search })
  }

  /** Refuses what has waited for too long (L3). */
  #giveUp(): void {
    const before = performance.now() - patienceMs
    const isLate = ({ begun }: Pending) => begun < before
    for (const [id, pending] of this.#asked) {
      if (!isLate(pending)) continue
      this.#asked.delete(id)
      this.#open -= 1
      this.#refuse(pending)
    }
    for (const [turn, own] of this.#waiting) {
      const left = own.filter((pending) => !isLate(pending))
      for (const pending of own) if (isLate(pending)) this.#refuse(pending)
      if (left.length === 0) this.#waiting.delete(turn)
      else this.#waiting.set(turn, left)
    }
  }

  #refuse({ asked, resolve }: Pending): void {
    this.refused += 1
    this.#shares.giveBack(asked.turn)
    resolve(null)
  }
}
