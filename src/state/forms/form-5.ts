// Loads checkpoints of forms 4 and 5, in which feeds had neither mentions nor a mark of what is
// read, and no token had been replaced. (Form 4 also lacks the nonce of a term, as old records do.)
//
//   form 5          form 6
//   –          ─▶   feeds.actors.readThrough and readPosition, 0
//   –          ─▶   feeds.mentions, a list for each identity, empty
//   –          ─▶   identities.actors.tokenNumber, 0
//
// Neighbours: form-3.ts and form-2.ts load forms that lack these stores as well.

import type { Stores } from '../../../wal/checkpoint/paged-store.ts'
import { checkpointTarget, type OnIndexFilled, storesOf } from '../saved.ts'
import type { State } from '../state.ts'
import { fromForm6 } from './form-6.ts'

/** Stores that form 5 did not have. */
const added = [
  'feeds.actors.readThrough',
  'feeds.actors.readPosition',
  'feeds.mentions.starts',
  'feeds.mentions.lengths',
  'feeds.mentions.classes',
  'feeds.mentions.words',
  'identities.actors.tokenNumber',
]

/** Returns the target for loading a checkpoint of form 5. */
export function targetOfForm5(state: State, onIndexFilled?: OnIndexFilled) {
  const { rows, restore } = checkpointTarget(state, onIndexFilled)
  return {
    stores: storesOfForm5(state),
    rows,
    restore: (facts: unknown) => restore(fromForm5(state, facts as Record<string, unknown>)),
  }
}

/** Returns the stores that form 5 and earlier forms have. */
export function storesOfForm5(state: State): Stores {
  const of5 = new Map(storesOf(state))
  for (const name of added) of5.delete(name)
  return of5
}

/** Adds what form 5 did not have to a state whose stores are filled, and to its facts. */
export function fromForm5(state: State, facts: Record<string, unknown>): Record<string, unknown> {
  state.feeds.addMentionsAndMarks()
  state.identities.addTokenNumbers()
  return fromForm6({ ...facts, 'feeds.mentions.': [], 'identities.': [0, []] })
}
