// One reader as the main process sees it: what is sent to it, and how far it has come.
//
//   connected ──start──▶ catching up, from the files of the log ──▶ live ──▶ serving
//        └───────────────────────────┴──────────────────────────────┴───────────┴──▶ gone
//
// P1. A reader receives every record after its starting position, once and in order: first from the
//     files of the log, then from frames as they are written. The switch happens within one
//     event-loop iteration, when the cursor has reached the last written frame.
// P2. Of a position it is known that the reader has its records when requests find them there:
//     either the reader has acknowledged them, or so little is unread that it reads them first.
// P3. At most `waitingBytesMax` wait here for a reader that does not consume; beyond that it is
//     disconnected.
//
// Neighbours: hub.ts has all of them; main-port.ts is the other end.

import type { Socket } from 'node:net'
import { LogCursor, type LogSource } from '../../../wal/journal/log-cursor.ts'
import type { Handler } from '../../edge/http/exchange.ts'
import type { Edge } from '../../edge/http/handle.ts'
import { answerForwarded, decodeRequest, encodeAnswer } from '../replication/forwarding.ts'
import { type Row, rowsMessage, runEach } from './checked-messages.ts'
import {
  frameMessage,
  type Kind,
  kinds,
  message,
  numberAt,
  Splitter,
  unpacked,
  unreadBytesMax,
  writeJoined,
} from './messages.ts'
import type { ReaderReport } from './report.ts'

const waitingBytesMax = 64 << 20
/** While more than this waits, the log is not read ahead for a reader that catches up. */
const aheadBytesMax = 4 << 20
/** The time that catching up may take from an event-loop iteration. */
const sliceMs = 1
/** Live frames wait until they are durable, unless they exceed this size. */
const framesBytesMax = 64 << 10
/** The most outcomes in one message; most outcomes take less than 100 bytes. */
const outcomesMax = 1024

export interface ReaderPortParts {
  socket: Socket
  log: LogSource
  /** Returns the position of the last record in a written frame. */
  written: () => number
  /** Returns the durable position that readers were told last. */
  announced: () => number
  /** The main process's edge. */
  handler: Handler
  run: Edge['run']
  now: () => number
  /** Called when the reader has become live. */
  onLive(): void
  /** Called when `has` may return true for a further position. */
  onRead(): void
  /** Called when there are answers: the caller must call `sendAnswers` soon. */
  onAnswer(): void
  /** Called with each report; `before` is the previous one. */
  onReport(report: ReaderReport, before: ReaderReport | null): void
  /** Called once, when the connection has ended. */
  onGone(why: string): void
}

export class ReaderPort {
  isLive = false
  /** The newest report; null: none has arrived yet. */
  report: ReaderReport | null = null
  /** When the reader's newest message arrived. */
  heardMs: number
  readonly #parts: ReaderPortParts
  readonly #splitter = new Splitter((kind, payload) => this.#take(kind, payload))
  /** Frames and answers that are not sent yet. There are no other references to them. */
  #frames: Buffer[] = []
  #framesBytes = 0
  #answers: Buffer[] = []
  /** Outcomes of checked requests, which are sent with the answers. */
  #outcomes: Row[] = []
  #cursor: LogCursor | null = null
  /** The bytes that were sent, and how many of them the reader is known to have read. */
  #sentBytes = 0
  #readBytes = 0
  /** The position of the last record that the reader is known to have read. */
  #readPosition = 0
  /** Whether the next slice of catching up is scheduled. */
  #isSlicePlanned = false
  #isGone = false

  constructor(parts: ReaderPortParts) {
    this.#parts = parts
    this.heardMs = parts.now()
    const { socket } = parts
    socket.on('data', (chunk: Buffer) => {
      try {
        this.#splitter.add(chunk)
      } catch (error) {
        this.giveUp((error as Error).message)
      }
    })
    socket.on('drain', () => {
      this.#catchUp()
      parts.onRead()
    })
    socket.on('error', (error) => this.giveUp(error.message))
    socket.on('close', () => this.giveUp('its connection has ended'))
  }

  /** Whether it serves callers, by its newest report. */
  get isServing(): boolean {
    return this.report?.isServing === true
  }

