// Who is calling: the address that quotas count and tickets are bound to.
// docs/interface.md, "Client addresses".
//
// C1. Without --trust-proxy forwarding headers are never believed.
// C2. With it, what cannot be read as an address is stepped over, and trusted hops are too. Where
//     no address is left, the socket's counts.
// C3. One caller has one spelling: IPv6 in its short form, IPv4 inside IPv6 as IPv4.

import { BlockList, isIP, SocketAddress } from 'node:net'
import type { Exchange } from './exchange.ts'

/** Hops that need not be named: loopback, private and link-local addresses. */
const trustedHops = new BlockList()
for (const [network, prefix] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
] as const) {
  trustedHops.addSubnet(network, prefix, 'ipv4')
}
trustedHops.addAddress('::1', 'ipv6')
trustedHops.addSubnet('fc00::', 7, 'ipv6')
trustedHops.addSubnet('fe80::', 10, 'ipv6')

/** The caller's address. Ask before the handler returns. */
export function clientAddress(exchange: Exchange, trustProxy: boolean): string {
  const forwarded = trustProxy ? forwardedAddress(exchange) : null
  return forwarded ?? readAddress(exchange.remoteAddress) ?? ''
}

function forwardedAddress(exchange: Exchange): string | null {
  const connecting = readAddress(exchange.header('cf-connecting-ip'))
  if (connecting !== null) return connecting
  // A proxy may add a line of its own instead of extending the one it was sent.
  const hops = exchange.allOf('x-forwarded-for').split(',')
  for (const hop of hops.reverse()) {
    const address = readAddress(hop.trim())
    if (address !== null && !isTrustedHop(address)) return address
  }
  return null
}

function isTrustedHop(address: string): boolean {
  return trustedHops.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
}

const withPort = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/
const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/

/** The address in its one spelling, without port and zone; null when it is none. */
export function readAddress(text: string): string | null {
  const port = withPort.exec(text)
  const address = port === null ? text : (port[1] ?? port[2])
  const version = isIP(address)
  if (version === 0) return null
  if (version === 4) return address
  const short = new SocketAddress({ address, family: 'ipv6' }).address
  return mapped.exec(short)?.[1] ?? short
}
