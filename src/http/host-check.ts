// Checks that a request names a host by which this node is meant to be reached. A page on the
// internet can make its own host name resolve to an address inside a network (DNS rebinding); the
// browser then treats the node as part of that page's origin, and lets the page read the answers.
// Such requests still name the host of the page. The operators' port always makes this check; the
// port of the interface makes it with --allowed-hosts, before anything else.

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

const wrongHost = 'This host name does not belong to this service.\n'

/** Makes an edge answer only requests to these names and to loopback ones; null: it answers all. */
export function guarded(
  edge: Pick<Edge, 'handle' | 'meter'>,
  names: ReadonlySet<string> | null,
): Pick<Edge, 'handle'> {
  if (names === null) return edge
  return {
    handle(exchange: Exchange): void {
      if (isOwnHost(exchange.header('host'), names)) return edge.handle(exchange)
      exchange.meter = edge.meter.none
      answer(exchange, 421, '', wrongHost, 'text/plain; charset=utf-8')
    },
  }
}
