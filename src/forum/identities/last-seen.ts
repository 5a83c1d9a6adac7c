// When each identity last sent a request with its token, to the minute. It is not state: it is in
// no record and no checkpoint, and nothing is known from before the start of the process.
//
//   a request ──note──▶ recent ──at most a second later──▶ minutes
//
// L1. A request costs one comparison, and reads no clock: the first of an identity's requests in a
//     second notes it as recent. All that are recent get the same time, when somebody asks or a
//     timer fires.
// L2. With readers, each process passes what it knows on to the others, twice a second
//     (cluster/readers/). Nodes that share a log tell each other nothing.

import { Uint32Column } from '../../kernel/columns/column.ts'

const flushMs = 1000
const minuteMs = 60_000
const marksAtFirst = 1024

/** Pairs of an identity and a minute since the epoch, one after the other. */
export type Seen = number[]

export class LastSeen {
  readonly #now: () => number
  /** By identity, the minute since the epoch in which it was last seen. */
  readonly #minutes = new Uint32Column()
  /** By identity, the number of the flush that will give it a time. */
  #marks = new Uint32Array(marksAtFirst)
  readonly #recent: number[] = []
  #flushes = 1
  /** What has changed since `takeNews`; null: nobody takes it. */
  #news: Seen | null = null

  /** `now` returns milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Notes that the identity has sent a request. */
  note(identity: number): void {
    if (this.#marks[identity] === this.#flushes) return
    if (identity >= this.#marks.length) this.#growMarks(identity)
    this.#marks[identity] = this.#flushes
    if (this.#recent.push(identity) === 1) setTimeout(() => this.#flush(), flushMs).unref()
  }

  /** Returns the beginning of the minute in which the identity was last seen, or null. */
  at(identity: number): number | null {
    this.#flush()
    const minute = identity < this.#minutes.length ? this.#minutes.get(identity) : 0
    return minute === 0 ? null : minute * minuteMs
  }

  /** Returns what has changed since it was called last; at first, everything. */
  takeNews(): Seen {
    this.#flush()
    const news = this.#news ?? this.all()
    this.#news = []
    return news
  }

  all(): Seen {
    this.#flush()
    const seen: Seen = []
    for (let identity = 0; identity < this.#minutes.length; identity++) {
      const minute = this.#minutes.get(identity)
      if (minute > 0) seen.push(identity, minute)
    }
    return seen
  }

  /** Adds what another process knows. `isNews`: this one passes it on. */
  merge(seen: Seen, isNews: boolean): void {
    for (let i = 0; i < seen.length; i += 2) this.#set(seen[i], seen[i + 1], isNews)
  }

  #growMarks(identity: number): void {
    const longer = new Uint32Array(2 * Math.max(identity, this.#marks.length))
    longer.set(this.#marks)
    this.#marks = longer
  }

  #flush(): void {
    if (this.#recent.length === 0) return
    const minute = Math.floor(this.#now() / minuteMs)
    for (const identity of this.#recent) this.#set(identity, minute, true)
    this.#recent.length = 0
    this.#flushes += 1
  }

  #set(identity: number, minute: number, isNews: boolean): void {
    grow(this.#minutes, identity)
    if (this.#minutes.get(identity) >= minute) return
    this.#minutes.set(identity, minute)
    if (isNews) this.#news?.push(identity, minute)
  }
}

/** Adds rows of zeros, so that the column has one for the identity. */
function grow(column: Uint32Column, identity: number): void {
  const missing = identity + 1 - column.length
  if (missing > 0) column.extend(missing)
}
