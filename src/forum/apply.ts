// What a record does to the state. The one way in which it changes: live traffic and the replay of
// the log go through here.

import type { State } from '../state/state.ts'
import { type ForumRecord, kindOf } from './records.ts'

export function apply(state: State, position: number, record: ForumRecord): void {
  state.position = position
  state.now = record.at
  kindOf[record.type].apply(state, position, record)
}
