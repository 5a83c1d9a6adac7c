// At a start, finds the place of a node's log in the common history.
//
//   lock ─▶ prepare ─▶ recover ─▶ agree ─▶ follow or lead (replica.ts)
//             │                     ├─ another history: refused
//             │                     ├─ diverged: the tail is put aside; start again
//             │                     ├─ its continuation is trimmed, or was lost with the stream:
//             │                     │  replaced by a checkpoint of the leader, which is fetched
//             │                     │  beside it; start again
//             │                     └─ the stream has no message: begun, or waited for (holders.ts)
//             └─ no log here: the checkpoint of the leader is fetched
//
// H1. Nothing is shown before the log is known to be a part of the common history.
// H2. Irreversible steps rest on messages that were found in the stream. Where a message seems to
//     be missing, the stream is read again for a while, because a server may lag.
// H3. While the stream is unreachable, or another node has to begin it, the start waits, and
//     reports the reason.
// H4. Nothing is taken from another history, and nothing here is changed because of it, except that
//     a log without any record is removed.
// H5. A log is replaced only by a copy that is whole, checked and durable. This log may be the only
//     one left.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { CheckpointDirectory } from '../../../wal/checkpoint/checkpoint-files.ts'
import { JournalError } from '../../../wal/errors.ts'
import type { Journal } from '../../../wal/journal/journal.ts'
import { listSegments, storeIdOf } from '../../../wal/journal/segments.ts'
import { beginLog, finishPlan, planClearing, planReplacing } from '../../../wal/tools/begin-log.ts'
import { putAside } from '../../../wal/tools/put-aside.ts'
import { ConfigError } from '../../base/arguments.ts'
import { adoptEpoch, loadEpoch } from '../../engine/storage/node-files.ts'
import type { Term } from '../../forum/state.ts'
import { logNotices } from '../../operators/ops/log.ts'
import { fetchBeside, fetchCheckpoint, uploadedCheckpoint } from './checkpoint-transfer.ts'
import { type Comparison, compareWithStream, type LogEnd } from './compare.ts'
import { announce, announceUnread, otherHolders, whyNotBegin } from './holders.ts'
import { type LogStream, type StreamMessage, StreamUnavailable } from './log-stream.ts'
import { type History, OtherHistory, otherStore, readHistory } from './notes.ts'
import { publishTail } from './publisher.ts'
import { StartAgain, StoppedEarly } from './start-again.ts'

const askAgainMs = 500
/** How long a stream that can be reached is read again when a message seems to be missing (H2). */
const patienceMsDefault = 15_000

interface HistoryPlaceOptions {
  stream: LogStream
  /** The data directory, which must be locked. */
  directory: CheckpointDirectory
  node: string
  /** Whether this node may begin a stream with an empty log, and with one that has records. */
  begins: { empty: boolean; log: boolean }
  /**
   * How long an empty log waits, while no other node announces itself, before it begins a stream.
   */
  beginAfterMs: number
  /** The position given with `--begin-stream` (holders.ts, H3); null: none was given. */
  beginAt: number | null
  /** The fingerprint of this node's secret. */
  secret: string
  log: Logger
  /** Called with one sentence whenever the reason for waiting changes. */
  onWait: (why: string) => void
  isStopped: () => boolean
  patienceMs?: number
}

/** Where a log that is a part of the history continues. */
export interface Continuation {
  /** The sequence of the message that holds the next record. */
  sequence: number
  /** The last position of the stream when it was compared with the log. */
  end: number
}

export class HistoryPlace {
  readonly #options: HistoryPlaceOptions
  readonly #beganMs = performance.now()
  /** When the stream was last found to be unavailable. */
  #unavailableMs = Number.NEGATIVE_INFINITY
  #waitsFor = ''

  constructor(options: HistoryPlaceOptions) {
    this.#options = options
  }

