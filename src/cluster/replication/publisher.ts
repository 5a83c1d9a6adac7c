// Publishes the frames of a leader's log to the stream, in order, several at once.
//
//            add                  publish                acknowledged
//   frames ───────▶ waiting ──────────────▶ in flight ───────────────▶ gone
//                      ▲                        │ an error, no answer, a rejection
//                      └─── missing ones ◀──────┘ (look at the end of the stream)
//
// P1. A message is published only directly after the one before it (compare-and-set), so the stream
//     has the records of this term in their order, without gaps, each once: `sequence` is a message
//     of this term, and each message in flight names the one before it.
// P2. `acknowledged` covers only records that the stream has in this order.
// P3. After anything but an acknowledgement, the end of the stream decides: its messages of this
//     term count as acknowledged, and the publisher continues after it. A message never changes
//     once it was sent, because one that seems lost may still arrive.
// P4. If the end is of a later term, or of another term of the same number, another node leads:
//     nothing is acknowledged any more.
// P5. The owner bounds the waiting bytes: it checks `bytes` before it appends to the log.

import assert from 'node:assert/strict'
import { cutRecords } from '../../../wal/journal/format.ts'
import { LogCursor, type LogSource } from '../../../wal/journal/log-cursor.ts'
import { Waiters } from '../../../wal/journal/sync-queue.ts'
import { Backoff } from '../../base/pauses.ts'
import { isOfTerm } from './compare.ts'
import {
  type LogStream,
  type Published,
  StreamGone,
  type StreamMessage,
  StreamUnavailable,
  type TermName,
} from './log-stream.ts'
import { isFailure, isRejection, messageOf, type Outgoing, OutgoingQueue } from './outgoing.ts'

/** With eight in flight, three servers accepted 3,700 messages a second; with one, 1,400. */
const inFlightMax = 8
/** The number of messages that are sent one at a time before several at once are tried again. */
const oneByOne = 1_000
/** Waiting frames are merged into one message up to this length. */
const mergedBytesMax = 128 * 1024
/** How long a stream that can be reached may appear to lack messages: a server may lag. */
const lostAfterMs = 15_000

interface PublisherOptions {
  stream: LogStream
  term: number
  name: TermName
  /** The sequence of the stream's newest message, which this leader has published. */
  sequence: number
  /** The position of that message's last record. */
  position: number
  /** Called when `acknowledged` has advanced. */
  onAcknowledged(position: number): void
  /** Called once, when nothing will be acknowledged any more. */
  onEnded(why: Ended): void
}

/**
 * Why nothing will be acknowledged any more. `fenced`: another node leads. `lost`: the stream has
 * lost messages that it acknowledged, or ends within one that has to be sent, so that its end must
 * be compared with the log again.
 */
export type Ended =
  | { kind: 'fenced'; term: number }
  | { kind: 'lost'; position: number }
  /** The stream has no message any more, or is gone, and must be begun again (holders.ts). */
  | { kind: 'emptied' }

