// Whether a message goes on from the end of a log. The number of its term alone does not say so: a
// stream that was lost is begun again, with terms that may have the same numbers.
//
//   log      … ─ term 3 "a" ─▶ 63
//   stream                        64 ─ term 4 "b", behind "a" ─▶      goes on from this log
//   stream                        64 ─ term 1 "c", of another store   does not
//
// N1. A term is its number, its store and its nonce. The first message of a term names the nonce of
//     the term before it, so that a log is compared with what a message follows, too.
// N2. Terms that were begun by a program that did not name them have the nonce ''. Their messages
//     name no store either: the note `history` beside the stream does (history.ts).

import type { StreamMessage } from './log-stream.ts'

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
export function isOfOtherStore(
  { name }: Pick<StreamMessage, 'name'>,
  { store }: Pick<LogEnd, 'store'>,
): boolean {
  return name !== undefined && name.store !== store
}

/** The nonce that the name of a message says. */
export function nonceOf(name: StreamMessage['name']): string {
  return name?.nonce ?? ''
}
