// Applies a record to the state. This is the only way in which the state changes: live traffic and
// the replay of the log both go through here.

import type { State } from '../state/state.ts'
import { type ForumRecord, kindOf } from './records.ts'

export function apply(state: State, position: number, record: ForumRecord): void {
  state.position = position
  state.now = record.at
  kindOf[record.type].apply(state, position, record)
}
