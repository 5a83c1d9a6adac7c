// The ports that a node listens on: the operators' one, and that of the interface. They are open
// while the log is recovered, and answer that the node is starting.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Journal } from '../../wal/journal/journal.ts'
import { ConfigError } from '../config/arguments.ts'
import type { Config } from '../config/config.ts'
import type { Listen, Listener } from '../http/exchange.ts'
import type { Edge } from '../http/handle.ts'
import type { Load } from '../http/load.ts'
import type { Vitals } from '../ops/vitals.ts'

/** How long a start that failed waits for the log, to close it. */
const unlockMs = 10_000

export interface PortsParts {
  config: Config
  /** The HTTP server, by its name. */
  http: { name: string; listen: Listen }
  edge: Edge
  load: Load
  vitals: Vitals
  log: Logger
}

export interface Ports {
  listener: Listener
  /** The URL at which the interface answers. */
  url: string
  /** After `listener.stop`: ends the connections that are still open, and closes both ports. */
  close(): void
}

/**
 * Listens on both ports. If one cannot be had, closes the log, which unlocks the directory, and
 * throws a ConfigError that says which flag to change.
 */
export async function openPorts(
  { config, http, edge, load, vitals, log }: PortsParts,
  recovering: Promise<Journal>,
): Promise<Ports> {
  const { host, port, opsPort, trustProxy, readers } = config
  const ops = await orClose(recovering, '--ops-port', () => openOps(config, vitals))
  const sharing = readers > 0 ? ('first' as const) : undefined
  const options = { load, behindProxy: trustProxy !== null, sharing }
  const listener = await orClose(recovering, '--host or --port', () =>
    http.listen(host, port, (exchange) => edge.handle(exchange), options),
  )
  log.info({ http: http.name, node: process.version, port: listener.port, opsPort }, 'listening')
  return {
    listener,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`,
    close() {
      listener.close?.()
      ops?.stop()
    },
  }
}

/**
 * Most nodes of a machine that is not watched have no such port; those start 0.05 s sooner without
 * what is behind it.
 */
async function openOps(config: Config, vitals: Vitals): Promise<Listener | null> {
  if (config.opsPort === 0) return null
  const { serveOperators } = await import('../ops/serve.ts')
  return serveOperators(config, vitals)
}

async function orClose<L extends Listener | null>(
  recovering: Promise<Journal>,
  flag: string,
  listen: () => Promise<L>,
): Promise<L> {
  try {
    return await listen()
  } catch (error) {
    // A replicated log may wait for its stream; the next start takes the lock of a dead process.
    const journal = await Promise.race([recovering, sleep(unlockMs)])
    await journal?.close()
    throw new ConfigError(`${(error as Error).message}; choose another ${flag}`)
  }
}
