// Which pages of the web may have a browser write here. Tokens guard what identities may do; these
// rules keep a page that somebody happens to visit from acting with the visitor's address.

import type { ErrorCode } from '../api/errors.ts'
import type { Exchange } from './exchange.ts'

const prefetch = /prefetch|prerender/i

/** Why a write may not come from there, or null. docs/interface.md, "Cross-site requests". */
export function crossSite(exchange: Exchange, ownOrigin: string): ErrorCode | null {
  const origin = exchange.header('origin')
  if (origin !== '' && origin !== ownOrigin) return 'cross_origin'
  if (exchange.header('sec-fetch-site') === 'cross-site') return 'cross_site'
  const purpose = exchange.header('purpose') + exchange.header('sec-purpose')
  return purpose !== '' && prefetch.test(purpose) ? 'prefetch' : null
}
