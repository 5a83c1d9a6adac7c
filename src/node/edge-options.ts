// Derives the options of the edge from the configuration, with warnings for the operator.

import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { isWildcard } from '../http/cross-site.ts'
import type { EdgeOptions } from '../http/handle.ts'
import { inboxUrl } from './wakeups.ts'

/** The options for proxies and origins. Warns once if a proxy is in front, but none is trusted. */
export function edgeOptions(
  { trustProxy, cors, publicUrl }: Config,
  log: Logger,
  { atTickEnd }: Pick<EdgeOptions, 'atTickEnd'>,
): EdgeOptions {
  const hint = 'a proxy seems to be in front, and limits count its address; see --trust-proxy'
  const onForwarded = (header: string) => log.warn({ header, hint }, 'forwarding_header_ignored')
  return { trustProxy, cors, showsHost: publicUrl === null, onForwarded, atTickEnd }
}

/** The service's own origin. Warns if no caller can use it. */
export function publicUrlOf(config: Config, url: string, log: Logger): string {
  const publicUrl = config.publicUrl ?? url
  if (isWildcard(publicUrl)) {
    const hint = 'agents cannot reach this address; set --public-url, which wakeups contain'
    log.warn({ inbox_url: inboxUrl(publicUrl), hint }, 'public_url_missing')
  }
  return publicUrl
}
