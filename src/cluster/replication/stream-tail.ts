// Reads the stream from a given message on, for as long as the process lives, and delivers the
// records that a follower does not have yet.
//
//   reading ──error──▶ waiting ──▶ reading        the pause doubles up to two seconds
//      └──a message that cannot follow──▶ failed
//
// R1. Every record is delivered once, in order and without gaps. A message that begins after the
//     next position, or has an older term, is not part of this history, and ends the reading. So
//     does a message of a later term that begins at a position which the follower's log already
//     has, and one that does not continue from the term of the preceding record (compare.ts, N1).
// R2. A message is delivered when the previous one has been processed, because the follower's own
//     log may be slower than the stream. A reading that was interrupted resumes after that, too.
// R3. Lag is measured against the end of the stream, which is looked up once a second: in
//     positions, and as the time since the stream has had the first record that is missing here.
//     While the stream is unavailable, that time keeps growing, because the lag is unknown. It is
//     exact for a lag of up to two minutes. Beyond that it may be too long, by a 64th at most, so
//     that the memory it takes is bounded however long the follower lags.
// R4. If nothing arrives during five lookups although the stream has more, the stream is read
//     again. A server whose copy has stopped growing sends nothing, and reports no error
//     (nats-server 2.9.10).
// R5. A stream without messages counts as unavailable: the reading continues when a node has begun
//     the stream again. The stream then ends before the last message read, or has a later term.
//     Either ends the reading, and the log is compared with the stream anew.

import { eachEncoded } from '../../../wal/journal/format.ts'
import { Backoff } from '../../base/pauses.ts'
import { goesOnFrom, type LogEnd } from './compare.ts'
import { type LogStream, StreamGone, type StreamMessage } from './log-stream.ts'

const lookEveryMs = 1_000
/** Longer than a message takes on a slow link. */
const idleLookupsMax = 5
/** Longer than a lagging server lacks messages. */
const shorterLookupsMax = 15
const pauseMsMin = 100
const pauseMsMax = 2_000
/** An even number. */
const missingMax = 128

/** The consumer of the records, which arrive in order of position and without gaps. */
export interface Receiver {
  readonly position: number
  /** Takes records, encoded as in a frame; resolves when it can take more. */
  receive(first: number, count: number, records: Uint8Array): Promise<void>
}

interface TailOptions {
  stream: LogStream
  receiver: Receiver
  /** The sequence of the message that holds the receiver's next record. */
  next: number
  /** The term of the receiver's last record. */
  term: Omit<LogEnd, 'position'>
  /** Called once, when the stream can be followed no longer. */
  onFailed: (error: Error) => void
  /** Called when the reading was interrupted and will resume. */
  onInterrupted: (error: Error) => void
  now?: () => number
  lookEveryMs?: number
}

/** The stream does not continue the follower's log. */
export class StreamBroken extends Error {
  override readonly name = 'StreamBroken'
}

export class StreamTail {
  readonly #options: TailOptions
  readonly #now: () => number
  #next: number
  #term: Omit<LogEnd, 'position'>
  #reading: { stop(): void } | null = null
  #timer: NodeJS.Timeout | null = null
  #lookupTimer: NodeJS.Timeout | null = null
  readonly #backoff = new Backoff(pauseMsMin, pauseMsMax)
  #isStopped = false
  #taking: Promise<void> = Promise.resolve()
  #isTaking = false
  /**
   * Consecutive lookups that found message `#awaited` in the stream, although it has not arrived.
   */
  #idleLookups = 0
  #awaited = 0
  /** Consecutive lookups that found the end of the stream before the last message read. */
  #shorterLookups = 0
  #isEmptied = false
  /** The last position of the stream by the newest lookup, and the time of that lookup. */
  #last = 0
  #lookedMs: number
  /** The missing positions that lookups have found, and the times of these lookups. */
  #missing: { position: number; sinceMs: number }[] = []
  /** Positions that were found within this time have one entry. */
  #entryMs = 0

