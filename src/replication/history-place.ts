// Finds the place of a node's log in the common history, at a start.
//
//   lock ─▶ prepare ─▶ recover ─▶ agree ─▶ follow or lead (replica.ts)
//             │                     ├─ another history: refused
//             │                     ├─ diverged: the tail is put aside; start again
//             │                     ├─ its continuation is trimmed: cleared; start again
//             │                     └─ the stream has no message: begun, or waited for (holders.ts)
//             └─ no log here: the checkpoint of the leader is fetched
//
// H1. Nothing is shown before the log is known to be a part of the common history.
// H2. Steps that cannot be undone rest on messages of the stream. Where something seems to be
//     missing there, it is read again for a while, because a server may answer late.
// H3. While the stream cannot be reached, or another node has to begin it, the start waits, and
//     reports the reason.
// H4. Of another history nothing is taken, and nothing here is changed for it; except that a log
//     without a record is removed.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { CheckpointDirectory } from '../../wal/checkpoint/checkpoint-files.ts'
import { JournalError } from '../../wal/errors.ts'
import type { Journal } from '../../wal/journal/journal.ts'
import { beginLog, clearLog, planClearing } from '../../wal/tools/begin-log.ts'
import { putAside } from '../../wal/tools/put-aside.ts'
import { ConfigError } from '../base/arguments.ts'
import { logNotices } from '../ops/log.ts'
import type { Term } from '../state/state.ts'
import { adoptEpoch, loadEpoch } from '../storage/node-files.ts'
import { fetchCheckpoint, uploadedCheckpoint } from './checkpoint-transfer.ts'
import { type Comparison, compareWithStream, type LogEnd } from './compare.ts'
import { announce, announceUnread, otherHolders, whyNotBegin } from './holders.ts'
import { type LogStream, type StreamMessage, StreamUnavailable } from './log-stream.ts'
import { type History, OtherHistory, otherStore, readHistory } from './notes.ts'
import { publishTail } from './publisher.ts'
import { StartAgain, StoppedEarly } from './start-again.ts'

const askAgainMs = 500
/** The time for which the stream is read again when something seems to be missing there (H2). */
const patienceMsDefault = 15_000

interface HistoryPlaceOptions {
  stream: LogStream
  /** The data directory, which is locked. */
  place: CheckpointDirectory
  /** The id of this node. */
  node: string
  /** Whether this node may begin a stream without a log, and with one. */
  begins: { empty: boolean; log: boolean }
  /**
   * The time after which an empty log begins a stream, while no other node has announced itself.
   */
  beginAfterMs: number
  /** The word of an operator (holders.ts, H3). */
  word: number | null
  /** The fingerprint of this node's secret. */
  secret: string
  log: Logger
  /** Called with a sentence when it waits for something else than before. */
  onWait: (why: string) => void
  isStopped: () => boolean
  patienceMs?: number
}

/** The continuation of a log that is a part of the history. */
export interface Continuation {
  /** The message of the stream with the next record. */
  sequence: number
  /** The last position that the stream had when they were compared. */
  end: number
}

export class HistoryPlace {
  readonly #options: HistoryPlaceOptions
  readonly #beganMs = performance.now()
  #waitsFor = ''

  constructor(options: HistoryPlaceOptions) {
    this.#options = options
  }

  /**
   * Makes the directory one that a node can recover from; returns the id of its store, or null: it
   * shall begin a log of its own. `storeId` is that of the log that is there. Rejects with a
   * ConfigError if the secret is that of another history.
   */
  async prepare(storeId: string | null): Promise<string | null> {
    const { stream, place, node, log } = this.#options
    const known = clearLog(place) ? null : storeId
    if (known !== null) {
      await this.#ask(() => announceUnread(stream, node, known))
      return known
    }
    const history = await this.#historyToJoin()
    if (history === null) return null
    const { store } = history
    adoptEpoch(place, history)
    const fetched = await this.#ask(() => fetchCheckpoint(stream, place, store))
    const position = fetched?.position ?? 0
    beginLog(place, { storeId: store, position })
    log.info({ position }, 'log_fetched')
    return store
  }

  /**
   * Compares the recovered log with the stream, whose end it publishes if that is this node's to
   * do; null: this node begins the stream. Rejects with `StartAgain` if the log was mended, and
   * with a ConfigError or a JournalError 77 if only an operator can help; the journal is closed
   * then.
   */
  async agree(journal: Journal, term: Term): Promise<Continuation | null> {
    const { stream, node, patienceMs = patienceMsDefault } = this.#options
    const { position, storeId: store } = journal
    const end = { position, term: term.number, nonce: term.nonce, store }
    let untilMs = performance.now() + patienceMs
    try {
      await this.#ask(() => announce(stream, node, end))
      for (;;) {
        const history = await this.#ask(() => this.#read())
        if (history !== null) await this.#checkStore(journal, history)
        const found = await this.#ask(() => compareWithStream(stream, end))
        if (this.#seemsMissing(found, term) && performance.now() < untilMs) {
          await this.#pause()
          continue
        }
        let why: string | null
        if (found.kind === 'behind' && (history !== null || found.last.name !== undefined)) {
          return { sequence: found.next, end: found.last.last }
        }
        if (found.kind === 'empty') {
          why = await this.#whyNotBegin(end, term.node === node, history)
          if (why === null) return null
        } else if (found.kind === 'behind') why = noHistory
        else why = await this.#mend(journal, term, found)
        if (why === null) untilMs = performance.now() + patienceMs
        else await this.#waitFor(why)
      }
    } catch (error) {
      await journal.close()
      throw error
    }
  }

