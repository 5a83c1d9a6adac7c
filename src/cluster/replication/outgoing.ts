// The messages that a publisher has to send. Waiting frames are merged, but a message never changes
// once it was sent (publisher.ts, P3).

import { Queue } from '../../base/queue.ts'
import type { Published, TermName, Unplaced } from './log-stream.ts'

export interface Outgoing {
  first: number
  last: number
  /** The total length of its records, in bytes. */
  length: number
  parts: Uint8Array[]
  /** The message, from the first time it was sent. */
  message: Unplaced | null
  /** Null: it was not sent yet, or is in flight. */
  outcome: Outcome
}

type Outcome = Published | 'unknown' | null

export class OutgoingQueue {
  readonly #bytesMax: number
  readonly #waiting = new Queue<Outgoing>()
  /** Messages that were sent already and must be sent again, before all others. */
  #again: Outgoing[] = []
  /** The last waiting message, if more records may be added to it. */
  #open: Outgoing | null = null

  /** Waiting frames are merged into messages of at most `bytesMax`. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get length(): number {
    return this.#again.length + this.#waiting.length
  }

  /** The next message, or null. */
  get first(): Outgoing | null {
    return this.#again[0] ?? (this.#waiting.length > 0 ? this.#waiting.first : null)
  }

  /** Adds records, encoded as in a frame. They are copied. */
  add(first: number, count: number, records: Uint8Array): void {
    const { length } = records
    const part = new Uint8Array(records)
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
  }

  /** Removes and returns the next message. There must be one. */
  shift(): Outgoing {
    const outgoing = this.#again.shift() ?? this.#waiting.shift()
    if (outgoing === this.#open) this.#open = null
    return outgoing
  }
}

/** Returns the message of this term; it is the same object whenever it is sent again. */
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
