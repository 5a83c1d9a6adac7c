// A node that follows: the stream is read into its own log and state, reads are answered at its
// durable position, and requests that may write are passed on to the leader.
//
//   stream ─▶ StreamTail ─▶ OwnLog ─▶ own log ──durable──▶ Role ─▶ gate, waiting polls
//   writes ─▶ Forwarder ─▶ CallLink ─▶ leader
//
// F1. Every record that is shown is durable in this node's own log, and in the stream: no takeover
//     takes it back.
// F2. An answer of a leader that another one has replaced does not leave if the record that it
//     shows was never published: its position means another record now (mode async).
// F3. A note tells the leader, which trims the stream, the progress of this node.
//
// The log of a follower's own: takes the records of the stream as they stand in a frame, and has
// them applied. The shown position follows the durable position of this log (role/role.ts, R1).
//
//   message ──▶ runs of at most 64 KiB ──append──▶ own log ──durable──▶ shown
//                                      └─apply──▶ state
//
// O1. A record is in the open batch of this log before it is applied, so that state and log advance
//     together, as where a node leads.
// O2. Nothing is appended while the log cannot take more: then the stream waits. A stop waits for
//     nothing: the disk may be full for hours, and the next start reads the rest from the stream.
// O3. Between two runs other work gets its turn: reads are answered while a node catches up.
// O4. An erasure is taken as by the node that decided on it (forum/moderation.ts, E1): not while a
//     checkpoint is being written, and at the beginning of a segment, so that the segments which
//     hold the text can go.

import { setImmediate as nextIteration } from 'node:timers/promises'
import { Unpackr } from 'msgpackr'
import type { Logger } from 'pino'
import { cutRecords, recordHeaderBytes } from '../../wal/journal/format.ts'
import type { Journal } from '../../wal/journal/journal.ts'
import type { Forum } from '../forum/forum.ts'
import { decode, isPacked, type RecordOf } from '../forum/records.ts'
import type { TrustProxy } from '../http/client-address.ts'
import type { Load } from '../http/load.ts'
import type { Role } from '../role/role.ts'
import type { State } from '../state/state.ts'
import { CallLink } from './call-link.ts'
import { Forwarder } from './forwarding.ts'
import type { LogStream } from './log-stream.ts'
import { type FollowerNote, followerKey } from './notes.ts'
import { type Receiver, StreamTail } from './stream-tail.ts'

const noteEveryMs = 5_000

export interface FollowingParts {
  stream: LogStream
  /** The id of this node. */
  node: string
  /** Its own log, which nobody else appends to. */
  journal: Journal
  role: Role
  forum: Forum
  load: Load
  trustProxy: TrustProxy | null
  log: Logger
  /** The sequence of the message that goes on behind the log. */
  next: number
  /** Called once when the content of the stream makes it impossible to follow. */
  onFailed: (error: Error) => void
}

interface Lag {
  positions: number
  seconds: number
}

export class Following {
  readonly forwarder: Forwarder
  readonly #parts: FollowingParts
  readonly #ownLog: OwnLog
  readonly #link: CallLink
  #tail: StreamTail
  #noting: NodeJS.Timeout | null = null
  #term: number

