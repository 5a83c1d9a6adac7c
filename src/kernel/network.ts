// Groups addresses into networks, each of which counts as one caller where limits go by address.

import type { Holder } from '../base/shares.ts'

/** Stands for the anonymous caller, who has no identity. */
export const nobody = -1

const prefixGroups = 4

/**
 * Returns the network that a caller's address counts as: an IPv4 address itself, or the /64 prefix
 * of an IPv6 address, because a provider usually assigns a whole /64 to one customer. `address` is
 * in its shortened form (RFC 5952).
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

/** Returns the holder of a caller's share. `client`, an address, matters only without a token. */
export function holderOf(caller: number, client: string): Holder {
  return caller === nobody ? networkOf(client) : caller
}
