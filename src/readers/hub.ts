// The main process's side: forwards frames to the readers as they are written, and durable
// positions before anything that they cover is shown.
//
//   journal ──frame──▶ kept ──durable──▶ frames and position to every reader
//                                  ──▶ when all who serve have them: answers leave, here and there
//
// H1. The answer to a write leaves when every serving reader has been sent the records that it
//     shows. So a caller that has the answer and queries another process finds them there: a reader
//     processes what it was sent before requests that arrive later (main-port.ts, D2).
// H2. The hub waits at most `silenceMsMax` for a reader that has stopped consuming. After that the
//     reader answers nothing until it has caught up (D3 of main-port.ts). The hub disconnects a
//     silent reader; during a stop already after `silenceMsMax`, because the reader would answer
//     nothing.
// H3. Readers are told only announced positions: none after the journal has failed.
// H4. Each position carries the time until which the main process may answer from its state, and
//     readers answer from theirs no longer than that (http/gate.ts, G4).
//
// Neighbours: reader-port.ts is one reader, readers/readers.ts starts and ends the processes.

import type { Journal, OnFrame } from '../../wal/journal/types.ts'
import type { Gate } from '../http/gate.ts'
import {
  frameMessage,
  type Kind,
  kinds,
  message,
  numbersMessage,
  packedMessage,
  sharedNow,
  silenceMsMax,
  toShared,
} from './messages.ts'
import { ReaderPort, type ReaderPortParts } from './reader-port.ts'

const beatMs = 250
const silentMs = 10_000
/** Loading a checkpoint can starve a reader's event loop for a while. */
const silentWhileStartingMs = 60_000

/** The part of the journal whose frames are forwarded to readers. */
export type HubJournal = Pick<Journal, 'written' | 'durable' | 'onFrame'>

export interface HubParts extends Pick<ReaderPortParts, 'log' | 'handler' | 'run'> {
  journal: HubJournal
  /** The main process's gate: readers may answer only as long as it may. */
  gate: Pick<Gate, 'standing'>
  /** `sharedNow`, unless a test supplies its own clock. */
  now?: () => number
  /** Called with an announced position when the readers have it (H1). */
  show(durable: number): void
  onReport: ReaderPortParts['onReport']
  /** Called when the number of serving readers may have changed. */
  onChange(): void
}

export class ReaderHub {
  /** The total time for which durable positions waited for a reader that did not consume. */
  heldSeconds = 0
  readonly #parts: HubParts
  readonly #now: () => number
  readonly #readers = new Set<ReaderPort>()
  #journal: HubJournal
  /** The position announced last. */
  #announced = 0
  #isStopping = false
  /** The position that waits to be shown, and since when; null: none waits. */
  #held: { durable: number; sinceMs: number } | null = null
  readonly #withAnswers = new Set<ReaderPort>()
  #isFlushPlanned = false
  readonly #timer: NodeJS.Timeout
  readonly #passOn: OnFrame = (first, count, records) => {
    const bytes = frameMessage(first, count, records)
    for (const each of this.#readers) if (each.isLive) each.addFrame(Buffer.from(bytes))
    bytes.fill(0)
  }

  constructor(parts: HubParts) {
    this.#parts = parts
    this.#now = parts.now ?? sharedNow
    this.#journal = parts.journal
    this.useJournal(parts.journal)
    this.#timer = setInterval(() => this.#beat(), beatMs).unref()
  }

  get readers(): Iterable<ReaderPort> {
    return this.#readers
  }

