// Starts what runs beside the main process: the readers, if there are any (a node without readers
// loads none of their code), and the index of the search. Where there is to be no index it is
// removed, because a text that is removed from the forum must not stay in it.

import { availableParallelism } from 'node:os'
import type { Logger } from 'pino'
import type { Readers, ReadersParts } from '../cluster/readers/readers.ts'
import type { Config, SettingTexts } from '../config/config.ts'
import type { Service } from '../edge/api/route.ts'
import type { Gate } from '../edge/http/gate.ts'
import type { Role } from '../engine/role/role.ts'
import type { CheckpointSchedule } from '../engine/storage/checkpoints.ts'
import { MessageSearch } from '../forum/search/find.ts'
import { AbsentIndex, SearchHost } from '../forum/search/host.ts'
import type { SearchStats } from '../operators/ops/vitals.ts'

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

interface SearchParts {
  config: Config
  log: Logger
  /** There is no index on a simulated disk. */
  environment: { disk?: unknown }
  storeId: string
}

/** The parts of a role that the search joins (engine/role/role.ts). */
interface Served {
  service: Service
  gate: Gate
}

/** Lets the service find messages by their words, unless it is not to: then `stats` are null. */
export function startSearch(
  { service, gate }: Served,
  parts: SearchParts,
): { index: SearchHost | AbsentIndex | null; stats: SearchStats | null } {
  const { config, log, environment, storeId } = parts
  if (environment.disk !== undefined) return { index: null, stats: null }
  const { data: dir, readers, nodeLimits } = config
  const { searchBytesMax: memoryBytes } = nodeLimits
  if (!config.search) return { index: new AbsentIndex(dir, log), stats: null }
  const { forum, epoch } = service
  const identity = `${storeId} ${epoch}`
  const hasReaders = readers > 0
  const search = new SearchHost({ forum, log, dir, identity, memoryBytes, hasReaders })
  gate.onOpen = () => search.onDurable()
  service.search = new MessageSearch(forum, search)
  return { index: search, stats: search }
}
