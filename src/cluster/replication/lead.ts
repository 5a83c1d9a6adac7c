// Leads a replicated log: begins a term, publishes appended records, holds the lease, uploads
// checkpoints and trims the stream behind them.
//
//   checkpoint, if the stream is empty and the log is not ─▶ term begun ─▶ its record in the log
//   ─▶ the lease ─▶ ReplicatedJournal ─▶ checkpoints uploaded, the stream trimmed
//
// L1. A leader shows nothing before it holds the lease, which it renews periodically
//     (lease-keeper.ts). A leader that loses the lease checks the stream, which decides
//     (log-stream.ts, S4).
// L2. A failure in this file never ends the node, unless another node leads: then the journal fails
//     with exit code 78.
// L3. A stop or a failure while a term is begun ends the attempt: the lease is released, and the
//     term gets no further record.
//
// A term begins when the stream has its first message, whichever node has published it:
//
//   look at the end ─▶ is it where this node's log ends? ─▶ compare-and-set ─▶ append to the log
//
// L4. The record is in the stream before it is in this node's log. So each term that is in any log
//     is in the stream, and no two logs have different records of one term.
//     The record has a nonce. It distinguishes the terms of two nodes that begin terms of the same
//     number, each in a stream that the other does not see (compare.ts, N1).
//     Before that, the term is in a note of this node (holders.ts, H1).
// L5. Nothing else is appended to this node's log meanwhile: the node leads only afterwards.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Packr } from 'msgpackr'
import { JournalError } from '../../../wal/errors.ts'
import { recordHeaderBytes } from '../../../wal/journal/format.ts'
import type { Journal, Notice } from '../../../wal/journal/types.ts'
import { Backoff } from '../../base/pauses.ts'
import type { Role } from '../../engine/role/role.ts'
import type { Forum } from '../../forum/forum.ts'
import type { RecordOf } from '../../forum/records.ts'
import { encode } from '../../forum/records.ts'
import { timeOf } from '../../kernel/clock.ts'
import { isOfTerm, type LogEnd } from './compare.ts'
import { announce } from './holders.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import {
  type LogStream,
  type StreamMessage,
  StreamUnavailable,
  type TermName,
  type Unplaced,
} from './log-stream.ts'
import type { History } from './notes.ts'
import { ReplicatedJournal } from './replicated-journal.ts'
import { type LeaderCheckpoints, tend, Uploads } from './uploads.ts'

export interface LeadParts {
  stream: LogStream
  /** The node's own log, completely applied; nothing else appends to it meanwhile. */
  journal: Journal
  /** Receives the leader's journal and the lease. */
  role: Pick<Role, 'receive' | 'mayLead' | 'lead' | 'giveUp'>
  forum: Forum
  checkpoints: LeaderCheckpoints
  node: string
  /** Whether this node begins the stream, which must have no message. */
  isFirst: boolean
  /** The content of the note `history`, without the id of the store. */
  history: Pick<History, 'epoch' | 'epochBegin' | 'secret'>
  takeoverMs: number
  onNotice(notice: Notice): void
  /** Whether to give up; called while the stream cannot be reached. */
  isStopped(): boolean
}

export interface Leading {
  readonly journal: ReplicatedJournal
  readonly term: number
  readonly warnings: string[]
  /**
   * Stops uploads, and waits for a limited time until the stream has the whole log. Call it before
   * the last checkpoint, which the next start uploads.
   */
  drain(): Promise<void>
  /** Releases the lease. Call it when the log is closed. The stream stays open. */
  stop(): Promise<void>
}

const drainMs = 10_000

/**
 * Begins to lead after the last record of the log. Returns null if the stream ends elsewhere, so
 * that this node has to follow first. Waits while the stream is unreachable. Rejects with a
 * JournalError if the checkpoint for an existing log cannot be taken, or the log cannot be written.
 */
