// Quotas as commands ask about them: after the receipt, so a replay never counts, and before the
// record. What counts is the record; state/quotas.ts has the windows.

import { createHmac } from 'node:crypto'
import type { Action, Doing } from '../state/quotas.ts'
import type { Forum, Refusal } from './forum.ts'

const clientHexLength = 16

/**
 * What a record of this action says of the caller's address: a hash of its network with this node's
 * own key, and only while a limit needs it; otherwise an empty string.
 */
export function clientOf({ state, addressKey }: Forum, action: Action, address: string): string {
  if (!state.quotas.needsClient(action)) return ''
  const network = networkOf(address)
  return createHmac('sha256', addressKey).update(network).digest('hex').slice(0, clientHexLength)
}

const prefixGroups = 4

/**
 * Whose events a limit counts together: an IPv4 address, or the /64 of an IPv6 address, because one
 * customer of a provider usually has all of it. The address is in its short form.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [before, after] = address.split('::')
  const groups = before === '' ? [] : before.split(':')
  if (after !== undefined && groups.length < prefixGroups) {
    const rest = after === '' ? [] : after.split(':')
    // An IPv4 address at the end stands for two groups, of which the prefix has none.
    while (groups.length + rest.length < 8) groups.push('0')
    groups.push(...rest)
  }
  return `${groups.slice(0, prefixGroups).join(':')}::/64`
}

/** Why this may not be done now, or null. `client` as `clientOf` gives it. */
export function refuseQuota({ state }: Forum, action: Action, doing: Doing): Refusal | null {
  const wait = state.quotas.waitMs(action, doing)
  if (wait === 0) return null
  // It tells of records that may not be durable yet.
  return { refused: 'rate_limited', position: state.position, retryAfter: Math.ceil(wait / 1000) }
}
