// A node that follows: it reads the stream into its own log and state, answers reads at its durable
// position, and forwards requests that may write to the leader.
//
//   stream ─▶ StreamTail ─▶ OwnLog ─▶ own log ──durable──▶ Role ─▶ gate, waiting polls
//   writes ─▶ Forwarder ─▶ CallLink ─▶ leader
//
// F1. Every record that is shown is durable in this node's own log and is in the stream, so that no
//     takeover can take it back.
// F2. A note reports this node's progress to the leader, which trims the stream.

import assert from 'node:assert/strict'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { Unpackr } from 'msgpackr'
import type { Logger } from 'pino'
import { cutRecords, recordHeaderBytes } from '../../../wal/journal/format.ts'
import type { Journal } from '../../../wal/journal/journal.ts'
import type { TrustProxy } from '../../edge/http/client-address.ts'
import type { Standing } from '../../edge/http/gate.ts'
import type { Load } from '../../edge/http/load.ts'
import type { Role } from '../../engine/role/role.ts'
import type { Forum } from '../../forum/forum.ts'
import { decode, isPacked, type RecordOf } from '../../forum/records.ts'
import type { State } from '../../forum/state.ts'
import { CallLink } from './call-link.ts'
import { Forwarder } from './forwarding.ts'
import type { LogStream } from './log-stream.ts'
import { type FollowerNote, followerKey } from './notes.ts'
import { type Receiver, StreamTail } from './stream-tail.ts'

const noteEveryMs = 5_000
/**
 * A follower that is further behind is not ready, and identifies nobody (edge/http/gate.ts, G4).
 */
const lagSecondsMax = 30

export interface FollowingParts {
  stream: LogStream
  node: string
  /** Its own log, to which nothing else appends. */
  journal: Journal
  role: Role
  forum: Forum
  load: Load
  trustProxy: TrustProxy | null
  log: Logger
  /** The sequence of the message that continues the log. */
  next: number
  /** Called once, when the node can follow no longer: the stream or its own log prevents it. */
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

  /** Makes the forum a follower; reads nothing before `start`. */
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
      standing: this.#standing(),
      onShown: () => {
        this.#ownLog.moved()
        if (forum.state.term.number !== this.#term) this.#termBegan()
      },
    })
  }

  get lag(): Lag {
    return this.#tail.lag()
  }

  get warnings(): string[] {
    return this.#tail.warnings
  }

  start(): void {
    this.#tail.start()
    void this.#note()
    this.#noting = setInterval(() => void this.#note(), noteEveryMs).unref()
  }

  /** Pauses reading; resolves when the message that is being processed is in the log. */
  pause(): Promise<void> {
    return this.#tail.stop()
  }

  /** Resumes reading after `pause`. */
  resume(): void {
    this.#tail = this.#tailFrom(this.#tail.next)
    this.#tail.start()
  }

  /** Stops following: the forum keeps its state, and the log is available to others again. */
  async stop(): Promise<void> {
    if (this.#noting !== null) clearInterval(this.#noting)
    this.#link.termBegan() // gives up requests if this node has taken over
    const paused = this.pause()
    this.#ownLog.stop()
    await paused
  }

  /** Pages may always be shown; what the state lacks counts only while the follower keeps up. */
  #standing(): Standing {
    const isLagging = () => this.lag.seconds > lagSecondsMax
    const always = Number.POSITIVE_INFINITY
    return {
      get decidesUntilMs() {
        return isLagging() ? 0 : always
      },
      showsUntilMs: always,
    }
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
    // If a write fails, the next one makes up for it.
    await stream.notes.write(followerKey(node), note).catch(() => {})
  }
}

/** About 150 records, which take less than 2 ms to apply. */
const runBytesMax = 64 * 1024
/** The longest pause between two checks for room. */
const pauseMs = 100

export type FollowedJournal = Pick<
  Journal,
  'appendEncoded' | 'health' | 'position' | 'failure' | 'separate'
>

/** The part of the state on which an erasure depends (O4). */
interface FollowedState {
  readonly messages: Pick<State['messages'], 'seq'>
  readonly threads: Pick<State['threads'], 'message' | 'messageCount'>
  readonly text: Pick<State['text'], 'isFrozen'>
}

/**
 * The log of a follower: appends the records of the stream, which are encoded as in a frame, and
 * has them applied. The shown position follows the durable position of this log
 * (engine/role/role.ts, R1).
 *
 *   message ──▶ runs of at most 64 KiB ──append──▶ own log ──durable──▶ shown
 *                                      └─apply──▶ state
 *
 * O1. A record is in the open batch of this log before it is applied, so that state and log advance
 *     together, as on a node that leads. A run is appended only if this version can decode all of
 *     it (forum/apply.ts, L1).
 * O2. While the log has no room, nothing is appended, and the stream waits. A stop does not wait
 *     for room, because the disk may be full for hours; the next start reads the rest from the
 *     stream.
 * O3. Other work runs between two runs of records, so reads are answered while a node catches up.
 * O4. An erasure waits for the same conditions as where it was decided
 *     (forum/moderation/commands.ts, E1): no checkpoint is being written, and the record begins a
 *     segment unless the message is in an earlier one, so that the segments which hold the text can
 *     be removed.
 */
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
   * Appends and applies records; resolves when it can take more. Rejects with the journal's error
   * when the storage has failed, with `NewerRecord` when this program is too old, and when it is
   * stopped while there is no room.
   */
  async receive(first: number, count: number, records: Uint8Array): Promise<void> {
    let next = first
    const last = first + count - 1
    const isErasure = (start: number) =>
      isPacked('message.erased', records, start) || isPacked('thread.erased', records, start)
    for (const run of cutRecords(records, runBytesMax, isErasure)) {
      await this.#room(run.records)
      assert.equal(next, this.position + 1, 'O1: the log has no record twice')
      const append = () => this.#journal.appendEncoded(run.records, run.count)
      const isNext = this.#role.receive(next, run.count, run.records, append)
      assert(isNext, 'O1: the state has every record of the log')
      next += run.count
      if (next <= last) await nextIteration()
    }
  }

  /** Must be called whenever more of the log has become durable. */
  moved(): void {
    this.#wakeUp()
  }

  /** Stops waiting for room (O2). */
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
      if (this.#isStopped) throw new Error('stopped without room for the records of the stream')
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs)
        this.#wakeUp = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  /** Returns the newest message that this run's only record erases; null: it is no erasure. */
  #erasedBy(run: Uint8Array): number | null {
    const isOf = (type: 'message.erased' | 'thread.erased') =>
      isPacked(type, run, recordHeaderBytes)
    if (!isOf('message.erased') && !isOf('thread.erased')) return null
    const row: unknown = this.#unpackr.unpack(run.subarray(recordHeaderBytes) as Buffer)
    const record = decode(row) as RecordOf<'message.erased'> | RecordOf<'thread.erased'>
    if (record.type === 'message.erased') return record.message
    const { threads } = this.#state
    return threads.message(record.thread, threads.messageCount(record.thread) - 1)
  }
}
