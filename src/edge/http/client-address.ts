// The caller's address, to which rate limits and tickets are bound. docs/interface.md, "Client
// addresses".
//
//   X-Forwarded-For: <what the caller sent>, caller, outer proxy      socket: the inner proxy
//                    └──── may be forged ────┘└─ written by proxies ─┘
//
// C1. Without --trust-proxy, forwarding headers are ignored.
// C2. With it, exactly one header is read, and of X-Forwarded-For only what trusted proxies wrote:
//     they append, so entries are counted from the right.
// C3. If that entry is missing or is not an address, the socket's address is used.
// C4. An address has one spelling: IPv6 in its short form, IPv4-mapped IPv6 as IPv4.

import { type BlockList, isIP, SocketAddress } from 'node:net'
import type { Exchange } from './exchange.ts'

/** The part of X-Forwarded-For that is read. Callers can make it as long as a request head. */
const charactersMax = 1024

/** How the proxies in front name the caller. */
export type TrustProxy =
  | { header: 'cf-connecting-ip' }
  /** The caller is the entry that the outermost of `hops` proxies wrote. */
  | { header: 'x-forwarded-for'; hops: number }
  /** The caller is the right-most entry that is not the address of a proxy. */
  | { header: 'x-forwarded-for'; proxies: BlockList }

/** Returns the caller's address, or '' if the socket has none. Call before the handler returns. */
export function clientAddress(exchange: Exchange, trustProxy: TrustProxy | null): string {
  const forwarded = trustProxy === null ? null : readAddress(forwardedEntry(exchange, trustProxy))
  return forwarded ?? readAddress(exchange.remoteAddress) ?? ''
}

function forwardedEntry(exchange: Exchange, trustProxy: TrustProxy): string {
  // A proxy may add a line of its own instead of extending the one that it received.
  const value = exchange.allOf(trustProxy.header)
  if (trustProxy.header === 'cf-connecting-ip') return value.trim()
  const entries = lastEntries(value)
  if ('hops' in trustProxy) return entries[entries.length - trustProxy.hops] ?? ''
  return entries.findLast((entry) => !isAmong(trustProxy.proxies, entry)) ?? ''
}

/** Returns the last entries of the header. Proxies append theirs, so older ones may be left out. */
function lastEntries(value: string): string[] {
  const entries = value.slice(-charactersMax).split(',')
  if (value.length > charactersMax) entries.shift()
  return entries.map((entry) => entry.trim())
}

function isAmong(proxies: BlockList, entry: string): boolean {
  const address = readAddress(entry)
  return address !== null && proxies.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
}

const withPort = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/
const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/

/** Returns the address in its one spelling (C4), without port and zone; null if it is not one. */
export function readAddress(text: string): string | null {
  const port = withPort.exec(text)
  const address = port === null ? text : (port[1] ?? port[2])
  const version = isIP(address)
  if (version === 0) return null
  if (version === 4) return address
  // SocketAddress throws when an address with a zone is written with more than 39 characters.
  const [unzoned] = address.split('%', 1)
  const short = new SocketAddress({ address: unzoned, family: 'ipv6' }).address
  return mapped.exec(short)?.[1] ?? short
}
