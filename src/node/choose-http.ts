// Which HTTP server a node listens with.

import type { Logger } from 'pino'
import { ConfigError } from '../config/arguments.ts'
import type { Config } from '../config/config.ts'
import type { Listen } from '../http/exchange.ts'
import { listenNode } from '../http/node.ts'
import { listenUws } from '../http/uws.ts'
import { loadBinding } from '../http/uws-binding.ts'

/** The HTTP server: uWebSockets.js where its binding loads, unless configured otherwise. */
export function chooseHttp({ http }: Config, log: Logger): { name: string; listen: Listen } {
  if (http === 'node') return { name: 'node:http', listen: listenNode }
  const binding = loadBinding((name, reason) => log.warn({ name, reason }, 'binding_unusable'))
  if (binding !== null) {
    const { name, version, file } = binding
    log.info({ name, version, file }, 'binding_loaded')
    return { name: 'uWebSockets.js', listen: listenUws(binding) }
  }
  if (http === 'auto') return { name: 'node:http', listen: listenNode }
  throw new ConfigError(
    `uWebSockets.js has no native binding for Node ${process.version} here; use --http auto`,
  )
}
