// Compares a node's log with the stream: whether it is a part of the common history, and where the
// node goes on. Two records at the same position that were written in the same term (which is more
// than its number: N1) are the same record (log-stream.ts, S2), and whatever is in a log
// of a term that began in the stream after the log's last term is not part of the history.
//
//   stream   1 ─────── term 1 ───────▶ 40 ── term 3 ──▶ 70
//   log      1 ─────── term 1 ───▶ 36                       behind: goes on with 37
//   log      1 ─────── term 1 ───────────▶ 45               diverged: from 40 on it is another one
//   log      1 ─────── term 1 ───────▶ 39 ── term 3 ──▶ 72  ahead: 71 and 72 are not there yet
//   log      1 ─── another term 1 ───▶ 36                   other: nothing of it is touched
//
// A server may answer late. Then the log seems to be ahead, or to have a term that is lost; the
// caller asks again. That it goes on, has diverged or is to be cleared rests on messages that are
// there (log-stream.ts, F1).
//
// Whether a message continues a log cannot be seen from the number of its term alone: a
// stream that was lost is begun again, with terms that may have the same numbers.
//
//   log      … ─ term 3 "a" ─▶ 63
//   stream                        64 ─ term 4 "b", behind "a" ─▶      goes on from this log
//   stream                        64 ─ term 1 "c", of another store   does not
//
// N1. A term is its number, its store and its nonce. The first message of a term names the nonce of
//     the term before it, so that a log is compared with the predecessor of a message, too.
// N2. Terms that were begun by a program that did not name them have the nonce ''. Their messages
//     name no store either: the note `history` beside the stream does (notes.ts).

import { firstWhere, keptMessage, type LogStream, type StreamMessage } from './log-stream.ts'

/** The last record of a log. */
export interface LogEnd {
  position: number
  /** Its term; 0: it was written before there was a stream. */
  term: number
  nonce: string
  /** The id of the store that the log has. */
  store: string
}

/** Whether the message is of the term that the log ends in. */
export function isOfTerm({ term, name }: StreamMessage, end: Omit<LogEnd, 'position'>): boolean {
  return term === end.term && nonceOf(name) === end.nonce && !isOfOtherStore({ name }, end)
}

/** Whether the message, which begins right behind the log or within it, goes on from its end. */
export function goesOnFrom(message: StreamMessage, end: Omit<LogEnd, 'position'>): boolean {
  const { term, name } = message
  if (term <= end.term) return isOfTerm(message, end)
  if (isOfOtherStore(message, end)) return false
  return (name === undefined ? '' : name.behind) === end.nonce
}

/** Whether the log is that of another store than the message says. */
function isOfOtherStore(
  { name }: Pick<StreamMessage, 'name'>,
  { store }: Pick<LogEnd, 'store'>,
): boolean {
  return name !== undefined && name.store !== store
}

/** The nonce that the name of a message says. */
export function nonceOf(name: StreamMessage['name']): string {
  return name?.nonce ?? ''
}

export type Comparison =
  /** There has never been a message. */
  | { kind: 'empty' }
  /** The log is a part of the history; `next` is the sequence at which it goes on. */
  | { kind: 'behind'; next: number; last: StreamMessage }
  /** The log goes on behind the newest message, in the same term. */
  | { kind: 'ahead'; last: StreamMessage }
  /** The records from this position on are not part of the history. */
  | { kind: 'diverged'; from: number }
  /** The stream begins, with this message, behind the continuation of the log. */
  | { kind: 'trimmed'; first: StreamMessage }
  /** The log has a term that the stream does not have: the stream has lost messages. */
  | { kind: 'lost'; last: StreamMessage }
  /** The stream, of which this is a message, is not the history that the log is a part of. */
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
  if (next.first > local.position + 1) return { kind: 'trimmed', first: next }
  if (goesOnFrom(next, local)) return { kind: 'behind', next: next.sequence, last }
  // The end of the log may be older than a term whose beginning is trimmed.
  const isTrimmed = next.term > local.term && next.name?.behind === undefined
  return isTrimmed ? { kind: 'trimmed', first: next } : { kind: 'other', message: next }
}

/** `later` is the first message kept of a later term, and holds positions that the log has, too. */
async function divergedAt(
  stream: LogStream,
  later: StreamMessage,
  local: LogEnd,
): Promise<Comparison> {
  const { sequence, name, first } = later
  if (name?.behind !== undefined) {
    return name.behind === local.nonce
      ? { kind: 'diverged', from: first }
      : { kind: 'other', message: later }
  }
  // If the messages before it are trimmed, the term may have begun earlier.
  const isBegin = sequence === 1 || (await keptMessage(stream, sequence - 1)) !== null
  return isBegin ? { kind: 'diverged', from: first } : { kind: 'trimmed', first: later }
}
