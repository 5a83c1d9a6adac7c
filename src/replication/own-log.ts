// The log of a follower's own: takes the records of the stream as they stand in a frame, and has
// them applied. What is shown follows the durable position of this log (follower.ts, L2).
//
//   message ──▶ runs of at most 64 KiB ──append──▶ own log ──durable──▶ shown
//                                      └─apply──▶ state
//
// O1. A record is in the open batch of this log before it is applied, so that state and log advance
//     together, as where a node leads.
// O2. Nothing is appended while the log cannot take more: then the stream waits.
// O3. Between two runs other work gets its turn: reads are answered while a node catches up.

import { setImmediate as nextIteration } from 'node:timers/promises'
import { cutRecords } from '../../wal/journal/format.ts'
import type { Journal } from '../../wal/journal/journal.ts'
import type { Follower } from './follower.ts'
import type { Receiver } from './stream-tail.ts'

/** About 150 records, which are applied in less than 2 ms. */
const runBytesMax = 64 * 1024
const fullDiskPauseMs = 100

export type FollowedJournal = Pick<Journal, 'appendEncoded' | 'health' | 'position' | 'failure'>

export class OwnLog implements Receiver {
  readonly #journal: FollowedJournal
  readonly #follower: Pick<Follower, 'receive'>
  #wakeUp: () => void = () => {}

  constructor(journal: FollowedJournal, follower: Pick<Follower, 'receive'>) {
    this.#journal = journal
    this.#follower = follower
  }

  get position(): number {
    return this.#journal.position
  }

  /**
   * Appends and applies records; resolves when more can be taken. Rejects with the error of the
   * journal when its storage has failed, and with `NewerRecord` when this program is too old.
   */
  async receive(first: number, count: number, records: Uint8Array): Promise<void> {
    let next = first
    const last = first + count - 1
    for (const run of cutRecords(records, runBytesMax)) {
      await this.#room()
      this.#journal.appendEncoded(run.records, run.count)
      this.#follower.receive(next, run.count, run.records)
      next += run.count
      if (next <= last) await nextIteration()
    }
  }

  /** To be called when the log has become durable further, or has failed. */
  moved(): void {
    this.#wakeUp()
  }

  async #room(): Promise<void> {
    const journal = this.#journal
    while (journal.health !== 'ok') {
      if (journal.failure !== null) throw journal.failure
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, fullDiskPauseMs)
        this.#wakeUp = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
}
