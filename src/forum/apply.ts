// Applies a record to the state. This is the only way in which the state changes.
//
//   the log, at a start ─────────────────────────────────────────▶ apply
//   a command's (write.ts), a leader's, a term's ──▶ applyServing ─┘
//
// L1. The records of a leader are applied once, in order and without a gap: those that are known
//     are passed over.
// L2. Where erased text is shown elsewhere it is overwritten when the erasure is applied.

import assert from 'node:assert/strict'
import { Unpackr } from 'msgpackr'
import { eachEncoded } from '../../wal/journal/format.ts'
import type { State } from '../state/state.ts'
import { type Forum, forgetErased } from './forum.ts'
import { decode, type ForumRecord, kindOf } from './records.ts'

export function apply(state: State, position: number, record: ForumRecord): void {
  state.position = position
  state.now = record.at
  kindOf[record.type].apply(state, position, record)
}

/** Applies a record to the state of a forum that serves, whoever decided on it. */
export function applyServing(forum: Forum, position: number, record: ForumRecord): void {
  const { state } = forum
  const { erasedPosition } = state
  assert(position === state.position + 1, 'state and log advance together')
  apply(state, position, record)
  if (state.erasedPosition !== erasedPosition) forgetErased(forum) // L2
}

const unpackr = new Unpackr({ useRecords: false, copyBuffers: true, int64AsType: 'number' })

/**
 * Applies `count` records as they stand in a frame, which another process has decided on; the first
 * one has the position `first`. Returns false, having applied nothing, if others are missing before
 * them: they are to be sent again, behind the position of the state. Throws `NewerRecord` of
 * records.ts.
 */
export function receive(forum: Forum, first: number, count: number, records: Uint8Array): boolean {
  const { state } = forum
  if (first > state.position + 1) return false
  let position = first
  const isWhole = eachEncoded(records, count, (start, end) => {
    const at = position++
    if (at <= state.position) return // L1
    applyServing(forum, at, decode(unpackr.unpack(records as Buffer, { start, end })))
  })
  assert(isWhole, 'the records fill their bytes')
  return true
}
