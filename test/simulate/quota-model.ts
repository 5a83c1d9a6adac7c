// Rate limits of the model: every check counts all events from the beginning.

import { createHmac } from 'node:crypto'
import type { QuotaLimits, Scope } from '../../src/state/quotas.ts'
import { keys } from './keys.ts'
import { type QuotaEvent, windowsMs } from './model-types.ts'

/** Position of the newest event that fills a limit, or null when one more event is allowed. */
export function limitReached(
  done: readonly QuotaEvent[],
  limits: QuotaLimits,
  { action, by, address, at }: Pick<QuotaEvent, 'action' | 'by' | 'at'> & { address: string },
): number | null {
  const scopes = Object.entries(limits[action] ?? {}) as [Scope, number][]
  const client = createHmac('sha256', keys.address).update(address).digest('hex').slice(0, 16)
  for (const [scope, most] of scopes) {
    if (most === 0) continue
    const counted = done.filter((one) => {
      if (one.action !== action || one.at + windowsMs[action] <= at) return false
      if (scope === 'all') return true
      return scope === 'identity' ? one.by === by : one.client === client
    })
    if (counted.length >= most) return counted.at(-1)!.position
  }
  return null
}
