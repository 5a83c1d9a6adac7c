// The main process as a reader sees it: the source of records and durable positions, and the way
// for writes.
//
// D1. Records are applied as they arrive, and shown when the main process says that they are
//     durable.
// D2. Requests are processed at the end of an event-loop iteration (edge/http/tick.ts). By then the
//     reader has read `unreadBytesMax` of what the main process sent before they arrived. What it
//     has read it acknowledges before the half of that is exceeded, and at least with each beat.
// D3. When the main process has been silent for `silenceMsMax`, `isFresh` is false, and nothing may
//     be answered from the state. Both ends use one clock of the machine, which is never set.
// D4. When the connection ends, nothing becomes durable any more, and the outcome of forwarded
//     requests is unknown.

import type { Socket } from 'node:net'
import { Histogram } from '../../base/histogram.ts'
import type { Outcome, RoleName } from '../../edge/api/route.ts'
import type { CheckedRequest } from '../../edge/http/checked-request.ts'
import type { GateFailure } from '../../edge/http/gate.ts'
import type { Role } from '../../engine/role/role.ts'
import type { Seen } from '../../forum/identities/last-seen.ts'
import {
  decodeAnswer,
  encodeRequest,
  type ForwardedAnswer,
  type ForwardedRequest,
  type LeaderLink,
} from '../replication/forwarding.ts'
import { eachOutcome, type Row, rowOfRequest, rowsMessage } from './checked-messages.ts'
import {
  frameOf,
  fromShared,
  type Kind,
  kinds,
  message,
  numberAt,
  numbersMessage,
  packedMessage,
  Splitter,
  sharedNow,
  silenceMsMax,
  unpacked,
  unreadBytesMax,
  writeJoined,
} from './messages.ts'
import { type ReaderReport, stalenessBoundsSeconds } from './report.ts'

/** With bodies of at most 256 KiB, such a message stays below the maximum length. */
const rowsMax = 256
const rowsBytesMax = 1 << 20
/** Shorter than the pause between beats (hub.ts). */
const acknowledgeMs = 200

export interface MainPortEvents {
  /** Called with the first message of the main process. */
  onSetup(setup: unknown): void
  /**
   * Called for each durable position, including repeated ones, which show that the main process is
   * alive.
   */
  onNews(): void
  onCheckpoint(number: number, position: number): void
  /** The node's role among those that share a log has changed. */
  onRole(role: RoleName): void
  /** Identities were seen by the main process, or by another reader. */
  onSeen(seen: Seen): void
  /** What waits now must be refused, because nobody knows when it can be decided. */
  onGiveUp(): void
  /** Nothing becomes durable any more; what waits must be refused with this reason. */
  onFailed(failure: GateFailure): void
  /** The reader must finish its work and exit. */
  onStop(): void
  /** Called once, when the connection has ended. */
  onLost(): void
}

export class MainPort implements LeaderLink {
  /** Receives the records; null until there is a state that they can be applied to. */
  role: Pick<Role, 'receive' | 'show'> | null = null
  /** The standing of the main process, by its newest message. */
  readonly standing = { decidesUntilMs: 0, showsUntilMs: 0 }
  /** The ages of durable positions on arrival. */
  readonly staleness = new Histogram(stalenessBoundsSeconds)
  /** The age of the newest durable position on arrival. */
  stalenessMs = 0
  readonly #socket: Socket
  readonly #events: MainPortEvents
  readonly #splitter = new Splitter((kind, payload) => this.#take(kind, payload))
  readonly #pending = new Map<number, (answer: ForwardedAnswer | null) => void>()
  readonly #unanswered = new Map<number, (outcome: Outcome | null) => void>()
  #lastId = 0
  #waiting: Buffer[] = []
  /** The checked requests of this event-loop iteration, and the total length of their bodies. */
  #rows: Row[] = []
  #rowsBytes = 0
  /** When the main process sent the newest durable position that was read. */
  #lastSentMs = 0
  #isLost = false
  /** The bytes read so far, and the number and the time that were acknowledged last. */
  #bytes = 0
  #acknowledged = { bytes: 0, ms: 0 }

