// Messages that a publisher has to send: frames that wait are merged, one that was sent is never
// changed again (publisher.ts, P3).

import { Queue } from '../base/queue.ts'
import type { Published, TermName, Unplaced } from './log-stream.ts'

export interface Outgoing {
  first: number
  last: number
  /** Bytes of its records. */
  length: number
  parts: Uint8Array[]
  /** The message as it was sent, from then on. */
  message: Unplaced | null
  /** Null: it is on its way. */
  outcome: Outcome
}

type Outcome = Published | 'unknown' | null

export class OutgoingQueue {
  readonly #bytesMax: number
  readonly #waiting = new Queue<Outgoing>()
  /** Those that were sent already and have to be sent again, before all others. */
  #again: Outgoing[] = []
  /** The last of those that wait, if more may be added to it. */
  #open: Outgoing | null = null
  #bytes = 0

  /** Frames that wait are sent as one message of at most `bytesMax`. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get length(): number {
    return this.#again.length + this.#waiting.length
  }

  /** The next one, or null. */
  get first(): Outgoing | null {
    return this.#again[0] ?? (this.#waiting.length > 0 ? this.#waiting.first : null)
  }

  /** Bytes of the records of those that wait. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds records as they stand in a frame. They are copied. */
  add(first: number, count: number, records: Uint8Array): void {
    const { length } = records
    const part = new Uint8Array(records)
    this.#bytes += length
    const open = this.#open
    if (open !== null && open.length + length <= this.#bytesMax) {
      open.last += count
      open.length += length
      open.parts.push(part)
      return
    }
    const last = first + count - 1
    this.#open = { first, last, length, parts: [part], message: null, outcome: null }
    this.#waiting.push(this.#open)
  }

  /** Puts these back at the front, in order. */
  putBack(outgoing: readonly Outgoing[]): void {
    this.#again.unshift(...outgoing)
    for (const { length } of outgoing) this.#bytes += length
  }

  /** Takes the next one. There must be one. */
  shift(): Outgoing {
    const outgoing = this.#again.shift() ?? this.#waiting.shift()
    if (outgoing === this.#open) this.#open = null
    this.#bytes -= outgoing.length
    return outgoing
  }
}

/** The message of this term, the same one whenever it is sent again. */
export function messageOf(outgoing: Outgoing, term: number, name: TermName): Unplaced {
  if (outgoing.message === null) {
    const { first, last, parts } = outgoing
    const bytes = parts.length === 1 ? parts[0] : Buffer.concat(parts)
    outgoing.message = { first, last, term, name, bytes }
    outgoing.parts = []
  }
  return outgoing.message
}

export function isFailure(outcome: Outcome): boolean {
  return outcome === 'unknown' || (outcome !== null && 'rejected' in outcome)
}

export function isRejection(outcome: Outcome, why: 'wrong_sequence' | 'full'): boolean {
  return (
    outcome !== null && outcome !== 'unknown' && 'rejected' in outcome && outcome.rejected === why
  )
}
