// Compares a node's log with the stream: whether the log is a part of the common history, and where
// it continues. Two records at the same position are the same record if they were written in the
// same term, which is more than its number (N1; log-stream.ts, S2). If a term later than the log's
// last one has begun in the stream, the log's records from the first position of that term on are
// not part of the history.
//
//   stream   1 ─────── term 1 ───────▶ 39 ── term 3 ──▶ 70
//   log      1 ─────── term 1 ───▶ 36                       behind: continues with 37
//   log      1 ─────── term 1 ───────────▶ 45               diverged: differs from 40 on
//   log      1 ─────── term 1 ───────▶ 39 ── term 3 ──▶ 72  ahead: 71 and 72 are not there yet
//   log      1 ─── another term 1 ───▶ 36                   other: nothing of it is touched
//
// A server may lag. Then the log seems to be ahead, or to have a term that is lost, and the caller
// compares again. The findings that the log continues, has diverged or must be cleared rest on
// messages that exist (log-stream.ts, F1).
//
// The number of its term does not show whether a message continues a log: a stream that was lost is
// begun again, possibly with terms of the same numbers.
//
//   log      … ─ term 3 "a" ─▶ 63
//   stream                        64 ─ term 4 "b", after "a"  ─▶      continues this log
//   stream                        64 ─ term 1 "c", of another store   does not
//
// A stream that was lost and begun again does not have the terms before its first one, except for
// the nonce of the one that it continues:
//
//   log      1 ── term 1 "a" ───▶ 45
//   lost     1 ── term 1 "a" ▶ 39 ── term 2 "b" ──▶ 63
//   stream                                            64 ── term 3 "c", after "b"  ─▶
//
// Nothing tells whether this log has records that term 2 replaced. The finding is the same as
// where messages were trimmed: a checkpoint must take the log's place, which is kept aside.
//
// N1. A term is identified by its number, its store and its nonce. The first message of a term
//     names the nonce of the preceding term, so that a log can also be compared with the
//     predecessor of a message.

import { firstWhere, keptMessage, type LogStream, type StreamMessage } from './log-stream.ts'

/** The end of a log, described by its last record. */
export interface LogEnd {
  position: number
  /** The number of its term; 0: it was written before there was a stream. */
  term: number
  nonce: string
  /** The id of the store that the log belongs to. */
  store: string
}

/** Whether the message is of the log's last term. */
export function isOfTerm({ term, name }: StreamMessage, end: Omit<LogEnd, 'position'>): boolean {
  return term === end.term && name.nonce === end.nonce && !isOfOtherStore({ name }, end)
}

/**
 * Whether a message that begins directly after the log, or within it, continues the log's history.
 */
export function goesOnFrom(message: StreamMessage, end: Omit<LogEnd, 'position'>): boolean {
  const { term, name } = message
  if (term <= end.term) return isOfTerm(message, end)
  if (isOfOtherStore(message, end)) return false
  return name.previousNonce === end.nonce
}

/** Whether the message names another store than the log's. */
function isOfOtherStore(
  { name }: Pick<StreamMessage, 'name'>,
  { store }: Pick<LogEnd, 'store'>,
): boolean {
  return name.store !== store
}

export type Comparison =
  | { kind: 'empty' }
  /** The log is a part of the history, and continues with the message at sequence `next`. */
  | { kind: 'behind'; next: number; last: StreamMessage }
  /** The log continues after the newest message, in the same term. */
  | { kind: 'ahead'; last: StreamMessage }
  /** The records from this position on are not part of the history. */
  | { kind: 'diverged'; from: number }
  /**
   * The stream begins with this message, and the log's continuation before it was trimmed.
   * `isUnproven`: whether the log is a part of the history is not known either.
   */
  | { kind: 'trimmed'; first: StreamMessage; isUnproven: boolean }
  /** The log has a term that is absent from the stream, which has lost messages. */
  | { kind: 'lost'; last: StreamMessage }
  /** The stream, which has this message, is another history than the log's. */
  | { kind: 'other'; message: StreamMessage }

/** Compares a log with the stream. Rejects with `StreamUnavailable`. */
export async function compareWithStream(stream: LogStream, local: LogEnd): Promise<Comparison> {
  const last = await stream.last()
  if (last === null) return { kind: 'empty' }
  if (isOfOtherStore(last, local)) return { kind: 'other', message: last }
  if (last.term < local.term) return { kind: 'lost', last }
  if (last.term > local.term) {
    const later = await firstWhere(stream, last, ({ term }) => term > local.term)
    if (later.first <= local.position) return divergedAt(stream, later, local)
  } else {
    if (!isOfTerm(last, local)) return { kind: 'other', message: last }
    if (last.last < local.position) return { kind: 'ahead', last }
  }
  if (last.last <= local.position) return { kind: 'behind', next: last.sequence + 1, last }
  const next = await firstWhere(stream, last, (message) => message.last > local.position)
  if (next.first > local.position + 1) return { kind: 'trimmed', first: next, isUnproven: false }
  if (goesOnFrom(next, local)) return { kind: 'behind', next: next.sequence, last }
  return withoutLink(next, local)
}

/** Returns what is known of a log if a message of a later term does not name the log's last one. */
function withoutLink(first: StreamMessage, { term }: LogEnd): Comparison {
  const { name } = first
  // The log may end before a term whose first message was trimmed.
  const isTrimmed = first.term > term && name.previousNonce === undefined
  const isUnproven = first.term > term + 1 && name.previousNonce !== undefined
  if (isTrimmed || isUnproven) return { kind: 'trimmed', first, isUnproven }
  return { kind: 'other', message: first }
}

/** `later` is the first kept message of a later term, and has positions that the log has, too. */
async function divergedAt(
  stream: LogStream,
  later: StreamMessage,
  local: LogEnd,
): Promise<Comparison> {
  const { sequence, name, first } = later
  if (name.previousNonce === local.nonce) return { kind: 'diverged', from: first }
  if (name.previousNonce !== undefined) return withoutLink(later, local)
  // If the messages before it were trimmed, the term may have begun earlier.
  const isBegin = sequence === 1 || (await keptMessage(stream, sequence - 1)) !== null
  if (isBegin) return { kind: 'diverged', from: first }
  return { kind: 'trimmed', first: later, isUnproven: false }
}
