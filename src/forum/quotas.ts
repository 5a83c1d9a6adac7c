// Quotas as commands ask about them: after the receipt, so a replay never counts, and before the
// record. What counts is the record; state/quotas.ts has the windows.

import { createHmac } from 'node:crypto'
import type { Action, Doing } from '../state/quotas.ts'
import type { Forum, Refusal } from './forum.ts'

const clientHexLength = 16

/**
 * What a record of this action says of the caller's address: a hash with this node's own key, and
 * only while a limit needs it; otherwise an empty string.
 */
export function clientOf({ state, addressKey }: Forum, action: Action, address: string): string {
  if (!state.quotas.needsClient(action)) return ''
  return createHmac('sha256', addressKey).update(address).digest('hex').slice(0, clientHexLength)
}

/** Why this may not be done now, or null. `client` as `clientOf` gives it. */
export function refuseQuota({ state }: Forum, action: Action, doing: Doing): Refusal | null {
  const wait = state.quotas.waitMs(action, doing)
  if (wait === 0) return null
  // It tells of records that may not be durable yet.
  return { refused: 'rate_limited', position: state.position, retryAfter: Math.ceil(wait / 1000) }
}
