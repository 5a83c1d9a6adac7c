// The main process, as a reader sees it: its records, what of them is durable, and the way for
// writes.
//
// D1. Records are applied as they come, and shown when the main process says that they are durable.
// D2. Requests are processed at the end of an event-loop iteration (http/tick.ts), in which all
//     that the main process had sent before they arrived is read: the system's buffer is smaller
//     than what one iteration reads.
// D3. After `silenceMsMax` without news of the main process, `isFresh` is false: nothing may be
//     answered from the state. Both ends go by one clock of the machine, which is never set.
// D4. When the connection ends, nothing becomes durable any more, and requests that were passed on
//     have an unknown outcome.

import type { Socket } from 'node:net'
import type { RoleName } from '../api/route.ts'
import { Histogram } from '../base/histogram.ts'
import type { CheckedRequest } from '../http/checked-request.ts'
import type { Settled } from '../http/exchange.ts'
import type { GateFailure } from '../http/gate.ts'
import {
  decodeAnswer,
  encodeRequest,
  type ForwardedAnswer,
  type ForwardedRequest,
  type LeaderLink,
} from '../replication/forwarding.ts'
import type { Role } from '../role/role.ts'
import { eachSettled, type Row, rowOfRequest, rowsMessage } from './checked-messages.ts'
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
  writeJoined,
} from './messages.ts'
import { type ReaderReport, stalenessBoundsSeconds } from './report.ts'

/** With bodies of at most 256 KiB, such a message is shorter than the longest one. */
const rowsMax = 256
const rowsBytesMax = 1 << 20

export interface MainPortEvents {
  /** What the main process sends first. */
  onSetup(setup: unknown): void
  /** Some position has become durable, or the main process shows that it is there. */
  onNews(): void
  onCheckpoint(number: number, position: number): void
  /** The node's part among those that share a log has changed. */
  onRole(role: RoleName): void
  /** Nothing becomes durable any more; what waits for that is to be refused so. */
  onFailed(failure: GateFailure): void
  /** The reader is to finish what it does, and to end. */
  onStop(): void
  /** The connection has ended; once. */
  onLost(): void
}

export class MainPort implements LeaderLink {
  /** Receives the records, once there is a state that they can be applied to. */
  role: Pick<Role, 'receive' | 'show'> | null = null
  /** That of the main process, as it said last. */
  readonly standing = { decidesUntilMs: 0, showsUntilMs: 0 }
  /** How old durable positions were when they came. */
  readonly staleness = new Histogram(stalenessBoundsSeconds)
  /** How old the newest one was. */
  stalenessMs = 0
  readonly #socket: Socket
  readonly #events: MainPortEvents
  readonly #splitter = new Splitter((kind, payload) => this.#take(kind, payload))
  readonly #pending = new Map<number, (answer: ForwardedAnswer | null) => void>()
  readonly #unsettled = new Map<number, (settled: Settled | null) => void>()
  #lastId = 0
  #waiting: Buffer[] = []
  /** Checked requests of this event-loop iteration, and the bytes of their bodies. */
  #rows: Row[] = []
  #rowsBytes = 0
  /** When the main process sent the newest message that was read. */
  #newestMs = 0
  #isLost = false

  constructor(socket: Socket, events: MainPortEvents) {
    this.#socket = socket
    this.#events = events
    socket.on('data', (chunk: Buffer) => this.#splitter.add(chunk))
    socket.on('error', () => this.#lose())
    socket.on('close', () => this.#lose())
    socket.on('end', () => this.#lose())
  }

  /** Whether what the state shows is no older than `silenceMsMax` (D3). */
  get isFresh(): boolean {
    return sharedNow() - this.#newestMs < silenceMsMax
  }

  /** Asks for all records behind this position. */
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

  /** They leave together, when what runs now has ended. */
  checked(request: CheckedRequest, done: (settled: Settled | null) => void): void {
    if (this.#isLost) return done(null)
    this.#lastId += 1
    this.#unsettled.set(this.#lastId, done)
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
      case kinds.settled:
        return eachSettled(payload, (id, settled) => this.#settle(id, settled))
      case kinds.checkpoint:
        return this.#events.onCheckpoint(numberAt(payload, 0), numberAt(payload, 1))
      case kinds.setup:
        return this.#events.onSetup(unpacked(payload))
      case kinds.role:
        return this.#events.onRole(unpacked(payload) as RoleName)
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
    if (this.role!.receive(first, count, records)) return
    throw new Error(`records before ${first} are missing`)
  }

  #advance(payload: Buffer): void {
    const [durable, sentMs] = [numberAt(payload, 0), numberAt(payload, 1)]
    this.standing.decidesUntilMs = fromShared(numberAt(payload, 2))
    this.standing.showsUntilMs = fromShared(numberAt(payload, 3))
    const ageMs = sharedNow() - sentMs
    this.#newestMs = sentMs
    this.stalenessMs = ageMs
    this.staleness.add(ageMs / 1000)
    this.role!.show(durable)
    this.#events.onNews()
  }

  #answer(payload: Buffer): void {
    const { id, answer } = decodeAnswer(payload)
    const done = this.#pending.get(id)
    this.#pending.delete(id)
    done?.(answer)
  }

  #settle(id: number, settled: Settled): void {
    const done = this.#unsettled.get(id)
    this.#unsettled.delete(id)
    done?.(settled)
  }

  #lose(): void {
    if (this.#isLost) return
    this.#isLost = true
    for (const done of this.#pending.values()) done(null)
    this.#pending.clear()
    for (const done of this.#unsettled.values()) done(null)
    this.#unsettled.clear()
    this.#events.onLost()
  }
}
