// The log of a follower: appends the records of the stream, which are encoded as in a frame, and
// has them applied. The shown position follows the durable position of this log
// (engine/role/role.ts, R1).
//
//   message ──▶ runs of at most 64 KiB ──append──▶ own log ──durable──▶ shown
//                                      └─apply──▶ state
//
// O1. A record is in the open batch of this log before it is applied, so that state and log advance
//     together, as on a node that leads. A run is appended only if this version can decode all of
//     it (forum/apply.ts, L1).
// O2. While the log has no room, nothing is appended, and the stream waits. A stop does not wait
//     for room, because the disk may be full for hours; the next start reads the rest from the
//     stream.
// O3. Other work runs between two runs of records, so reads are answered while a node catches up.
// O4. An erasure waits for the same conditions as where it was decided
//     (forum/moderation/commands.ts, E1): no checkpoint is being written, and the record begins a
//     segment unless the message is in an earlier one, so that the segments which hold the text can
//     be removed.

import assert from 'node:assert/strict'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { Unpackr } from 'msgpackr'
import { cutRecords, recordHeaderBytes } from '../../../wal/journal/format.ts'
import type { Journal } from '../../../wal/journal/journal.ts'
import type { Role } from '../../engine/role/role.ts'
import { decode, isPacked, type RecordOf } from '../../forum/records.ts'
import type { State } from '../../forum/state.ts'
import type { Receiver } from './stream-tail.ts'

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