  /** Makes the forum follow; nothing is read before `start`. */
  constructor(parts: FollowingParts) {
    const { role, forum, journal, load, trustProxy, stream } = parts
    this.#parts = parts
    this.#term = forum.state.term.number
    this.#ownLog = new OwnLog(journal, role, forum.state)
    this.#tail = this.#tailFrom(parts.next)
    const link = new CallLink(stream.calls, forum.state)
    this.#link = link
    const { gate, service } = role
    this.forwarder = new Forwarder({ link, gate, journal: role, load, trustProxy, service })
    role.follow({
      journal,
      forward: this.forwarder,
      onShown: () => {
        this.#ownLog.moved()
        if (forum.state.term.number !== this.#term) this.#termBegan()
      },
    })
  }

  get lag(): Lag {
    return this.#tail.lag()
  }

  /** Warnings for the operator, one sentence each. */
  get warnings(): string[] {
    return this.#tail.warnings
  }

  start(): void {
    this.#tail.start()
    void this.#note()
    this.#noting = setInterval(() => void this.#note(), noteEveryMs).unref()
  }

  /** Reads no more; resolves when the message that was being taken is in the log. */
  pause(): Promise<void> {
    return this.#tail.stop()
  }

  /** Goes on after `pause`. */
  resume(): void {
    this.#tail = this.#tailFrom(this.#tail.next)
    this.#tail.start()
  }

  /** Ends it: the forum keeps its state, and the log is this node's own again. */
  async stop(): Promise<void> {
    if (this.#noting !== null) clearInterval(this.#noting)
    this.#link.termBegan() // where this node has taken over
    const paused = this.pause()
    this.#ownLog.stop()
    await paused
  }

  #termBegan(): void {
    const { forum, log } = this.#parts
    const { number: term, node } = forum.state.term
    this.#term = term
    this.#link.termBegan()
    log.info({ term, leader: node }, 'term_began')
  }

  #tailFrom(next: number): StreamTail {
    const { stream, forum, journal, log, onFailed } = this.#parts
    const { number: term, nonce } = forum.state.term
    return new StreamTail({
      stream,
      receiver: this.#ownLog,
      next,
      term: { term, nonce, store: journal.storeId },
      onFailed,
      onInterrupted: (error) => log.warn({ why: error.message }, 'stream_interrupted'),
    })
  }

  async #note(): Promise<void> {
    const { stream, node, forum, role } = this.#parts
    const seen = forum.stamps.clock.wall()
    const note: FollowerNote = { version: 1, position: role.durable, seen }
    // The next one makes up for one that does not arrive.
    await stream.notes.write(followerKey(node), note).catch(() => {})
  }
}

/** About 150 records, which are applied in less than 2 ms. */
const runBytesMax = 64 * 1024
/** The maximum pause until it checks again whether it can go on. */
const pauseMs = 100

export type FollowedJournal = Pick<
  Journal,
  'appendEncoded' | 'health' | 'position' | 'failure' | 'separate'
>

/** The conditions of an erasure. */
interface FollowedState {
  readonly messages: Pick<State['messages'], 'seq'>
  readonly text: Pick<State['text'], 'isFrozen'>
}

export class OwnLog implements Receiver {
  readonly #journal: FollowedJournal
  readonly #role: Pick<Role, 'receive'>
  readonly #state: FollowedState
  readonly #unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' })
  #wakeUp: () => void = () => {}
  #isStopped = false

  constructor(journal: FollowedJournal, role: Pick<Role, 'receive'>, state: FollowedState) {
    this.#journal = journal
    this.#role = role
    this.#state = state
  }

  get position(): number {
    return this.#journal.position
  }

  /**
   * Appends and applies records; resolves when more can be taken. Rejects with the error of the
   * journal when its storage has failed, with `NewerRecord` when this program is too old, and
   * when it is stopped while there is no room.
   */
  async receive(first: number, count: number, records: Uint8Array): Promise<void> {
    let next = first
    const last = first + count - 1
    const isErasure = (start: number) => isPacked('message.erased', records, start)
    for (const run of cutRecords(records, runBytesMax, isErasure)) {
      await this.#room(run.records)
      this.#journal.appendEncoded(run.records, run.count)
      this.#role.receive(next, run.count, run.records)
      next += run.count
      if (next <= last) await nextIteration()
    }
  }

  /** To be called when the log has become durable further. */
  moved(): void {
    this.#wakeUp()
  }

  /** Waits for room no longer (O2). */
  stop(): void {
    this.#isStopped = true
    this.#wakeUp()
  }

  async #room(run: Uint8Array): Promise<void> {
    const journal = this.#journal
    const erased = this.#erasedBy(run)
    const mayErase = () => {
      const { messages, text } = this.#state
      return erased === null || (!text.isFrozen && journal.separate(messages.seq(erased)))
    }
    while (!mayErase() || journal.health !== 'ok') {
      if (journal.failure !== null) throw journal.failure
      if (this.#isStopped) throw new Error('stopped without room for what the stream has')
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs)
        this.#wakeUp = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  /** The message that is erased by the one record of this run; null: it is none that erases. */
  #erasedBy(run: Uint8Array): number | null {
    if (!isPacked('message.erased', run, recordHeaderBytes)) return null
    const row: unknown = this.#unpackr.unpack(run.subarray(recordHeaderBytes) as Buffer)
    return (decode(row) as RecordOf<'message.erased'>).message
  }
}