  constructor(socket: Socket, events: MainPortEvents) {
    this.#socket = socket
    this.#events = events
    socket.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length
      this.#splitter.add(chunk)
    })
    socket.on('error', () => this.#lose())
    socket.on('close', () => this.#lose())
    socket.on('end', () => this.#lose())
  }

  /** Whether the state was confirmed within the last `silenceMsMax` (D3). */
  get isFresh(): boolean {
    return sharedNow() - this.#lastSentMs < silenceMsMax
  }

  /** Requests all records after this position. */
  start(position: number): void {
    this.#socket.write(numbersMessage(kinds.start, position))
  }

  report(report: ReaderReport): void {
    if (!this.#isLost) this.#socket.write(packedMessage(kinds.report, report))
  }

  request(request: ForwardedRequest, done: (answer: ForwardedAnswer | null) => void): void {
    if (this.#isLost) return done(null)
    this.#lastId += 1
    this.#pending.set(this.#lastId, done)
    const encoded = encodeRequest(this.#lastId, request)
    this.#waiting.push(message(kinds.request, encoded))
    encoded.fill(0)
    if (this.#waiting.length === 1) setImmediate(() => this.#send())
  }

  /** Queues a checked request. Those of one callback leave together, once it has returned. */
  checked(request: CheckedRequest, done: (outcome: Outcome | null) => void): void {
    if (this.#isLost) return done(null)
    this.#lastId += 1
    this.#unanswered.set(this.#lastId, done)
    this.#rowsBytes += request.call.bodyBytes
    const count = this.#rows.push(rowOfRequest(this.#lastId, request))
    if (count === rowsMax || this.#rowsBytes > rowsBytesMax) this.#sendRows()
    else if (count === 1) process.nextTick(() => this.#sendRows())
  }

  #sendRows(): void {
    if (this.#rows.length > 0 && !this.#isLost) {
      writeJoined(this.#socket, [rowsMessage(kinds.checked, this.#rows)])
    }
    this.#rows = []
    this.#rowsBytes = 0
  }

  #send(): void {
    const waiting = this.#waiting
    this.#waiting = []
    if (!this.#isLost) writeJoined(this.#socket, waiting)
  }

  #take(kind: Kind, payload: Buffer): void {
    switch (kind) {
      case kinds.frame:
        return this.#receive(payload)
      case kinds.durable:
        return this.#advance(payload)
      case kinds.answer:
        return this.#answer(payload)
      case kinds.outcomes:
        return eachOutcome(payload, (id, outcome) => this.#complete(id, outcome))
      case kinds.checkpoint:
        return this.#events.onCheckpoint(numberAt(payload, 0), numberAt(payload, 1))
      case kinds.setup:
        return this.#events.onSetup(unpacked(payload))
      case kinds.role:
        return this.#events.onRole(unpacked(payload) as RoleName)
      case kinds.seen:
        return this.#events.onSeen(unpacked(payload) as Seen)
      case kinds.giveUp:
        return this.#events.onGiveUp()
      case kinds.failed:
        return this.#events.onFailed(unpacked(payload) as GateFailure)
      case kinds.stop:
        return this.#events.onStop()
      default:
        throw new Error(`the main process does not send messages of kind ${kind}`)
    }
  }

  #receive(payload: Buffer): void {
    const { first, count, records } = frameOf(payload)
    const isNext = this.role!.receive(first, count, records)
    if (!isNext) throw new Error(`records before ${first} are missing`)
    this.#acknowledge(first + count - 1, sharedNow())
  }

  #advance(payload: Buffer): void {
    const [durable, sentMs] = [numberAt(payload, 0), numberAt(payload, 1)]
    this.standing.decidesUntilMs = fromShared(numberAt(payload, 2))
    this.standing.showsUntilMs = fromShared(numberAt(payload, 3))
    const nowMs = sharedNow()
    const ageMs = nowMs - sentMs
    this.#lastSentMs = sentMs
    this.stalenessMs = ageMs
    this.staleness.add(ageMs / 1000)
    this.role!.show(durable)
    this.#acknowledge(durable, nowMs)
    this.#events.onNews()
  }

  /** Tells the main process what has been read, unless it was told shortly before (D2). */
  #acknowledge(position: number, nowMs: number): void {
    const { bytes, ms } = this.#acknowledged
    if (this.#bytes - bytes < unreadBytesMax / 2 && nowMs - ms < acknowledgeMs) return
    this.#acknowledged = { bytes: this.#bytes, ms: nowMs }
    this.#socket.write(numbersMessage(kinds.read, this.#bytes, position))
  }

  #answer(payload: Buffer): void {
    const { id, answer } = decodeAnswer(payload)
    const done = this.#pending.get(id)
    this.#pending.delete(id)
    done?.(answer)
  }

  #complete(id: number, outcome: Outcome): void {
    const done = this.#unanswered.get(id)
    this.#unanswered.delete(id)
    done?.(outcome)
  }

  #lose(): void {
    if (this.#isLost) return
    this.#isLost = true
    for (const done of this.#pending.values()) done(null)
    this.#pending.clear()
    for (const done of this.#unanswered.values()) done(null)
    this.#unanswered.clear()
    this.#events.onLost()
  }
}
