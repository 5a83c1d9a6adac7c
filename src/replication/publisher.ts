// Publishes the frames of a leader's log to the stream, in order, several at once.
//
//            add                  publish                acknowledged
//   frames ───────▶ waiting ──────────────▶ in flight ───────────────▶ gone
//                      ▲                        │ an error, no answer, a rejection
//                      └─── missing ones ◀──────┘ (look at the end of the stream)
//
// P1. A message is published only behind the one before it (compare-and-set), so the stream has the
//     records of this term in their order, without gaps, each once: `sequence` is a message of this
//     term, and each message in flight names the one before it.
// P2. `acknowledged` covers only records that the stream has in this order.
// P3. After anything but an acknowledgement the end of the stream decides: its messages of this
//     term are acknowledged, and the publisher goes on behind it. A message is never changed once
//     it was sent, because one that seems lost may still arrive.
// P4. If the end is of a later term, or of another one of the same number, another node leads:
//     nothing is acknowledged any more.
// P5. The waiting bytes are bounded by the owner, which checks `bytes` before it appends to the
//     log.

import assert from 'node:assert/strict'
import { cutRecords } from '../../wal/journal/format.ts'
import { LogCursor, type LogPlaceToRead } from '../../wal/journal/log-cursor.ts'
import { Waiters } from '../../wal/journal/sync-queue.ts'
import { Backoff } from '../base/pauses.ts'
import { isOfTerm, nonceOf } from './compare.ts'
import {
  type LogStream,
  type Published,
  StreamGone,
  type StreamMessage,
  StreamUnavailable,
  type TermName,
} from './log-stream.ts'
import { isFailure, isRejection, messageOf, type Outgoing, OutgoingQueue } from './outgoing.ts'

/** With eight in flight, three servers took 3,700 messages a second; with one, 1,400. */
const inFlightMax = 8
/** Messages that are sent one at a time before several are tried again. */
const oneByOne = 1_000
/** Frames that wait are sent as one message up to this length. */
const mergedBytesMax = 128 * 1024
/** Where frames are gathered, so many bytes leave before the time is over. */
const gatheredBytesMax = 32 * 1024
/** The time for which the stream may seem to have lost messages: a server may answer late. */
const lostAfterMs = 15_000

interface PublisherOptions {
  stream: LogStream
  term: number
  name: TermName
  /** The newest message of the stream, which this leader has published. */
  sequence: number
  /** The position that it ends with. */
  position: number
  /** The least time between two messages, unless many bytes wait; 0: each frame leaves at once. */
  gatherMs: number
  /** Called when `acknowledged` has advanced. */
  onAcknowledged(position: number): void
  /** Called once, when nothing will be acknowledged any more. */
  onEnded(why: Ended): void
}

/**
 * Another node leads; or the stream has lost messages that it acknowledged, or ends within those
 * that are to be sent: then its end has to be compared with the log again.
 */
export type Ended =
  | { kind: 'fenced'; term: number }
  | { kind: 'lost'; position: number }
  /** The stream has no message any more, or is gone: it has to be begun again (holders.ts). */
  | { kind: 'emptied' }

