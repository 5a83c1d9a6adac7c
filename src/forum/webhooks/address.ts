// The rules for webhook endpoints: for the URL, checked at registration, and for the addresses of
// its host, checked at every attempt. Without them anyone could make this server send requests to
// machines that only it can reach (SSRF).
//
// A1. A URL has the scheme https, port 443 and a DNS name, and nothing besides host and path.
// A2. If any address that the name resolves to is not public, none of them is used.
// A3. A name is resolved once per attempt, and the connection goes to an address that was checked.
//     A DNS answer that changes in between (DNS rebinding) has no effect.
//
// `allowPrivate`, for labs, lifts the rules about host, port and addresses.

import { lookup, Resolver } from 'node:dns/promises'
import { BlockList, isIPv4 } from 'node:net'

export interface AddressRules {
  allowPrivate: boolean
  /** The service's own host name, which no webhook may use. */
  ownHost: string
}

/**
 * Resolves a host name to IP addresses. If there are none, rejects or resolves to an empty list.
 */
export type Resolve = (host: string) => Promise<string[]>

/** Returns why a webhook may not have this URL, as a sentence, or null if it may. */
export function refuseEndpoint(text: string, rules: AddressRules): string | null {
  if (!/^[\x21-\x7e]+$/.test(text)) return 'url must be ASCII without spaces.'
  if (!/^https:\/\//i.test(text)) return 'url must begin with https://.'
  if (/[?#\\]/.test(text)) return 'url must have no query, fragment or backslash.'
  // The parser skips further slashes before the host, and drops an empty user name.
  const authority = text.split('/', 3)[2]
  const url = URL.canParse(text) ? new URL(text) : null
  if (authority.includes('@') || url?.username || url?.password) {
    return 'url must have no user name or password.'
  }
  if (url === null || authority === '') return 'url is not a valid URL.'
  if (rules.allowPrivate) return null
  const { hostname, port } = url
  if (port !== '') return 'url must use port 443.'
  return refuseHost(hostname, rules.ownHost)
}

/**
 * Returns why the host is not allowed, or null. The URL parser has already converted every spelling
 * of an IPv4 address (0x7f.1) to dotted decimal.
 */
function refuseHost(hostname: string, ownHost: string): string | null {
  const host = hostname.replace(/\.$/, '')
  if (isIPv4(host) || host.startsWith('[')) return 'url must name its host, not give an address.'
  if (!/^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/.test(host) || host.length > 253) {
    return 'url must have a public host name.'
  }
  if (/\.(localhost|local|internal|home\.arpa)$/.test(host)) {
    return 'url must have a public host name.'
  }
  return host === ownHost ? 'url must not be on this service.' : null
}

/** Resolves to the addresses to connect to, or to the error code if there are none. */
export async function checkedAddresses(
  hostname: string,
  { allowPrivate }: AddressRules,
  resolve: Resolve,
): Promise<string[] | 'dns_lookup_failed' | 'nonpublic_webhook_address'> {
  const addresses = await resolve(hostname).catch(() => [])
  if (addresses.length === 0) return 'dns_lookup_failed'
  return allowPrivate || addresses.every(isPublic) ? addresses : 'nonpublic_webhook_address'
}

// The special-purpose networks of the IANA registries: private, shared, local, documentation,
// benchmarking, relays, multicast, reserved.
const specialIPv4 = blockList('ipv4', [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
])
// The only allocated unicast block. Loopback, IPv4-mapped, NAT64, local and multicast addresses lie
// outside of it.
const globalIPv6 = blockList('ipv6', [['2000::', 3]])
// Protocol assignments including Teredo and ORCHID, documentation, 6to4.
const specialIPv6 = blockList('ipv6', [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
])

/** Whether anyone on the internet can reach this IP address. */
export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !specialIPv4.check(address, 'ipv4')
  return globalIPv6.check(address, 'ipv6') && !specialIPv6.check(address, 'ipv6')
}

function blockList(family: 'ipv4' | 'ipv6', subnets: [string, number][]): BlockList {
  const list = new BlockList()
  for (const [net, prefix] of subnets) list.addSubnet(net, prefix, family)
  return list
}

/**
 * Returns a `Resolve` that queries name servers directly. The system's resolver would occupy
 * threads of the pool that syncs the log, so that a slowly resolving name would delay every answer.
 */
export function publicResolve(timeoutMs: number): Resolve {
  const resolver = new Resolver({ timeout: timeoutMs / 2, tries: 2 })
  return async (host) => {
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    return found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  }
}

/** The system's resolver, which also reads the hosts file: for labs. */
export const labResolve: Resolve = async (host) => {
  const found = await lookup(host.replace(/^\[(.*)\]$/, '$1'), { all: true })
  return found.map(({ address }) => address)
}
