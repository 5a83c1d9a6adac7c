// The forms of saved state that a node can load: the current one (state/saved.ts), and those of
// earlier releases.

import type { Target } from '../../../wal/checkpoint/checkpoints.ts'
import { checkpointTarget, type OnIndexFilled } from '../saved.ts'
import type { State } from '../state.ts'
import { targetOfForm1 } from './form-1.ts'
import { targetOfForm2 } from './form-2.ts'
import { targetOfForm3 } from './form-3.ts'
import { targetOfForm5 } from './form-5.ts'
import { targetOfForm6 } from './form-6.ts'

/** Returns the target for loading a checkpoint of this form; every released form can be read. */
export function targetOf(state: State, form: number, onIndexFilled: OnIndexFilled): Target {
  if (form === 1) return targetOfForm1(state, onIndexFilled)
  if (form === 2) return targetOfForm2(state, onIndexFilled)
  if (form === 3) return targetOfForm3(state, onIndexFilled)
  if (form <= 5) return targetOfForm5(state, onIndexFilled)
  if (form === 6) return targetOfForm6(state, onIndexFilled)
  return checkpointTarget(state, onIndexFilled)
}