  /** The history to take part in; null: this node may begin one. Waits for either. */
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

  /** Rejects if the log is that of another store, or a backup: it has records of its own. */
  async #checkStore({ storeId, position }: Journal, history: History): Promise<void> {
    const { place } = this.#options
    if (storeId === history.store) {
      if (loadEpoch(place, storeId).id === history.epoch) return
      throw new ConfigError(
        '--data was restored from a backup, and is another history than that of the stream; ' +
          'choose another --replicate-stream, or begin with an empty --data',
      )
    }
    if (position > 0) throw new ConfigError(otherStore(history.store, storeId))
    planClearing(place, { keeps: false })
    throw new StartAgain('another node has begun the stream')
  }

  #whyNotBegin(
    end: Omit<LogEnd, 'nonce' | 'store'> & { store: string | null },
    hasLed: boolean,
    history: History | null,
  ): Promise<string | null> {
    const { stream, node, begins, word, beginAfterMs: patienceMs } = this.#options
    const waitedMs = performance.now() - this.#beganMs
    const mayBegin = end.position === 0 ? begins.empty : begins.log
    const known = { end, hasLed, mayBegin, hasHistory: history !== null }
    return this.#ask(async () => {
      const others = await otherHolders(stream, node, end.store)
      return whyNotBegin({ ...known, waitedMs, patienceMs, word }, others)
    })
  }

  /** Whether the result may be the answer of a server that is late. */
  #seemsMissing({ kind }: Comparison, { number, node }: Term): boolean {
    const isOthers = kind === 'ahead' && node !== this.#options.node
    return isOthers || kind === 'lost' || (kind === 'empty' && number > 0)
  }

  /** Null: the log and the stream can be compared again; otherwise the reason of its waiting. */
  async #mend(journal: Journal, term: Term, found: Comparison): Promise<string | null> {
    const { stream, place, node, log } = this.#options
    const { storeId, position } = journal
    if (found.kind === 'ahead' && term.node === node) {
      // The stream takes it only as the next of its term: another leader, or a late answer of a
      // server, leads to another comparison.
      const published = { last: found.last, position }
      await this.#ask(() => publishTail(stream, { ...place, storeId }, published))
      return null
    }
    if (found.kind === 'diverged') {
      await journal.close()
      const { from } = found
      await putAside({ ...place, from, onNotice: logNotices(log) })
      log.warn({ position: from, term: term.number }, 'put_aside')
      throw new StartAgain(`the log was put aside from position ${from} on`)
    }
    if (found.kind === 'trimmed') {
      const { first } = found.first
      const checkpoint = await this.#ask(() => uploadedCheckpoint(stream))
      const covered = checkpoint?.store === storeId ? checkpoint.position : 0
      if (covered + 1 < first) return nothingBetween(position, first)
      // Records that this node had not published when it led are in its log only.
      planClearing(place, { keeps: term.node === node })
      throw new StartAgain(`the stream goes on behind position ${position}`)
    }
    if (found.kind === 'other' && position === 0) return noHistory
    if (found.kind === 'other') throw otherHistory(journal, term, found.message)
    throw new JournalError(
      77,
      `the log ends at position ${position} of term ${term.number}, which the stream has lost`,
      { advice: 'start the node that led in that term, which has the records that are missing' },
    )
  }

  /** The result of `work`, which needs the stream, as soon as that can be reached. */
  async #ask<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof StreamUnavailable)) throw error
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

  /** Before the stream is asked again. Rejects with `StoppedEarly`. */
  async #pause(): Promise<void> {
    await sleep(askAgainMs)
    if (this.#options.isStopped()) throw new StoppedEarly('stopped')
  }
}

const noHistory =
  'the note `history` beside the stream is missing: the node that leads writes it again; if no ' +
  'node has the log of this stream any more, remove the stream, its notes and its checkpoints'

function nothingBetween(position: number, first: number): string {
  return (
    `the stream begins at position ${first}, this log ends at ${position}, and no checkpoint ` +
    'beside the stream has what is between: the node that leads uploads one; if no node has ' +
    'these records any more, remove the stream, its notes and its checkpoints'
  )
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