  /**
   * Returns whether requests that arrive from now on find the records up to this position there,
   * which must have been sent (P2).
   */
  has(position: number): boolean {
    if (position <= this.#readPosition) return true
    const { writableLength } = this.#parts.socket
    return writableLength === 0 && this.#sentBytes - this.#readBytes <= unreadBytesMax
  }

  /** Queues the message of a frame that has been written. */
  addFrame(bytes: Buffer): void {
    this.#frames.push(bytes)
    this.#framesBytes += bytes.length
    if (this.#framesBytes > framesBytesMax) this.send()
  }

  /**
   * Sends the frames that wait, followed by this message, in one system call, so that the reader
   * wakes only once.
   */
  send(bytes?: Buffer): void {
    const { socket } = this.#parts
    if (this.#isGone) return
    if (bytes !== undefined) this.#frames.push(Buffer.from(bytes)) // it is sent to others, too
    if (this.#frames.length > 0) this.#write(this.#frames)
    this.#frames = []
    this.#framesBytes = 0
    if (socket.writableLength > waitingBytesMax) this.giveUp('it does not consume what is sent')
  }

  sendAnswers(): void {
    const { length } = this.#outcomes
    for (let from = 0; from < length; from += outcomesMax) {
      const rows = this.#outcomes.slice(from, from + outcomesMax)
      this.#answers.push(rowsMessage(kinds.outcomes, rows))
    }
    this.#outcomes = []
    if (this.#answers.length === 0) return
    this.#frames.push(...this.#answers)
    this.#answers = []
    this.send()
  }

  /** Closes the connection, for this reason. */
  giveUp(why: string): void {
    if (this.#isGone) return
    this.#isGone = true
    this.isLive = false
    this.#cursor?.close()
    this.#cursor = null
    this.#parts.socket.destroy()
    this.#parts.onGone(why)
  }

  #write(messages: readonly Buffer[]): void {
    for (const { length } of messages) this.#sentBytes += length
    writeJoined(this.#parts.socket, messages)
  }

  #take(kind: Kind, payload: Buffer): void {
    this.heardMs = this.#parts.now()
    if (kind === kinds.read) return this.#noteRead(numberAt(payload, 0), numberAt(payload, 1))
    if (kind === kinds.checked) return this.#run(payload)
    if (kind === kinds.request) return this.#answer(payload)
    if (kind === kinds.start) return this.#start(numberAt(payload, 0))
    if (kind !== kinds.report) throw new Error(`a reader does not send messages of kind ${kind}`)
    const before = this.report
    this.report = unpacked(payload) as ReaderReport
    this.#parts.onReport(this.report, before)
  }

  #noteRead(bytes: number, position: number): void {
    this.#readBytes = bytes
    this.#readPosition = Math.max(this.#readPosition, position)
    this.#parts.onRead()
  }

  #answer(payload: Buffer): void {
    const { handler, announced } = this.#parts
    const { id, request } = decodeRequest(payload)
    answerForwarded(handler, request, announced, (answer) => {
      if (this.#isGone) return
      this.#answers.push(message(kinds.answer, encodeAnswer(id, answer)))
      if (this.#answers.length === 1) this.#parts.onAnswer()
    })
  }

  #run(payload: Buffer): void {
    const { run, onAnswer } = this.#parts
    runEach(payload, run, (row) => {
      if (this.#isGone) return
      if (this.#outcomes.push(row) === 1) onAnswer()
    })
  }

  #start(position: number): void {
    try {
      this.#cursor = new LogCursor(this.#parts.log, position)
    } catch (error) {
      return this.giveUp((error as Error).message)
    }
    this.#catchUp()
  }

  /**
   * Sends records from the files, one slice per iteration and no faster than they are accepted
   * (P1).
   */
  #catchUp(): void {
    const { socket, written, now, onLive } = this.#parts
    const cursor = this.#cursor
    if (cursor === null || this.#isSlicePlanned) return
    const end = now() + sliceMs
    try {
      while (socket.writableLength < aheadBytesMax && now() < end) {
        const records = cursor.next()
        if (records !== null) {
          const { first, count } = records
          this.#write([frameMessage(first, count, records.records)])
        } else if (cursor.position === written()) {
          this.#cursor = null
          cursor.close()
          this.isLive = true
          return onLive()
        } else break
      }
    } catch (error) {
      return this.giveUp((error as Error).message)
    }
    // In this case the `drain` event resumes it.
    if (socket.writableLength >= aheadBytesMax) return
    this.#isSlicePlanned = true
    setImmediate(() => {
      this.#isSlicePlanned = false
      this.#catchUp()
    })
  }
}
