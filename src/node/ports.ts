// The ports that a node listens on, that of the operators and that of the interface, and the admin
// socket. While the log is recovered they are open, and the node answers that it is starting.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { ConfigError } from '../base/arguments.ts'
import type { Teardown } from '../base/teardown.ts'
import type { Config } from '../config/config.ts'
import type { Listen, Listener } from '../edge/http/exchange.ts'
import type { Edge } from '../edge/http/handle.ts'
import type { Load } from '../edge/http/load.ts'
import { PortError, PortInUse, tryPort } from '../edge/http/port-error.ts'
import type { OperatorPages } from '../operators/admin/pages.ts'
import { type AdminSocket, serveAdmin } from '../operators/admin/socket.ts'
import { nodeStatus } from '../operators/ops/node-status.ts'
import type { Vitals } from '../operators/ops/vitals.ts'
import { handlerOf } from './edge.ts'
import { lingerMs } from './end-reads.ts'

/** How many ports after an occupied one are tried. */
const portsTried = 20

interface PortsParts {
  config: Config
  http: { name: string; listen: Listen }
  edge: Edge
  load: Load
  vitals: Vitals
  log: Logger
  environment: { disk?: unknown }
}

export interface Ports {
  url: string
  listener: Listener
  /** The pages of the operators' port, or null if there is no such port. */
  operatorPages: OperatorPages | null
  /** Null if the disk is simulated. */
  adminSocket: AdminSocket | null
}

/**
 * Listens on both ports, and on the admin socket. Rejects if a port is unavailable: with a
 * PortInUse if another process has it, otherwise with a ConfigError. Either says which flag to
 * change. The teardown ends the connections that are still open, and closes what is open by then.
 */
export async function openPorts(parts: PortsParts, teardown: Teardown): Promise<Ports> {
  const { config, http, edge, load, vitals, log, environment } = parts
  const { host, port, opsHost, opsPort, trustProxy, readers } = config
  if (opsPort !== 0 && opsPort === port) {
    throw new ConfigError(`--ops-port and --port are both ${port}; choose another --ops-port`)
  }
  const isTaken = (free: number) => free === port || free === opsPort
  const opsFlag = { names: '--ops-host or --ops-port', host: opsHost, port: opsPort, isTaken }
  const ops = await orExplain(opsFlag, () => openOps(config, vitals, log))
  teardown.add(() => ops?.stop())
  const sharing = readers > 0 ? ('first' as const) : undefined
  const options = { load, behindProxy: trustProxy !== null, sharing }
  const handler = handlerOf(edge, config, log, () => vitals.state)
  const flag = { names: '--host or --port', host, port, isTaken }
  const listener = await orExplain(flag, () => http.listen(host, port, handler, options))
  teardown.add(async () => {
    listener.stop()
    await sleep(lingerMs)
    listener.close?.()
  })
  const status = () => nodeStatus(vitals)
  const adminSocket = environment.disk ? null : serveAdmin(config.data, status, log)
  teardown.add(() => adminSocket?.stop())
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`
  log.info({ http: http.name, node: process.version, port: listener.port, opsPort }, 'listening')
  return { url, listener, operatorPages: ops?.pages ?? null, adminSocket }
}

/**
 * Most nodes on unmonitored machines have no such port; they start 0.05 s sooner without the code
 * behind it.
 */
async function openOps(config: Config, vitals: Vitals, log: Logger): Promise<OperatorsPort | null> {
  if (config.opsPort === 0) return null
  const { serveOperators } = await import('../operators/ops/serve.ts')
  const { OperatorPages } = await import('../operators/admin/pages.ts')
  const pages = new OperatorPages(log)
  return { ...(await serveOperators(config, vitals, pages)), pages }
}

type OperatorsPort = Listener & { pages: OperatorPages }

/** The flags that decide where a server listens, their values, and ports that it cannot have. */
interface PortFlags {
  names: string
  host: string
  port: number
  isTaken(port: number): boolean
}

async function orExplain<L>(flags: PortFlags, listen: () => Promise<L>): Promise<L> {
  const { names } = flags

  try {
    return await listen()
  } catch (error) {
    if (!(error instanceof PortError)) throw error // not about the port, such as a missing file
    const { message } = error
    if (!(error instanceof PortInUse)) throw new ConfigError(`${message}; choose another ${names}`)
    const free = await nextFree(flags)
    const example = free === null ? '' : `, such as ${names.split(' ').at(-1)} ${free}`
    throw new PortInUse(
      `${message}; end the process that has it, or choose another ${names}${example}`,
    )
  }
}

/** Returns the next port on which nobody listens, or null if there is none nearby. */
async function nextFree({ host, port, isTaken }: PortFlags): Promise<number | null> {
  for (let next = port + 1; next <= Math.min(port + portsTried, 65_535); next++) {
    if (isTaken(next)) continue
    const isFree = await tryPort(host, next).then(
      () => true,
      () => false,
    )
    if (isFree) return next
  }
  return null
}
