// Checks that a request names a host by which this node is meant to be reached. A page on the
// internet can make its own host name resolve to an address inside a network (DNS rebinding); the
// browser then treats the node as part of that page's origin, and lets the page read the answers.
// Such requests still name the host of the page. The operators' port always makes this check; the
// port of the interface makes it on a loopback address and with --allowed-hosts, before all else.

import { isIP } from 'node:net'
import { answer } from './answers.ts'
import type { Exchange } from './exchange.ts'
import type { Edge } from './handle.ts'

const loopback = /^(?:localhost|[\w.-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/**
 * Returns whether `host`, a Host header, is a loopback name or address, or one of `names`, with any
 * port. Browsers always send a Host header, so a request without one does not come from a page.
 */
export function isOwnHost(host: string | undefined, names: ReadonlySet<string>): boolean {
  if (host === undefined || loopback.test(host)) return true
  return names.has(host.replace(/:\d+$/, '').toLowerCase())
}

/** Returns whether `host` is an address, which nobody can have resolved to another one. */
export function isAddress(host: string): boolean {
  return isIP(host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')) !== 0
}

const loopbackAddress = /^(?:::ffff:)?127\.|^::1$/

/** Returns whether a server that listens on this host can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || loopbackAddress.test(host)
}

const twoHosts = 'A request has one Host header, with one host.\n'
const wrongHost =
  'This host name does not belong to this service. Its operator names the hosts by which it may ' +
  'be reached with --public-url or --allowed-hosts.\n'

/**
 * Makes an edge answer only requests to a loopback name or one of `names`; null: to any host.
 * Behind a proxy a request with two hosts is refused, because the proxy may have read the other one
 * (RFC 9112, 3.2). Without a proxy nobody else reads the request, and a look at all headers of each
 * request would cost a poll some percent.
 */
export function guarded(
  edge: Pick<Edge, 'handle' | 'meter'>,
  names: ReadonlySet<string> | null,
  isBehindProxy: boolean,
): Pick<Edge, 'handle'> {
  if (names === null && !isBehindProxy) return edge
  const refuse = (exchange: Exchange, status: 400 | 421, why: string) => {
    exchange.meter = edge.meter.none
    answer(exchange, status, '', why, 'text/plain; charset=utf-8')
  }
  let accepted: string | null = null // most requests name the host that the one before named
  return {
    handle(exchange: Exchange): void {
      const host = isBehindProxy ? exchange.allOf('host') : exchange.header('host')
      if (host === accepted) return edge.handle(exchange)
      if (host.includes(',')) return refuse(exchange, 400, twoHosts)
      if (names !== null && !isOwnHost(host, names)) return refuse(exchange, 421, wrongHost)
      accepted = host
      edge.handle(exchange)
    },
  }
}
