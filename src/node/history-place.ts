// Finds the place of a node's log in the common history, at a start.
//
//   lock ─▶ prepare ─▶ recover ─▶ agree ─▶ follow or lead (replica.ts)
//             │                     ├─ diverged: the tail is put aside; start again
//             │                     └─ what would continue it is trimmed: cleared; start again
//             └─ no log here: the checkpoint of the leader is fetched
//
// H1. Nothing is shown before the log is known to be a part of the common history.
// H2. What cannot be undone rests on what is in the stream. Where something seems to be missing
//     there, it is read again for a while, because a server may answer late.
// H3. While the stream cannot be reached, the start waits.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { CheckpointDirectory } from '../../wal/checkpoint/checkpoint-files.ts'
import { JournalError } from '../../wal/errors.ts'
import type { Journal } from '../../wal/journal/journal.ts'
import { beginLog } from '../../wal/tools/begin-log.ts'
import { clearLog, planClearing } from '../../wal/tools/clear-log.ts'
import { putAside } from '../../wal/tools/put-aside.ts'
import { ConfigError } from '../config/arguments.ts'
import { logNotices } from '../ops/log.ts'
import { fetchCheckpoint } from '../replication/checkpoint-transfer.ts'
import { type Comparison, compareWithStream } from '../replication/compare.ts'
import { type History, OtherHistory, otherStore, readHistory } from '../replication/history.ts'
import { type LogStream, type StreamMessage, StreamUnavailable } from '../replication/log-stream.ts'
import { publishTail } from '../replication/publish-tail.ts'
import type { Term } from '../state/state.ts'
import { adoptEpoch, loadEpoch } from './epoch.ts'
import { StartAgain, StoppedEarly } from './start-again.ts'

const askAgainMs = 500
/** For how long the stream is read again when something seems to be missing there (H2). */
const patienceMsDefault = 15_000

export interface HistoryPlaceOptions {
  stream: LogStream
  /** The data directory, which is locked. */
  place: CheckpointDirectory
  /** The id of this node. */
  node: string
  /** Whether this node may begin a history, if there is none. */
  leads: boolean
  /** The fingerprint of this node's secret. */
  secret: string
  log: Logger
  isStopped: () => boolean
  patienceMs?: number
}

/** How a log that is a part of the history goes on. */
export interface Continuation {
  /** The message of the stream with the next record. */
  sequence: number
  /** The last position that the stream had when they were compared. */
  end: number
}

export class HistoryPlace {
  readonly #options: HistoryPlaceOptions

  constructor(options: HistoryPlaceOptions) {
    this.#options = options
  }

  /**
   * Makes the directory one that a node can recover from; returns the id of its store, or null: it
   * shall begin a log of its own. `storeId` is that of the log that is there. Rejects with a
   * ConfigError if the data or the secret are those of another history.
   */
  async prepare(storeId: string | null): Promise<string | null> {
    const { stream, place, log } = this.#options
    const known = clearLog(place) ? null : storeId
    const history = await this.#history(known)
    if (history === null) return known
    adoptEpoch(place.dir, history)
    if (known !== null) return known
    const fetched = await this.#ask(() => fetchCheckpoint(stream, place))
    const begin = fetched ?? { storeId: history.store, position: 0 }
    beginLog(place, begin)
    log.info({ position: begin.position }, 'log_fetched')
    return begin.storeId
  }

  /**
   * Compares the recovered log with the stream, whose end it publishes if that is this node's to
   * do; null: there is no stream yet. Rejects with `StartAgain` if the log was mended, and with a
   * JournalError 77 if only an operator can help; the journal is closed then.
   */
  async agree(journal: Journal, term: Term): Promise<Continuation | null> {
    try {
      for (;;) {
        const found = await this.#compare(journal, term)
        if (found.kind === 'behind') return { sequence: found.next, end: found.last.last }
        if (found.kind !== 'empty') await this.#mend(journal, term, found)
        else if (this.#options.leads) return null
        else await this.#pause()
      }
    } catch (error) {
      await journal.close()
      throw error
    }
  }

  /** The history, or null if there is none and this node may begin it; otherwise waits for one. */
  async #history(storeId: string | null): Promise<History | null> {
    const { leads, log } = this.#options
    let isReported = false
    for (;;) {
      const history = await this.#ask(() => this.#read(storeId))
      if (history !== null || leads) return history
      if (!isReported) log.info('waits_for_leader')
      isReported = true
      await this.#pause()
    }
  }

