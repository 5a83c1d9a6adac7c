// The line of the verbose readiness about the search. Whatever it says, the node is ready, and not
// degraded.

import { counted } from '../base/counted.ts'
import type { SearchStats } from './search-stats.ts'
import type { Vitals } from './vitals.ts'

export function searchLine({ search, state }: Vitals): string[] {
  if (search === null) return []
  if (!search.isAvailable) return ['[+] search: off, as no engine loads']
  const { indexed, trouble } = search.progress
  const missing = missingOf(search, state.messages.count)
  const waits = trouble === '' ? '' : `; waits: ${trouble}`
  const found =
    missing === 0
      ? `all of ${counted(indexed, 'message')}`
      : `${indexed} of ${counted(indexed + missing, 'message')}`
  return [`[+] search: ${found}${waits}`]
}

/** How many of so many messages are not found yet. */
export function missingOf({ progress: { indexed } }: SearchStats, count: number): number {
  return Math.max(0, count - indexed)
}
