// Chooses the HTTP server of a node.

import type { Logger } from 'pino'
import { ConfigError } from '../base/arguments.ts'
import type { Config } from '../config/config.ts'
import type { Listen } from '../edge/http/exchange.ts'
import { canShare, listenNode } from '../edge/http/node.ts'
import { listenUws } from '../edge/http/uws.ts'
import { loadBinding } from '../edge/http/uws-binding.ts'

const hint = "without a binding, Node's own HTTP server gives the same answers more slowly"

/** Returns uWebSockets.js if its binding loads, unless configured otherwise. */
export function chooseHttp(
  { http, readers }: Config,
  log: Logger,
): { name: string; listen: Listen } {
  const ofNode = () => {
    if (readers > 0) checkSharing()
    return { name: 'node:http', listen: listenNode }
  }
  if (http === 'node') return ofNode()
  const binding = loadBinding((name, reason) =>
    log.warn({ name, reason, hint }, 'binding_unusable'),
  )
  if (binding !== null) {
    const { name, version, file } = binding
    log.info({ name, version, file }, 'binding_loaded')
    return { name: 'uWebSockets.js', listen: listenUws(binding) }
  }
  if (http === 'auto') return ofNode()
  throw new ConfigError(
    `uWebSockets.js has no native binding for Node ${process.version} here; use --http auto`,
  )
}

/** Throws a ConfigError unless processes can share a port with Node's own server. */
function checkSharing(): void {
  const { node } = process.versions
  if (canShare(node)) return
  throw new ConfigError(
    `--readers needs uWebSockets.js, or Node 22.12 or later: the HTTP server of Node ${node} ` +
      'cannot share a port between processes',
  )
}
