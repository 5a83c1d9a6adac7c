// The main process's side: forwards frames to the readers as they are written, and durable
// positions once all of them have the records.
//
//   journal ──frame──▶ kept ──durable──▶ frames to every reader
//                        ──▶ when all that are live have them: position to every reader, and shown
//
// H1. A position is shown, here and at any reader, when every live reader has its records
//     (reader-port.ts, P2). So a caller that has seen it, in whatever answer, and queries another
//     process finds the records there. How much the system holds for a reader that reads nothing
//     does not matter.
// H2. The hub waits at most `silenceMsMax` with a position for a reader that has stopped reading. A
//     reader that has not read the position by then answers nothing until it has (D3 of
//     main-port.ts). The hub disconnects a silent reader; during a stop already after
//     `silenceMsMax`, because the reader would answer nothing.
// H3. Readers receive only announced positions: none after the journal has failed.
// H4. Each position carries the time until which the main process may answer from its state, and
//     readers answer from theirs no longer than that (edge/http/gate.ts, G4).
//
// Neighbours: reader-port.ts is one reader, cluster/readers/readers.ts starts and ends the
// processes.

import type { Journal, OnFrame } from '../../../wal/journal/types.ts'
import { Queue } from '../../base/queue.ts'
import type { Gate } from '../../edge/http/gate.ts'
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
  /** The total time for which durable positions waited for a reader that did not have them. */
  heldSeconds = 0
  readonly #parts: HubParts
  readonly #now: () => number
  readonly #readers = new Set<ReaderPort>()
  #journal: HubJournal
  #announced = 0
  #isStopping = false
  /** The positions that wait to be shown, and since when. */
  readonly #held = new Queue<{ durable: number; sinceMs: number }>()
  #shownMs = 0
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
    this.#announced = parts.journal.durable
    this.#timer = setInterval(() => this.#beat(), beatMs).unref()
  }

  get readers(): Iterable<ReaderPort> {
    return this.#readers
  }

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
      onRead: () => this.#showHeld(),
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
    this.#passFramesOn()
  }

  /** Sends a message to all readers, including those that are still loading their state. */
  tell(kind: Kind, value: unknown): void {
    const bytes = packedMessage(kind, value)
    for (const reader of this.#readers) reader.send(bytes)
  }

  /** Announces that the log is durable up to this position, which is shown as H1 says. */
  announce(durable: number): void {
    this.#held.push({ durable, sinceMs: this.#now() })
    for (const reader of this.#readers) if (reader.isLive) reader.send()
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

  /** Shows the positions that all live readers have, or that have waited long enough (H2). */
  #showHeld(): void {
    const now = this.#now()
    let shown: number | null = null
    while (this.#held.length > 0) {
      const { durable, sinceMs } = this.#held.first
      if (now - sinceMs < silenceMsMax && !this.#allHave(durable)) break
      this.#held.shift()
      this.heldSeconds += (now - Math.max(sinceMs, this.#shownMs)) / 1000
      this.#shownMs = now
      shown = durable
    }
    if (shown === null) return
    this.#announced = shown
    if (this.#readers.size > 0) this.#sendAll(this.#durableMessage())
    this.#parts.show(shown)
  }

  #allHave(durable: number): boolean {
    for (const reader of this.#readers) if (reader.isLive && !reader.has(durable)) return false
    return true
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

  /** Sends the answers, which show nothing that has not been shown here. */
  #flush(): void {
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