  /**
   * Puts the directory into a state that a node can recover from. Returns the id of its store, or
   * null if the node is to begin a log of its own. `storeId` is that of the existing log, if there
   * is one. Rejects with a ConfigError if the history has another secret.
   */
  async prepare(storeId: string | null): Promise<string | null> {
    const { stream, directory, node, log, isStopped } = this.#options
    const known = finishPlan(directory)
      ? storeIdOf(listSegments(directory.disk, directory.dir))
      : storeId
    if (known !== null) {
      await this.#ask(() => announceUnread(stream, node, known))
      return known
    }
    const history = await this.#historyToJoin()
    if (history === null) return null
    const { store } = history
    adoptEpoch(directory, history)
    const fetched = await this.#ask(() => fetchCheckpoint(stream, directory, store, isStopped))
    const position = fetched?.position ?? 0
    beginLog(directory, { storeId: store, position })
    log.info({ position }, 'log_fetched')
    return store
  }

  /**
   * Compares the recovered log with the stream, and publishes the end of the log if the stream
   * lacks it and this node led its last term. Returns null if this node begins the stream. Rejects
   * with `StartAgain` if the log was mended, and with a ConfigError or a JournalError 77 if only an
   * operator can help; in these cases the journal is closed.
   */
  async agree(journal: Journal, term: Term): Promise<Continuation | null> {
    const { stream, node, patienceMs = patienceMsDefault } = this.#options
    const { position, storeId: store } = journal
    const epoch = loadEpoch(this.#options.directory, store)
    // No other node can have records of an epoch that began here, unless a term of it has begun.
    const isRestored = epoch.isOwn && term.began <= epoch.begin!
    const ended = isRestored ? 0 : term.number
    const end = { position, term: term.number, nonce: term.nonce, store }
    let sinceMs = performance.now()
    const isPatient = () => {
      return performance.now() - Math.max(sinceMs, this.#unavailableMs) < patienceMs
    }
    try {
      await this.#ask(() => announce(stream, node, end))
      for (;;) {
        const history = await this.#ask(() => this.#read())
        if (history !== null) await this.#checkStore(journal, history)
        const found = await this.#ask(() => compareWithStream(stream, end))
        if (!isRestored && this.#seemsMissing(found, term) && isPatient()) {
          await this.#pause()
          continue
        }
        let why: string | null
        if (found.kind === 'behind') return { sequence: found.next, end: found.last.last }
        if (found.kind === 'empty') {
          why = await this.#whyNotBegin({ ...end, term: ended }, term.node === node, history)
          if (why === null) return null
        } else why = await this.#mend(journal, term, found)
        if (why === null) sinceMs = performance.now()
        else await this.#waitFor(why)
      }
    } catch (error) {
      await journal.close()
      throw error
    }
  }

  /** Returns the history to join; null: this node may begin one. Waits for either. */
  async #historyToJoin(): Promise<History | null> {
    const { stream } = this.#options
    const end = { store: null, position: 0, term: 0 }
    for (;;) {
      const history = await this.#ask(() => this.#read())
      if (history !== null) return history
      const isEmpty = await this.#ask(async () => (await stream.last()) === null)
      const why = isEmpty ? await this.#whyNotBegin(end, false, null) : noHistory
      if (why === null) return null
      await this.#waitFor(why)
    }
  }

  async #read(): Promise<History | null> {
    try {
      return await readHistory(this.#options.stream, { secret: this.#options.secret })
    } catch (error) {
      throw error instanceof OtherHistory ? new ConfigError(error.message) : error
    }
  }

  /** Rejects if the log is another store's, or a backup's, because it has records of its own. */
  async #checkStore({ storeId, position }: Journal, history: History): Promise<void> {
    const { directory } = this.#options
    if (storeId === history.store) {
      if (loadEpoch(directory, storeId).id === history.epoch) return
      throw new ConfigError(
        '--data was restored from a backup, and has another history than the stream; ' +
          'choose another --replicate-stream, or begin with an empty --data',
      )
    }
    if (position > 0) throw new ConfigError(otherStore(history.store, storeId))
    planClearing(directory)
    throw new StartAgain('another node has begun the stream')
  }