  constructor(options: TailOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
    this.#next = options.next
    this.#term = options.term
    this.#lookedMs = this.#now()
  }

  /** The term of the last record that was delivered. */
  get term(): number {
    return this.#term.term
  }

  /** The sequence of the next message. */
  get next(): number {
    return this.#next
  }

  start(): void {
    this.#read()
    void this.#lookUp()
  }

  /** Delivers no further message; resolves when the one being processed is done. */
  stop(): Promise<void> {
    this.#isStopped = true
    this.#reading?.stop()
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (this.#lookupTimer !== null) clearTimeout(this.#lookupTimer)
    return this.#taking
  }

  /** A warning for the operator, in one sentence, when the stream has no message any more (R5). */
  get warnings(): string[] {
    if (!this.#isEmptied) return []
    return [
      'replication: the stream was removed or purged on the servers: this node shows what it ' +
        'has, until the leader has begun it again; if there is none, start this node again',
    ]
  }

  /** Returns the lag behind the stream (R3). */
  lag(): { positions: number; seconds: number } {
    const { position } = this.#options.receiver
    this.#forgetArrived()
    const nowMs = this.#now()
    const unknownMs = nowMs - this.#lookedMs
    const missingMs = nowMs - (this.#missing[0]?.sinceMs ?? nowMs)
    const behindMs = Math.max(missingMs, unknownMs > 3 * lookEveryMs ? unknownMs : 0)
    return { positions: Math.max(0, this.#last - position), seconds: behindMs / 1000 }
  }

  /** The number of entries of positions that have not arrived yet. */
  get missing(): number {
    return this.#missing.length
  }

  /** Two entries become one with the later position and the earlier time, if there are many. */
  #addMissing(position: number, sinceMs: number): void {
    if (this.#missing.length === 0) this.#entryMs = 0
    const newest = this.#missing.at(-1)
    if (newest !== undefined && sinceMs - newest.sinceMs < this.#entryMs) {
      newest.position = position
      return
    }
    this.#missing.push({ position, sinceMs })
    if (this.#missing.length < missingMax) return
    const firstMs = this.#missing[0].sinceMs
    this.#entryMs = (2 * (sinceMs - firstMs)) / missingMax
    this.#missing = this.#missing.flatMap(({ position }, i, all) => {
      return i % 2 === 0 ? [] : [{ position, sinceMs: all[i - 1].sinceMs }]
    })
  }

  /** Forgets what is no longer missing. Each lookup does it, whether or not somebody asks. */
  #forgetArrived(): void {
    const { position } = this.#options.receiver
    const arrived = this.#missing.findIndex((missing) => missing.position > position)
    this.#missing.splice(0, arrived === -1 ? this.#missing.length : arrived)
  }

  #read(): void {
    if (this.#isStopped) return
    this.#reading = this.#options.stream.read(
      this.#next,
      (message) => {
        this.#isTaking = true
        this.#taking = this.#take(message).finally(() => {
          this.#isTaking = false
        })
        return this.#taking
      },
      (error) => this.#again(error),
    )
  }

