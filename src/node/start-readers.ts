// Starts the readers of a node, if it has any. A node without readers loads none of their code.

import { availableParallelism } from 'node:os'
import type { Readers, ReadersParts } from '../cluster/readers/readers.ts'
import type { Config, SettingTexts } from '../config/config.ts'
import type { Role } from '../engine/role/role.ts'
import type { CheckpointSchedule } from '../engine/storage/checkpoints.ts'

/** What readers need. Some of it may be absent in a node without readers. */
type Parts = Omit<ReadersParts, 'texts' | 'role'> & {
  texts: SettingTexts | undefined
}

/** Starts the readers, which this process must then keep informed; null if there are none. */
export async function startReaders(
  { texts, ...parts }: Parts,
  role: Role,
  checkpoints: CheckpointSchedule,
): Promise<Readers | null> {
  if (texts?.readers === 'auto') parts.log.info(choiceOf(parts.config), 'readers_chosen')
  if (parts.config.readers === 0 || texts === undefined) return null
  const { Readers } = await import('../cluster/readers/readers.ts')
  const readers = new Readers({ ...parts, texts, role })
  role.useReaders(readers)
  checkpoints.tellReaders = (number, position) => readers.checkpointTaken(number, position)
  return readers
}

const mib = 1024 * 1024

/** Describes for the log what `--readers auto` means on this machine. */
function choiceOf({ readers, nodeLimits }: Config): object {
  const shared = 'one processor decides, one syncs, sends webhooks and takes checkpoints'
  return {
    processors: availableParallelism(),
    readers,
    why: readers === 0 ? `${shared}: none is left for readers` : `${shared}, the others read`,
    memory_mb_each: Math.floor(nodeLimits.memoryBytesMax / mib),
    text_memory_mb_each: Math.floor(nodeLimits.textBytesMax / mib),
  }
}
