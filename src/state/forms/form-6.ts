// Loads checkpoints of form 6, in which there were no invitations.
//
//   form 6          form 7
//   –          ─▶   facts of invitations: none, changed at position 0
//
// Neighbours: form-5.ts and the earlier forms' files load forms that lack these facts as well.

import { checkpointTarget, type OnIndexFilled } from '../saved.ts'
import type { State } from '../state.ts'

/** Returns the target for loading a checkpoint of form 6. */
export function targetOfForm6(state: State, onIndexFilled?: OnIndexFilled) {
  const { stores, rows, restore } = checkpointTarget(state, onIndexFilled)
  return {
    stores,
    rows,
    restore: (facts: unknown) => restore(fromForm6(facts as Record<string, unknown>)),
  }
}

/** Returns the facts together with those that form 6 did not have. */
export function fromForm6(facts: Record<string, unknown>): Record<string, unknown> {
  return { ...facts, 'invitations.': [0, []] }
}