export async function lead(parts: LeadParts): Promise<Leading | null> {
  const { stream, journal, role, forum, node, isFirst, onNotice } = parts
  const isStopped = () => parts.isStopped() || !role.mayLead
  const uploads = new Uploads({ ...parts, isStopped })
  if (isFirst && journal.position > 0) await uploads.first()
  await untilWritable(journal)
  const at = timeOf(forum)
  const { position, term: lastTerm } = forum.state
  const { number, nonce } = lastTerm
  const end = { position, term: number, nonce, store: journal.storeId }
  const begun = await beginTerm(stream, { node, end, isFirst, at }, isStopped)
  if (begun === null) return null
  const { record, name, message } = begun
  await untilWritable(journal)
  const append = () => journal.appendEncoded(message.bytes, 1)
  const isNext = role.receive(message.first, 1, message.bytes, append)
  assert(isNext, 'L5: the state has every record before the term')
  await journal.sync()
  const { term } = record
  const holder = { version: 1, node, term, since: at } as const
  const lease = new LeaseKeeper({ ...parts, holder })
  if (!(await lease.take(isStopped))) return null
  if (!role.mayLead) {
    await lease.stop()
    return null
  }
  const replicated = new ReplicatedJournal({
    local: journal,
    stream,
    term,
    name,
    sequence: message.sequence,
  })
  role.lead(replicated, lease)
  parts.checkpoints.useJournal(replicated)
  uploads.begin()
  const giveUp = () => role.giveUp()
  lease.begin(() => replicated.publisher.check(), giveUp)
  const stopWatching = watchUndecided(() => replicated.publisher.stalledMs, giveUp)
  const stopTending = tend(
    { ...parts, uploads },
    { store: end.store, position: position + 1, term },
  )
  onNotice({ event: 'leading', term, position: position + 1 })
  return {
    journal: replicated,
    term,
    get warnings() {
      return [...uploads.warnings, ...lease.warnings]
    },
    async drain() {
      stopWatching()
      // At once: tending may wait for a checkpoint, and that for the stream, for which there is a
      // limit.
      await Promise.all([stopTending(), uploads.stop(), replicated.drain(drainMs)])
    },
    stop: () => lease.stop(),
  }
}

/** How long the stream may acknowledge nothing before the writes that wait for it are refused. */
const undecidedMsMax = 9_000
const watchEveryMs = 500

/**
 * Calls `giveUp` repeatedly while the stream has acknowledged nothing for so long, even if the
 * lease is renewed: the servers can lack a leader of the stream, and have one of the notes. So a
 * write that cannot be decided is answered within ten seconds. Returns a function that ends this.
 */
export function watchUndecided(
  stalledMs: () => number,
  giveUp: () => void,
  everyMs = watchEveryMs,
): () => void {
  const watching = setInterval(() => {
    if (stalledMs() >= undecidedMsMax) giveUp()
  }, everyMs).unref()
  return () => clearInterval(watching)
}

/** Resolves when the log has room. Right after its start the log may still be making room. */
async function untilWritable(journal: Journal): Promise<void> {
  const backoff = new Backoff()
  while (journal.health === 'overloaded') await backoff.pause()
  if (journal.health === 'ok') return
  throw journal.failure ?? new JournalError(74, 'the disk has no room for the log', {})
}

const nonceBytes = 16

interface Beginning {
  node: string
  /** The end of the node's log. */
  end: LogEnd
  /** Whether this node was chosen to begin the stream (holders.ts, H2). */
  isFirst: boolean
  /** The time of the record, in milliseconds since the epoch. */
  at: number
}

interface Begun {
  /** The record, and its message, which this node must append to its log now. */
  record: RecordOf<'leader.began'>
  name: TermName
  message: StreamMessage
}

/**
 * Begins the next term after the end of the log. Returns null if the stream ends elsewhere, because
 * another node leads or this one has to follow first. Waits while the stream is unreachable, unless
 * `isStopped`.
 */
export async function beginTerm(
  stream: LogStream,
  { node, end, isFirst, at }: Beginning,
  isStopped: () => boolean = () => false,
): Promise<Begun | null> {
  const backoff = new Backoff()
  let isAnnounced = false
  const { position, store, nonce: previousNonce } = end
  const term = end.term + 1
  const nonce = randomBytes(nonceBytes).toString('hex')
  const record: RecordOf<'leader.began'> = { type: 'leader.began', at, term, node, nonce }
  const name = { store, nonce }
  const bytes = packed(encode(record))
  const range = { first: position + 1, last: position + 1 }
  const sent: Unplaced = { ...range, term, name: { ...name, previousNonce }, bytes }
  while (!isStopped()) {
    try {
      const last = await stream.last()
      // The message may be there already, if its acknowledgement was lost.
      if (last !== null && isSame(last, sent)) return { record, name, message: last }
      const isEnd = last === null ? isFirst : last.last === position && isOfTerm(last, end)
      if (!isEnd) return null
      if (!isAnnounced) await announce(stream, node, { store, position, term })
      isAnnounced = true
      const expected = last?.sequence ?? (await stream.firstSequence()) - 1
      const published = await stream.publish(sent, expected)
      if ('sequence' in published) return { record, name, message: { ...sent, ...published } }
      await backoff.pause()
    } catch (error) {
      if (!(error instanceof StreamUnavailable)) throw error
      await backoff.pause()
    }
  }
  return null
}

function isSame(found: StreamMessage, sent: Unplaced): boolean {
  return (
    found.term === sent.term &&
    found.first === sent.first &&
    Buffer.compare(found.bytes, sent.bytes) === 0
  )
}

/** Encodes one record as a frame holds it. */
function packed(row: unknown): Uint8Array {
  const value = new Packr({ useRecords: false }).pack(row)
  const header = Buffer.alloc(recordHeaderBytes)
  header.writeUInt32LE(value.length)
  return Buffer.concat([header, value])
}