  async #take(message: StreamMessage): Promise<void> {
    if (this.#isStopped) return
    const { receiver } = this.#options
    const { sequence, first, last, term, name, bytes } = message
    if (sequence !== this.#next)
      return this.#fail(`message ${sequence} arrived in place of ${this.#next}`)
    if (term < this.term) return this.#fail(`message ${sequence} is of an older term, ${term}`)
    if (first > receiver.position + 1) {
      return this.#fail(`message ${sequence} begins at ${first}, behind ${receiver.position + 1}`)
    }
    if (term > this.term && first <= receiver.position) {
      return this.#fail(`message ${sequence} begins term ${term} at ${first}, which is taken`)
    }
    if (!goesOnFrom(message, this.#term)) {
      return this.#fail(`message ${sequence} is of another history, in term ${term}`)
    }
    this.#backoff.reset()
    const skipped = receiver.position + 1 - first
    const count = last - first + 1 - skipped
    if (count > 0) {
      const records = skipped === 0 ? bytes : recordsBehind(bytes, last - first + 1, skipped)
      if (records === null) return this.#fail(`message ${sequence} does not hold its records`)
      try {
        await receiver.receive(first + skipped, count, records)
      } catch (error) {
        return this.#giveUp(error as Error)
      }
    }
    this.#term = { ...this.#term, term, nonce: name.nonce }
    this.#next = sequence + 1
  }

  /** Reads again after a pause, unless the next message has been trimmed. */
  #again(error: Error): void {
    if (this.#isStopped) return
    this.#reading = null
    this.#options.onInterrupted(error)
    this.#timer = setTimeout(() => void this.#retry(), this.#backoff.next()).unref()
  }

  async #retry(): Promise<void> {
    try {
      await this.#taking
      const first = await this.#options.stream.firstSequence()
      if (first > this.#next) return this.#fail(`it begins at message ${first}, not ${this.#next}`)
      this.#read()
    } catch (error) {
      this.#again(error as Error)
    }
  }

  #fail(why: string): void {
    this.#giveUp(new StreamBroken(`the stream cannot be followed: ${why}`))
  }

  #giveUp(error: Error): void {
    if (this.#isStopped) return
    void this.stop()
    this.#options.onFailed(error)
  }

  async #lookUp(): Promise<void> {
    const beganMs = this.#now()
    try {
      this.#evaluate(await this.#options.stream.last(), beganMs)
    } catch (error) {
      // R3: the lag grows until the stream is available again.
      this.#idleLookups = 0
      if (error instanceof StreamGone) this.#isEmptied = true
    }
    if (this.#isStopped) return
    const pauseMs = this.#options.lookEveryMs ?? lookEveryMs
    this.#lookupTimer = setTimeout(() => void this.#lookUp(), pauseMs).unref()
  }

  /** Evaluates the result of a lookup that began at this time. */
  #evaluate(last: StreamMessage | null, beganMs: number): void {
    this.#isEmptied = last === null && this.#next > 1
    if (this.#isEmptied) return
    this.#lookedMs = this.#now()
    this.#forgetArrived()
    if (last !== null && last.last > this.#last) {
      this.#last = last.last
      this.#addMissing(last.last, beganMs)
    }
    const isShorter = last !== null && last.sequence < this.#next - 1
    this.#shorterLookups = isShorter ? this.#shorterLookups + 1 : 0
    const isOther = isShorter && last.term > this.term
    if (isOther || this.#shorterLookups > shorterLookupsMax) {
      return this.#fail(`it ends with message ${last!.sequence}, and ${this.#next - 1} was read`)
    }
    this.#watch(last?.sequence ?? 0)
  }

  /** Reads again if nothing arrives (R4); `newest` is the sequence of the newest message. */
  #watch(newest: number): void {
    const isIdle = this.#reading !== null && !this.#isTaking && newest >= this.#next
    this.#idleLookups = isIdle && this.#awaited === this.#next ? this.#idleLookups + 1 : 0
    this.#awaited = this.#next
    if (this.#idleLookups < idleLookupsMax) return
    this.#idleLookups = 0
    this.#reading?.stop()
    this.#again(new Error(`message ${this.#next} of ${newest} does not arrive`))
  }
}

/** Returns the bytes after the first `skipped` of `count` records; null if they are incomplete. */
function recordsBehind(bytes: Uint8Array, count: number, skipped: number): Uint8Array | null {
  let [index, from] = [0, 0]
  const isWhole = eachEncoded(bytes, count, (_, end) => {
    index += 1
    if (index === skipped) from = end
  })
  return isWhole ? bytes.subarray(from) : null
}