  #whyNotBegin(
    end: Omit<LogEnd, 'nonce' | 'store'> & { store: string | null },
    hasLed: boolean,
    history: History | null,
  ): Promise<string | null> {
    const { stream, node, begins, beginAt, beginAfterMs: patienceMs } = this.#options
    const waitedMs = performance.now() - this.#beganMs
    const mayBegin = end.position === 0 ? begins.empty : begins.log
    const known = { end, hasLed, mayBegin, hasHistory: history !== null }
    return this.#ask(async () => {
      const others = await otherHolders(stream, node, end.store)
      return whyNotBegin({ ...known, waitedMs, patienceMs, beginAt }, others)
    })
  }

  /** Whether the result may be due to a lagging server. */
  #seemsMissing({ kind }: Comparison, { number, node }: Term): boolean {
    const isOthers = kind === 'ahead' && node !== this.#options.node
    return isOthers || kind === 'lost' || (kind === 'empty' && number > 0)
  }

  /** Returns null when the log and the stream can be compared again, or else the reason to wait. */
  async #mend(journal: Journal, term: Term, found: Comparison): Promise<string | null> {
    const { stream, directory, node, log, isStopped } = this.#options
    const { storeId, position } = journal
    if (found.kind === 'ahead' && term.node === node) {
      // The stream accepts the tail only as the continuation of its term. If another node leads, or
      // a server lags, the next comparison shows it.
      const tail = { last: found.last, position }
      await this.#ask(() => publishTail(stream, { ...directory, storeId }, tail, isStopped))
      return null
    }
    if (found.kind === 'diverged') {
      await journal.close()
      const { from } = found
      await putAside({ ...directory, from, onNotice: logNotices(log) })
      log.warn({ position: from, term: term.number }, 'put_aside')
      throw new StartAgain(`the log was put aside from position ${from} on`)
    }
    if (found.kind === 'trimmed') {
      const { first } = found.first
      const checkpoint = await this.#ask(() => uploadedCheckpoint(stream))
      const covered = checkpoint?.store === storeId ? checkpoint.position : 0
      if (covered + 1 < first) return nothingBetween(position, first)
      try {
        await fetchBeside(stream, directory, storeId, isStopped)
      } catch (error) {
        if (error instanceof StreamUnavailable) return error.message // H5
        throw error
      }
      // If this node led, its log may have the only copy of records that it had not published.
      planReplacing(directory, { keeps: found.isUnproven || term.node === node })
      throw new StartAgain(`the stream continues after position ${position}`)
    }
    if (found.kind === 'other' && position === 0) return noHistory
    if (found.kind === 'other') throw otherHistory(journal, term, found.message)
    throw new JournalError(
      77,
      `the log ends at position ${position} of term ${term.number}, which the stream has lost`,
      { advice: term.node === node ? beginsAgain : otherHasRecords },
    )
  }

  /** Returns the result of `work`, which is repeated while the stream is unavailable. */
  async #ask<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof StreamUnavailable)) throw error
        this.#unavailableMs = performance.now()
        await this.#pause()
      }
    }
  }

  async #waitFor(why: string): Promise<void> {
    const { log, onWait } = this.#options
    if (why !== this.#waitsFor) {
      log.info({ why }, 'waits_for_leader')
      onWait(why)
    }
    this.#waitsFor = why
    await this.#pause()
  }

  /** Pauses before the stream is read again. Rejects with `StoppedEarly`. */
  async #pause(): Promise<void> {
    await sleep(askAgainMs)
    if (this.#options.isStopped()) throw new StoppedEarly('stopped')
  }
}

const beginsAgain =
  'this node led in that term and has the missing records: remove the stream from the servers, ' +
  'but not its notes, and start this node, which begins the stream again'
const otherHasRecords = 'start the node that led in that term, which has the missing records'
const noHistory =
  'the note `history` beside the stream is missing: the leader writes it again; if no ' +
  'node has the log of this stream any more, remove the stream, its notes and its checkpoints'

function nothingBetween(position: number, first: number): string {
  return (
    `the stream begins at position ${first}, this log ends at ${position}, and no checkpoint ` +
    'beside the stream has the records in between: the leader uploads one; if no node has ' +
    'these records any more, remove the stream, its notes and its checkpoints'
  )
}

/**
 * Returns the error for another history. Nothing is changed: an operator decides which one is
 * right.
 */
function otherHistory({ storeId, position }: Journal, term: Term, message: StreamMessage): Error {
  const { store = storeId } = message.name ?? {}
  if (store !== storeId) return new ConfigError(otherStore(store, storeId))
  return new JournalError(
    77,
    `the log ends at position ${position} of term ${term.number}, and the stream continues after ` +
      'other records: they are two histories of one store',
    { advice: 'nothing was changed; start with an empty --data, or with another stream' },
  )
}
