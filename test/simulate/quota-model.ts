// The rate limits of the model. Every check counts all events since the beginning.

import { createHmac } from 'node:crypto'
import type { QuotaLimits, Scope } from '../../src/kernel/quotas.ts'
import { keys } from './keys.ts'
import { type QuotaEvent, windowsMs } from './model-types.ts'

/**
 * Returns the position of the newest event that fills a limit, or null if that many more events are
 * allowed.
 */
export function limitReached(
  done: readonly QuotaEvent[],
  limits: QuotaLimits,
  {
    action,
    by,
    address,
    at,
    times,
  }: Pick<QuotaEvent, 'action' | 'by' | 'at'> & { address: string; times: number },
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
    if (counted.length + times > most) return counted.at(-1)?.position ?? 0
  }
  return null
}