  async #read(storeId: string | null): Promise<History | null> {
    const { stream, secret } = this.#options
    try {
      const history = await readHistory(stream, { secret, store: storeId })
      return history === null || storeId === null ? history : this.#sameEpoch(history)
    } catch (error) {
      throw error instanceof OtherHistory ? new ConfigError(error.message) : error
    }
  }

  /** A backup that was started has the same store, and records that are in no other log. */
  #sameEpoch(history: History): History {
    if (loadEpoch(this.#options.place.dir, history.store).id === history.epoch) return history
    throw new OtherHistory(
      '--data was restored from a backup, and is another history than that of the stream; ' +
        'choose another --replicate-stream, or begin with an empty --data',
    )
  }

  async #compare(journal: Journal, term: Term): Promise<Comparison> {
    const { stream, node, patienceMs = patienceMsDefault } = this.#options
    const { position, storeId: store } = journal
    const { number, nonce, node: leader } = term
    const end = { position, term: number, nonce, store }
    const untilMs = performance.now() + patienceMs
    for (;;) {
      const found = await this.#ask(() => compareWithStream(stream, end))
      const isOthers = found.kind === 'ahead' && leader !== node
      const isMissing = isOthers || found.kind === 'lost' || (found.kind === 'empty' && number > 0)
      if (!isMissing || performance.now() > untilMs) return found
      await this.#pause()
    }
  }

  async #mend(journal: Journal, term: Term, found: Comparison): Promise<void> {
    const { stream, place, node, log } = this.#options
    const { storeId, position } = journal
    if (found.kind === 'ahead' && term.node === node) {
      // The stream takes it only as the next of its term: another leader, or a late answer of a
      // server, leads to another comparison.
      const published = { last: found.last, position }
      await this.#ask(() => publishTail(stream, { ...place, storeId }, published))
      return
    }
    if (found.kind === 'diverged') {
      await journal.close()
      const { from } = found
      await putAside({ ...place, from, onNotice: logNotices(log) })
      log.warn({ position: from, term: term.number }, 'put_aside')
      throw new StartAgain(`the log was put aside from position ${from} on`)
    }
    if (found.kind === 'other') throw otherHistory(journal, term, found.message)
    if (found.kind === 'trimmed') {
      // What this node had not published when it led is in its log only.
      planClearing(place, { keeps: term.node === node })
      throw new StartAgain(`the stream goes on behind position ${position}`)
    }
    throw new JournalError(
      77,
      `the log ends at position ${position} of term ${term.number}, which the stream has lost`,
      { advice: 'keep this node, and have it lead with another --replicate-stream' },
    )
  }

  /** Asks until the stream answers (H3). */
  async #ask<T>(question: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await question()
      } catch (error) {
        if (!(error instanceof StreamUnavailable)) throw error
        await this.#pause()
      }
    }
  }

  /** Before the stream is asked again. Rejects with `StoppedEarly`. */
  async #pause(): Promise<void> {
    await sleep(askAgainMs)
    if (this.#options.isStopped()) throw new StoppedEarly('stopped')
  }
}

/** Nothing is changed: an operator decides which of two histories is the right one. */
function otherHistory({ storeId, position }: Journal, term: Term, message: StreamMessage): Error {
  const { store = storeId } = message.name ?? {}
  if (store !== storeId) return new ConfigError(otherStore(store, storeId))
  return new JournalError(
    77,
    `the log ends at position ${position} of term ${term.number}, and the stream goes on behind ` +
      'other records: they are two histories of one store',
    { advice: 'nothing was changed; start with an empty --data, or with another stream' },
  )
}