  /** The number of readers that serve. */
  get serving(): number {
    let count = 0
    for (const { isServing } of this.#readers) if (isServing) count += 1
    return count
  }

  /** Takes a reader's connection; `onGone` is called once, with the reason of its end. */
  add(socket: ReaderPortParts['socket'], onGone: (why: string) => void): ReaderPort {
    const { log, handler, run, onReport, onChange } = this.#parts
    const reader = new ReaderPort({
      socket,
      log,
      handler,
      run,
      now: this.#now,
      written: () => this.#journal.written,
      announced: () => this.#announced,
      onLive: () => this.#onLive(reader),
      onDrain: () => this.#showHeld(),
      onAnswer: () => this.#onAnswer(reader),
      onReport: (report, before) => {
        onReport(report, before)
        onChange()
      },
      onGone: (why) => {
        this.#remove(reader)
        onGone(why)
      },
    })
    this.#readers.add(reader)
    return reader
  }

  /**
   * Continues the log with another journal. It must have no frames that the previous one did not
   * forward.
   */
  useJournal(journal: HubJournal): void {
    this.#journal = journal
    this.#announced = journal.durable
    this.#passFramesOn()
  }

  /** Sends a message to all readers, including those that are still loading their state. */
  tell(kind: Kind, value: unknown): void {
    const bytes = packedMessage(kind, value)
    for (const reader of this.#readers) reader.send(bytes)
  }

  /**
   * Announces that the log is durable up to this position, which is shown once the readers have it
   * (H1).
   */
  announce(durable: number): void {
    this.#announced = durable
    if (this.#readers.size > 0) this.#sendAll(this.#durableMessage())
    this.#held = { durable, sinceMs: this.#held?.sinceMs ?? this.#now() }
    this.#showHeld()
  }

  /** Announces a checkpoint: readers find their text in its files from now on. */
  checkpointTaken(number: number, position: number): void {
    const bytes = numbersMessage(kinds.checkpoint, number, position)
    for (const reader of this.#readers) reader.send(bytes)
  }

  /** Asks all readers to finish their work and exit. */
  stop(): void {
    this.#isStopping = true
    for (const reader of this.#readers) reader.send(message(kinds.stop))
  }

  /** Closes all connections. */
  close(): void {
    clearInterval(this.#timer)
    for (const reader of this.#readers) reader.giveUp('the node has stopped')
  }

  #onLive(reader: ReaderPort): void {
    this.#passFramesOn()
    reader.send(this.#durableMessage())
  }

  #passFramesOn(): void {
    const hasLive = [...this.#readers].some(({ isLive }) => isLive)
    this.#journal.onFrame = hasLive ? this.#passOn : null
  }

  #remove(reader: ReaderPort): void {
    this.#readers.delete(reader)
    this.#withAnswers.delete(reader)
    this.#passFramesOn()
    this.#parts.onChange()
    this.#showHeld()
  }

  #durableMessage(): Buffer {
    const { decidesUntilMs, showsUntilMs } = this.#parts.gate.standing
    const until = [toShared(decidesUntilMs), toShared(showsUntilMs)]
    return numbersMessage(kinds.durable, this.#announced, this.#now(), ...until)
  }

  #sendAll(bytes: Buffer): void {
    for (const reader of this.#readers) if (reader.isLive) reader.send(bytes)
  }

  #showHeld(): void {
    if (this.#held === null) return
    const { durable, sinceMs } = this.#held
    const waitedMs = this.#now() - sinceMs
    for (const reader of this.#readers) {
      const isBehind = reader.isServing && reader.waitingBytes > 0
      if (isBehind && waitedMs < silenceMsMax) return // until it has drained, or the next beat
    }
    this.heldSeconds += waitedMs / 1000
    this.#held = null
    this.#parts.show(durable)
    this.#flush()
  }

  #onAnswer(reader: ReaderPort): void {
    this.#withAnswers.add(reader)
    if (this.#isFlushPlanned) return
    this.#isFlushPlanned = true
    // After the current callback has returned, so that the answers of one tick leave together.
    process.nextTick(() => {
      this.#isFlushPlanned = false
      this.#flush()
    })
  }

  /** Sends the answers, unless the readers still lack the records that they show. */
  #flush(): void {
    if (this.#held !== null) return
    for (const reader of this.#withAnswers) reader.sendAnswers()
    this.#withAnswers.clear()
  }

  #beat(): void {
    const now = this.#now()
    this.#sendAll(this.#durableMessage())
    for (const reader of this.#readers) {
      const whileServing = reader.isLive ? silentMs : silentWhileStartingMs
      const max = this.#isStopping ? silenceMsMax : whileServing
      if (now - reader.heardMs > max) reader.giveUp('it is silent')
    }
    this.#showHeld()
    this.#parts.onChange()
  }
}
