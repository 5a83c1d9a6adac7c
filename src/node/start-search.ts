// Starts the search index of a node, or removes it where there is to be none: a text that is
// removed from the forum must not stay in it.

import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Service } from '../edge/api/route.ts'
import type { Gate } from '../edge/http/gate.ts'
import { MessageSearch } from '../forum/search/find.ts'
import { AbsentIndex, SearchHost } from '../forum/search/host.ts'
import type { SearchStats } from '../operators/ops/vitals.ts'

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