export class Publisher {
  readonly #options: PublisherOptions
  readonly #waiting: OutgoingQueue
  #inFlight: Outgoing[] = []
  #sequence: number
  #end: number
  #acknowledged: number
  #bytes = 0
  /** `settling`: something has failed, and the outcomes of the messages in flight are awaited. */
  #state: 'sending' | 'settling' | 'looking' | 'stopped' = 'sending'
  #isFull = false
  #inFlightMax = inFlightMax
  #leftOneByOne = 0
  /** When messages began to wait, or when the last acknowledgement arrived, if that is later. */
  #movedMs = performance.now()
  readonly #backoff = new Backoff()
  readonly #waiters = new Waiters()

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#sequence = options.sequence
    this.#waiting = new OutgoingQueue(Math.min(mergedBytesMax, options.stream.messageBytesMax))
    this.#end = this.#acknowledged = options.position
  }

  /** The position up to which the stream has everything. */
  get acknowledged(): number {
    return this.#acknowledged
  }

  /** The bytes of records that the stream has not acknowledged. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether the stream rejects messages because it is full. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** How long messages have been waiting without any acknowledgement, in milliseconds. */
  get stalledMs(): number {
    return this.#end === this.#acknowledged ? 0 : performance.now() - this.#movedMs
  }

  /** Publishes records, encoded as in a frame. They are copied. */
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

  /** Checks whether another node leads, even if there is nothing to publish. */
  check(): void {
    if (this.#state === 'sending' && this.#inFlight.length === 0) void this.#checkEnd()
  }

  /** Stops publishing, and rejects the promises of waiting callers. */
  stop(): void {
    this.#state = 'stopped'
    this.#waiters.fail(stopped())
  }

  #send(): void {
    while (
      this.#state === 'sending' &&
      this.#inFlight.length < this.#inFlightMax &&
      this.#waiting.length > 0
    ) {
      const outgoing = this.#waiting.shift()
      this.#inFlight.push(outgoing)
      this.#publish(outgoing, this.#inFlight.length - 1)
    }
  }

  /** Sends the message that has `index` others in flight before it. */
  #publish(outgoing: Outgoing, index: number): void {
    const { stream, term, name } = this.#options
    outgoing.outcome = null
    const previous = this.#inFlight[index - 1]?.message ?? undefined
    stream.publish(messageOf(outgoing, term, name), this.#sequence + index, previous).then(
      (published) => this.#complete(outgoing, published),
      () => this.#complete(outgoing, 'unknown'),
    )
  }

  #complete(outgoing: Outgoing, outcome: Published | 'unknown'): void {
    outgoing.outcome = outcome
    if (this.#state === 'stopped') return
    while (this.#isFirstAcknowledged()) {
      this.#sequence += 1
      this.#acknowledge(this.#inFlight.shift()!)
    }
    const outcomes = this.#inFlight.map((each) => each.outcome)
    if (outcomes.some(isFailure)) this.#state = 'settling'
    if (this.#state === 'sending') return this.#send()
    if (outcomes.every((each) => each !== null)) void this.#checkEnd()
  }

  /** Reads the end of the stream until it shows how to continue (P3, P4). */
  async #checkEnd(): Promise<void> {
    this.#state = 'looking'
    const { acknowledged } = this
    const { term, name } = this.#options
    /** Until when the stream may lack messages; null: it could not be reached before that. */
    let lostAtMs: number | null = null
    while (this.#state === 'looking') {
      const last = await this.#options.stream.last().catch(lookError)
      if (this.#state !== 'looking') return
      if (last !== 'unavailable') {
        const isOwn = last !== null && isOfTerm(last, { term, ...name })
        if (last !== null && last.term >= term && !isOwn) {
          return this.#endWith({ kind: 'fenced', term: last.term })
        }
        if (isOwn && last.last >= acknowledged) return this.#continueAfter(last)
        lostAtMs ??= performance.now() + lostAfterMs
        if (performance.now() > lostAtMs) {
          const { last: position } = last ?? { last: 0 }
          return this.#endWith(last === null ? { kind: 'emptied' } : { kind: 'lost', position })
        }
      } else lostAtMs = null
      await this.#backoff.pause()
    }
  }

  /**
   * Continues after the end of the stream; pauses first if messages have failed and none of them
   * has arrived there.
   */
  async #continueAfter(last: StreamMessage): Promise<void> {
    this.#sequence = last.sequence
    this.#isFull = this.#inFlight.some(({ outcome }) => isRejection(outcome, 'full'))
    const waiting = this.#waiting
    const hasFailed = this.#inFlight.length > 0
    waiting.putBack(this.#inFlight.splice(0))
    // Waiting messages may have arrived, too: sent earlier, or by a previous life of this node.
    const { length } = waiting
    while ((waiting.first?.last ?? Number.POSITIVE_INFINITY) <= last.last) {
      this.#acknowledge(waiting.shift())
    }
    const { first } = waiting
    // A previous life may have divided its records into other messages.
    if (first !== null && first.first <= last.last) {
      return this.#endWith({ kind: 'lost', position: last.last })
    }
    // Servers that forget the id of the newest message, or compare it too early, reject every
    // message in flight but the first.
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

  #acknowledge({ last, length }: Outgoing): void {
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

/**
 * Treats a removed stream, and an unexpected error, like a stream that seems to have lost messages:
 * it is checked again.
 */
function lookError(error: unknown): 'unavailable' | null {
  const isGone = error instanceof StreamGone || !(error instanceof StreamUnavailable)
  return isGone ? null : 'unavailable'
}

function stopped(): Error {
  return new StreamUnavailable('the stream: publishing has stopped')
}

/** The bytes that are read from the log ahead of the stream's acknowledgements. */
const aheadBytesMax = 8 << 20
const checkStoppedMs = 100

/**
 * Publishes the end of a log that the stream lacks: its leader stopped or was cut off before the
 * stream had acknowledged it, and no other node has led since. This end begins after `last`, the
 * stream's newest message, which is of the log's last term; `position` is the log's last position.
 * Returns false if another node leads now, or the stream has lost messages. Waits while the stream
 * is unreachable; rejects with `StreamUnavailable` when `isStopped` returns true meanwhile.
 */
export async function publishTail(
  stream: LogStream,
  log: LogSource,
  { last, position }: { last: StreamMessage; position: number },
  isStopped: () => boolean,
): Promise<boolean> {
  let hasEnded = false
  const publisher = new Publisher({
    stream,
    term: last.term,
    name: { store: log.storeId, nonce: last.name.nonce },
    sequence: last.sequence,
    position: last.last,
    onAcknowledged: () => {},
    onEnded: () => {
      hasEnded = true
    },
  })
  const cursor = new LogCursor(log, last.last)
  const timer = setInterval(() => isStopped() && publisher.stop(), checkStoppedMs)
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
    clearInterval(timer)
    publisher.stop()
    cursor.close()
  }
}
