// Makes the edge from the configuration, with warnings for the operator, and its log of answers
// (`--log-level debug`):
//
//   {"level":20,…,"route":"reply","status":201,"ms":1.7,"bytes":420,"caller":12,"msg":"answered"}
//
// L1. At any other level the HTTP server calls the edge directly: nothing is computed or kept.
// L2. A line has no path, query, header or body, and hence no token and no content. `caller` is the
//     number of an identity (`by` in `agent-forum wal export`), or null if none is known.
//
// A request that a reader or a follower passes on is in the log of the process to which its caller
// is connected, not in that of the process that decides.

import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { isWildcard } from '../edge/http/cross-site.ts'
import type { AvailabilityView, EdgeOptions } from '../edge/http/edge-options.ts'
import type { Handler } from '../edge/http/exchange.ts'
import { ForwardingWatch, forwardedAddress, forwardedHttps } from '../edge/http/forwarding-watch.ts'
import { Edge } from '../edge/http/handle.ts'
import { guarded } from '../edge/http/host-check.ts'
import type { Load } from '../edge/http/load.ts'
import { parseBearer } from '../edge/http/parse.ts'
import { inboxUrl } from '../engine/role/wakeups.ts'
import { errorPage } from '../forum/error-page.ts'
import { tokenDigest } from '../forum/identities/commands.ts'
import { withPages } from '../forum/pages.ts'
import { routesOf } from '../forum/routes.ts'
import type { State } from '../forum/state.ts'
import { nobody } from '../kernel/network.ts'

/**
 * Makes the edge with the routes of the interface and, unless they are off, those of the pages.
 * Warns once about a proxy for which the node is not configured.
 */
export function newEdge(
  config: Config,
  availability: AvailabilityView,
  load: Load,
  log: Logger,
  { ticks }: Pick<EdgeOptions, 'ticks'>,
): Edge {
  const { trustProxy, cors, publicUrl, pages, access } = config
  const routes = routesOf({ ...config, ...config.access })
  const options: EdgeOptions = {
    trustProxy,
    cors,
    ticks,
    showsHost: publicUrl === null,
    errorPage: pages ? errorPage : null,
    watches: watchesOf(config, log),
  }
  return new Edge(pages ? withPages(routes, access) : routes, availability, options, load)
}

function watchesOf({ trustProxy, publicUrl }: Config, log: Logger): ForwardingWatch[] {
  const watches: ForwardingWatch[] = []
  if (trustProxy === null) {
    const hint = 'a proxy seems to be in front, and limits count its address; see --trust-proxy'
    const warn = (header: string) => log.warn({ header, hint }, 'forwarding_header_ignored')
    watches.push(new ForwardingWatch(forwardedAddress, warn))
  }
  if (!publicUrl?.startsWith('https:')) {
    const hint = 'callers use https, but cookies of sessions lack Secure; set --public-url'
    const warn = (header: string) => log.warn({ header, hint }, 'https_not_configured')
    watches.push(new ForwardingWatch(forwardedHttps, warn))
  }
  return watches
}

/** Returns the handler of an HTTP server. `state` provides the numbers of callers. */
export function handlerOf(
  edge: Edge,
  { allowedHosts, trustProxy }: Config,
  log: Logger,
  state: () => State,
): Handler {
  return logged(guarded(edge, allowedHosts, trustProxy !== null), log, state)
}

/** Returns the service's own origin. Warns if no caller can use it. */
export function publicUrlOf(config: Config, url: string, log: Logger): string {
  const publicUrl = config.publicUrl ?? url
  if (isWildcard(publicUrl)) {
    const hint = 'agents cannot reach this address; set --public-url, which wakeups contain'
    log.warn({ inbox_url: inboxUrl(publicUrl), hint }, 'public_url_missing')
  }
  return publicUrl
}

/** Returns the handler that logs these requests. `state` provides the numbers of callers. */
export function logged(edge: Pick<Edge, 'handle'>, log: Logger, state: () => State): Handler {
  if (!log.isLevelEnabled('debug')) return (exchange) => edge.handle(exchange)
  return (exchange) => {
    const begunMs = performance.now()
    const token = parseBearer(exchange.header('authorization'))
    const found = token === null ? nobody : state().identities.tokens.find(tokenDigest(token))
    const answer = exchange.answer.bind(exchange)
    exchange.answer = (status, type, headers, body) => {
      answer(status, type, headers, body)
      const line = {
        route: exchange.meter?.name,
        status,
        ms: Number((performance.now() - begunMs).toFixed(3)),
        bytes: body === null || exchange.method === 'head' ? 0 : Buffer.byteLength(body),
        caller: found === nobody ? null : found,
      }
      log.debug(line, 'answered')
    }
    edge.handle(exchange)
  }
}
