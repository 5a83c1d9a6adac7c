// What the edge is told of the configuration, and what the operator is warned of there.

import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { isWildcard } from '../http/cross-site.ts'
import type { EdgeOptions } from '../http/handle.ts'
import { inboxUrl } from './wakeups.ts'

/** Which proxies and pages the edge believes. Warns once when a proxy stands in front unknown. */
export function edgeOptions(
  { trustProxy, cors, publicUrl }: Config,
  log: Logger,
  { atTickEnd }: Pick<EdgeOptions, 'atTickEnd'>,
): EdgeOptions {
  const hint = 'a proxy seems to stand in front: limits count its address, see --trust-proxy'
  const onForwarded = (header: string) => log.warn({ header, hint }, 'forwarding_header_ignored')
  return { trustProxy, cors, showsHost: publicUrl === null, onForwarded, atTickEnd }
}

/** The service's own origin; warns when it is one that no caller can use. */
export function publicUrlOf(config: Config, url: string, log: Logger): string {
  const publicUrl = config.publicUrl ?? url
  if (isWildcard(publicUrl)) {
    const hint = 'agents cannot reach this address: give --public-url, which wakeups name'
    log.warn({ inbox_url: inboxUrl(publicUrl), hint }, 'public_url_missing')
  }
  return publicUrl
}
