// The ports that a node listens on: the operators' one, and that of the interface. They are open
// while the log is recovered, and answer that the node is starting.

import type { Logger } from 'pino'
import { ConfigError } from '../base/arguments.ts'
import type { Config } from '../config/config.ts'
import type { Listen, Listener } from '../http/exchange.ts'
import type { Edge } from '../http/handle.ts'
import type { Load } from '../http/load.ts'
import { PortError, PortInUse } from '../http/port-error.ts'
import type { Vitals } from '../ops/vitals.ts'
import { handlerOf } from './edge.ts'

export interface PortsParts {
  config: Config
  /** The HTTP server, by its name. */
  http: { name: string; listen: Listen }
  edge: Edge
  load: Load
  vitals: Vitals
  log: Logger
}

export class Ports {
  /** The URL at which the interface answers, when the ports are open. */
  url = ''
  readonly #parts: PortsParts
  #listener: Listener | null = null
  #ops: Listener | null = null

  constructor(parts: PortsParts) {
    this.#parts = parts
  }

  /** The port of the interface, when it is open. */
  get listener(): Listener {
    return this.#listener!
  }

  /**
   * Listens on both ports. Rejects if one cannot be had: with a PortInUse if another process has
   * it, else with a ConfigError. Each says which flag to change.
   */
  async open(): Promise<void> {
    const { config, http, edge, load, vitals, log } = this.#parts
    const { host, port, opsPort, trustProxy, readers } = config
    this.#ops = await orExplain('--ops-port', () => openOps(config, vitals))
    const sharing = readers > 0 ? ('first' as const) : undefined
    const options = { load, behindProxy: trustProxy !== null, sharing }
    const listener = await orExplain('--host or --port', () =>
      http.listen(
        host,
        port,
        handlerOf(edge, config, log, () => vitals.state),
        options,
      ),
    )
    this.#listener = listener
    this.url = `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`
    log.info({ http: http.name, node: process.version, port: listener.port, opsPort }, 'listening')
  }

  /** Accepts no more connections at the interface. */
  stop(): void {
    this.#listener?.stop()
  }

  /** After `stop`: ends the connections that are still open, and closes both ports. */
  close(): void {
    this.#listener?.close?.()
    this.#ops?.stop()
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

async function orExplain<L>(flag: string, listen: () => Promise<L>): Promise<L> {
  try {
    return await listen()
  } catch (error) {
    if (!(error instanceof PortError)) throw error // not of the port, as a missing file of ours
    const { message } = error
    if (!(error instanceof PortInUse)) throw new ConfigError(`${message}; choose another ${flag}`)
    throw new PortInUse(`${message}; end the process that has it, or choose another ${flag}`)
  }
}
