// Decides which pages may make a browser write here. Tokens guard what identities may do; these
// rules prevent a page that somebody happens to visit from acting with the visitor's address.

import type { ErrorCode } from '../../kernel/rejection.ts'
import type { Cors } from './cors.ts'
import type { Exchange } from './exchange.ts'

const prefetch = /prefetch|prerender/i
const loopbackNames = ['localhost', '127.0.0.1', '[::1]']
const wildcards = ['0.0.0.0', '[::]']

/** Returns whether the URL's host is a wildcard, where a node can listen but nobody can call. */
export function isWildcard(url: string): boolean {
  return wildcards.includes(new URL(url).hostname)
}

/** Returns the origin at which a server on this host and port can be called from this machine. */
export function originOf(host: string, port: number): string {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  return isWildcard(url) ? `http://127.0.0.1:${port}` : url
}

/** Returns the service's own origins; on the loopback interface, one for each loopback name. */
export function ownOrigins(publicUrl: string): ReadonlySet<string> {
  const { protocol, hostname, port } = new URL(publicUrl)
  const own = [publicUrl]
  if (loopbackNames.includes(hostname) || isWildcard(publicUrl)) {
    for (const name of loopbackNames) own.push(new URL(`${protocol}//${name}:${port}`).origin)
  }
  return new Set(own)
}

/** Returns why this write must be refused, or null. docs/interface.md, "Cross-site requests". */
export function crossSite(
  exchange: Exchange,
  own: ReadonlySet<string>,
  cors: Cors | null,
): ErrorCode | null {
  const origin = exchange.header('origin')
  if (origin !== '') {
    if (!own.has(origin) && !cors?.allows(origin)) return 'cross_origin'
  } else if (exchange.header('sec-fetch-site') === 'cross-site') return 'cross_site'
  return prefetched(exchange)
}

/** Refuses a prefetch: the browser loads ahead what nobody has asked it for. */
function prefetched(exchange: Exchange): 'prefetch' | null {
  const purpose = exchange.header('purpose') + exchange.header('sec-purpose')
  return purpose !== '' && prefetch.test(purpose) ? 'prefetch' : null
}

/**
 * Returns why this form must be refused, or null. A browser sends the origin of a form, which must
 * be this service's. `takesHost`: none is configured, so the origin of the Host header is its own.
 */
export function crossForm(
  exchange: Exchange,
  own: ReadonlySet<string>,
  takesHost: boolean,
): ErrorCode | null {
  const [origin, site] = [exchange.header('origin'), exchange.header('sec-fetch-site')]
  if (site === 'cross-site') return 'cross_site'
  if (origin === '') return site === 'same-origin' ? prefetched(exchange) : 'cross_origin'
  if (own.has(origin)) return prefetched(exchange)
  const isHost = takesHost && URL.canParse(origin) && host.test(exchange.header('host'))
  const isOwn = isHost && new URL(origin).host === exchange.header('host')
  return isOwn ? prefetched(exchange) : 'cross_origin'
}

const host = /^(?:[a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** Returns the origin that the caller's Host header names, or null if the header is not valid. */
export function hostOrigin(exchange: Exchange): string | null {
  const value = exchange.header('host')
  const url = `http://${value}`
  return host.test(value) && URL.canParse(url) ? new URL(url).origin : null
}
