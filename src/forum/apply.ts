// Applies a record to the state. This is the only way in which the state changes.
//
//   the log, at a start ─────────────────────────────────────────▶ apply
//   a command (write.ts), a leader, a new term ────▶ applyServing ─┘
//
// L1. A leader's records are applied once, in order and without gaps. Records that have been
//     applied already are skipped.
//     Records are applied, and appended to a log of this process, only if all of them can be
//     decoded. Otherwise a record of a newer version would stay in the log, which this version then
//     could not read at its next start.
// L2. Copies of an erased text outside the state are overwritten when its erasure is applied.

import assert from 'node:assert/strict'
import { Unpackr } from 'msgpackr'
import { eachEncoded } from '../../wal/journal/format.ts'
import { type Forum, forgetErased } from './forum.ts'
import { decode, type ForumRecord, kindOf } from './records.ts'
import type { State } from './state.ts'

export function apply(state: State, position: number, record: ForumRecord): void {
  state.position = position
  state.now = record.at
  kindOf[record.type].apply(state, position, record)
}

/** Applies a record to the state of a forum that serves requests, whoever decided on the record. */
export function applyServing(forum: Forum, position: number, record: ForumRecord): void {
  const { state } = forum
  const { erasedPosition } = state
  assert(position === state.position + 1, 'state and log advance together')
  apply(state, position, record)
  if (state.erasedPosition !== erasedPosition) forgetErased(forum) // L2
}

const unpackr = new Unpackr({ useRecords: false, copyBuffers: true, int64AsType: 'number' })

/**
 * Applies `count` records that another process has decided on, encoded as in a frame; the first one
 * has the position `first`. Calls `append` before, when it has decoded all of them (L1). Returns
 * false, and does neither, if records before `first` are missing: the records after the position of
 * the state must be sent again. Throws `NewerRecord` (records.ts).
 */
export function receive(
  forum: Forum,
  first: number,
  count: number,
  records: Uint8Array,
  append: () => void = () => {},
): boolean {
  const { state } = forum
  if (first > state.position + 1) return false
  const skipped = state.position + 1 - first
  const decoded: ForumRecord[] = []
  let index = 0
  const isWhole = eachEncoded(records, count, (start, end) => {
    if (index++ < skipped) return
    decoded.push(decode(unpackr.unpack(records as Buffer, { start, end })))
  })
  assert(isWhole, 'the records fill their bytes')
  append()
  for (const record of decoded) applyServing(forum, state.position + 1, record)
  return true
}
