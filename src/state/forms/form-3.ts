// Loads checkpoints of form 3, which had no acts of moderation. Only messages could be erased then,
// by no command that operators had, so the time and the reason of an erasure are unknown.
//
//   form 3          form 4
//   –          ─▶   moderation.acts, empty
//
// Neighbours: form-2.ts loads form 2, which lacks these rows as well.

import type { Rows } from '../../../wal/checkpoint/paged-store.ts'
import { type OnIndexFilled, rowsOf } from '../saved.ts'
import type { State } from '../state.ts'
import { targetOfForm5 } from './form-5.ts'

/** Rows that form 3 did not have. */
const added = new Set(['moderation.acts'])

/** Returns the target for loading a checkpoint of form 3. */
export function targetOfForm3(state: State, onIndexFilled?: OnIndexFilled) {
  return { ...targetOfForm5(state, onIndexFilled), rows: rowsOfForm3(state) }
}

/** Returns the rows that forms 2 and 3 have. */
export function rowsOfForm3(state: State): Rows {
  return new Map(Array.from(rowsOf(state)).filter(([name]) => !added.has(name)))
}
