// Starts the readers of a node, if it has any; a node without loads none of it.

import type { SettingTexts } from '../config/config.ts'
import type { Vitals } from '../ops/vitals.ts'
import type { Readers, ReadersParts } from '../readers/readers.ts'
import type { Role } from '../role/role.ts'
import type { CheckpointSchedule } from '../storage/checkpoints.ts'

/** What readers need, and a node that has none may lack. */
type Parts = Omit<ReadersParts, 'texts' | 'role'> & {
  texts: SettingTexts | undefined
}

/** Starts the readers, which this process then has to tell everything; null: there are none. */
export async function startReaders(
  { texts, ...parts }: Parts,
  role: Role,
  checkpoints: CheckpointSchedule,
  vitals: Vitals,
): Promise<Readers | null> {
  if (parts.config.readers === 0 || texts === undefined) return null
  const { Readers } = await import('../readers/readers.ts')
  const readers = new Readers({ ...parts, texts, role })
  role.useReaders(readers)
  checkpoints.tellReaders = (number, position) => readers.checkpointTaken(number, position)
  const { max, ended } = vitals.waiting
  const waiting = {
    max,
    ended,
    get length() {
      return readers.waiting
    },
  }
  Object.assign(vitals, { readers, waiting })
  return readers
}