export class Publisher {
  readonly #options: PublisherOptions
  readonly #waiting: OutgoingQueue
  #inFlight: Outgoing[] = []
  #sequence: number
  #end: number
  #acknowledged: number
  #bytes = 0
  /** `settling`: something failed, and the outcomes of messages in flight are awaited. */
  #state: 'sending' | 'settling' | 'looking' | 'stopped' = 'sending'
  #isFull = false
  #inFlightMax = inFlightMax
  #leftOneByOne = 0
  /** When the newest message left. */
  #sentMs = Number.NEGATIVE_INFINITY
  #gathering: NodeJS.Timeout | null = null
  /** When nothing had been waiting, or the last acknowledgement arrived. */
  #movedMs = performance.now()
  readonly #backoff = new Backoff()
  readonly #waiters = new Waiters()

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#sequence = options.sequence
    this.#waiting = new OutgoingQueue(Math.min(mergedBytesMax, options.stream.messageBytesMax))
    this.#end = this.#acknowledged = options.position
  }

  /** Up to this position the stream has everything. */
  get acknowledged(): number {
    return this.#acknowledged
  }

  /** Bytes of records that the stream has not acknowledged. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether the stream takes no more, for lack of room. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** The time that messages have waited without any acknowledgement, in milliseconds. */
  get stalledMs(): number {
    return this.#end === this.#acknowledged ? 0 : performance.now() - this.#movedMs
  }

  /** Publishes records as they stand in a frame. They are copied. */
  add(first: number, count: number, records: Uint8Array): void {
    if (this.#state === 'stopped') return
    assert(first === this.#end + 1, 'P1: frames are added in their order')
    if (this.#end === this.#acknowledged) this.#movedMs = performance.now()
    let next = first
    for (const run of cutRecords(records, this.#options.stream.messageBytesMax)) {
      this.#waiting.add(next, run.count, run.records)
      this.#bytes += run.records.length
      next += run.count
    }
    assert(next === first + count, 'P1: a frame has as many records as it says')
    this.#end = next - 1
    this.#send()
  }

  /** Resolves when the stream has everything up to this position; rejects if it never will. */
  whenAcknowledged(position: number): Promise<void> {
    if (position <= this.#acknowledged) return Promise.resolve()
    if (this.#state === 'stopped') return Promise.reject(stopped())
    return this.#waiters.add(position)
  }

  /** Looks whether another node leads, though there is nothing to publish. */
  check(): void {
    if (this.#state === 'sending' && this.#inFlight.length === 0) void this.#look()
  }

  /** Publishes nothing any more; waiting callers are rejected. */
  stop(): void {
    this.#state = 'stopped'
    if (this.#gathering !== null) clearTimeout(this.#gathering)
    this.#waiters.fail(stopped())
  }

  #send(): void {
    while (
      this.#state === 'sending' &&
      this.#inFlight.length < this.#inFlightMax &&
      this.#waiting.length > 0 &&
      !this.#isGathering()
    ) {
      const outgoing = this.#waiting.shift()
      this.#inFlight.push(outgoing)
      this.#sentMs = performance.now()
      this.#publish(outgoing, this.#inFlight.length - 1)
    }
  }

  /** Whether waiting records are to wait for more; if so, sets the timer for them. */
  #isGathering(): boolean {
    const { gatherMs } = this.#options
    if (gatherMs === 0 || this.#waiting.bytes >= gatheredBytesMax) return false
    const leftMs = this.#sentMs + gatherMs - performance.now()
    if (leftMs <= 0) return false
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null
      this.#send()
    }, leftMs)
    return true
  }

  /** Sends the message that is in flight behind `index` others. */
  #publish(outgoing: Outgoing, index: number): void {
    const { stream, term, name } = this.#options
    outgoing.outcome = null
    const behind = this.#inFlight[index - 1]?.message ?? undefined
    stream.publish(messageOf(outgoing, term, name), this.#sequence + index, behind).then(
      (published) => this.#settle(outgoing, published),
      () => this.#settle(outgoing, 'unknown'),
    )
  }

  #settle(outgoing: Outgoing, outcome: Published | 'unknown'): void {
    outgoing.outcome = outcome
    if (this.#state === 'stopped') return
    while (this.#isFirstAcknowledged()) {
      this.#sequence += 1
      this.#leave(this.#inFlight.shift()!)
    }
    const outcomes = this.#inFlight.map((each) => each.outcome)
    if (outcomes.some(isFailure)) this.#state = 'settling'
    if (this.#state === 'sending') return this.#send()
    if (outcomes.every((each) => each !== null)) void this.#look()
  }

  /** Reads the end of the stream until it says how to go on (P3, P4). */
  async #look(): Promise<void> {
    this.#state = 'looking'
    const { acknowledged } = this
    const { term, name } = this.#options
    const lostAtMs = performance.now() + lostAfterMs
    while (this.#state === 'looking') {
      const last = await this.#options.stream.last().catch(lookError)
      if (this.#state !== 'looking') return
      if (last !== 'unavailable') {
        const isOwn = last !== null && isOfTerm(last, { term, ...name })
        if (last !== null && last.term >= term && !isOwn) {
          return this.#endWith({ kind: 'fenced', term: last.term })
        }
        if (isOwn && last.last >= acknowledged) return this.#goOn(last)
        if (performance.now() > lostAtMs) {
          const { last: position } = last ?? { last: 0 }
          return this.#endWith(last === null ? { kind: 'emptied' } : { kind: 'lost', position })
        }
      }
      await this.#backoff.pause()
    }
  }

  /** Goes on behind the end of the stream; after a pause, if nothing has arrived there. */
  async #goOn(last: StreamMessage): Promise<void> {
    this.#sequence = last.sequence
    this.#isFull = this.#inFlight.some(({ outcome }) => isRejection(outcome, 'full'))
    const waiting = this.#waiting
    const hasFailed = this.#inFlight.length > 0
    waiting.putBack(this.#inFlight.splice(0))
    // Those that wait may have arrived, too: sent before, or by an earlier life of this node.
    const { length } = waiting
    while ((waiting.first?.last ?? Number.POSITIVE_INFINITY) <= last.last) {
      this.#leave(waiting.shift())
    }
    const { first } = waiting
    // Such a life may have cut its messages otherwise.
    if (first !== null && first.first <= last.last) {
      return this.#endWith({ kind: 'lost', position: last.last })
    }
    // Servers that forget the id of the newest message, or compare it too early, reject those
    // behind the first one.
    if (first !== null && isRejection(first.outcome, 'wrong_sequence')) {
      this.#inFlightMax = 1
      this.#leftOneByOne = oneByOne
    }
    if (hasFailed && waiting.length === length) {
      await this.#backoff.pause()
      if (this.#state !== 'looking') return
    }
    this.#state = 'sending'
    this.#send()
  }

  #endWith(why: Ended): void {
    this.stop()
    this.#options.onEnded(why)
  }

  #isFirstAcknowledged(): boolean {
    const outcome = this.#inFlight[0]?.outcome ?? null
    if (outcome === null || outcome === 'unknown' || 'rejected' in outcome) return false
    return outcome.sequence === this.#sequence + 1
  }

  #leave({ last, length }: Outgoing): void {
    this.#bytes -= length
    this.#acknowledged = last
    this.#movedMs = performance.now()
    this.#isFull = false
    this.#leftOneByOne -= 1
    if (this.#leftOneByOne === 0) this.#inFlightMax = inFlightMax
    this.#backoff.reset()
    this.#options.onAcknowledged(last)
    this.#waiters.advance(last)
  }
}

/** A stream that is gone is looked at again, as one that seems to have lost messages. */
function lookError(error: unknown): 'unavailable' | null {
  const isGone = error instanceof StreamGone || !(error instanceof StreamUnavailable)
  return isGone ? null : 'unavailable'
}

function stopped(): Error {
  return new StreamUnavailable('the stream: nothing is published any more')
}

/** Frames that are read ahead of the stream's acknowledgements. */
const aheadBytesMax = 8 << 20

/**
 * Publishes the end of a log that the stream does not have yet: its leader ended, or was cut off,
 * before the stream had acknowledged it, and no other node has led since. That end begins
 * behind `last`, the newest message, which is of the term of the log's end; `position` is
 * the log's last. Returns false if another node leads now, or the stream lost
 * messages; waits while it cannot be reached.
 */
export async function publishTail(
  stream: LogStream,
  log: LogPlaceToRead,
  { last, position }: { last: StreamMessage; position: number },
): Promise<boolean> {
  let hasEnded = false
  const publisher = new Publisher({
    stream,
    term: last.term,
    name: { store: log.storeId, nonce: nonceOf(last.name) },
    sequence: last.sequence,
    position: last.last,
    gatherMs: 0,
    onAcknowledged: () => {},
    onEnded: () => {
      hasEnded = true
    },
  })
  const cursor = new LogCursor(log, last.last)
  try {
    for (let read = cursor.next(); read !== null && !hasEnded; read = cursor.next()) {
      publisher.add(read.first, read.count, read.records)
      const end = read.first + read.count - 1
      if (publisher.bytes > aheadBytesMax) await publisher.whenAcknowledged(end)
    }
    await publisher.whenAcknowledged(position)
    return true
  } catch (error) {
    if (hasEnded) return false
    throw error
  } finally {
    publisher.stop()
    cursor.close()
  }
}
