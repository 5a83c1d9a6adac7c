// Explains to the operator why the node cannot listen on an address and port.

import { type AddressInfo, createServer } from 'node:net'

/** The node cannot listen with these settings; the message says why. */
export class PortError extends Error {}

/** Another process listens there, so a later attempt may succeed. The exit code is 75. */
export class PortInUse extends PortError {}

/** Explains an error of `listen` of one of Node's own servers. */
export function portError(host: string, port: number, error: NodeJS.ErrnoException): PortError {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  switch (error.code) {
    case 'EADDRINUSE':
      return new PortInUse(`${address} is in use by another process`)
    case 'EACCES':
      return new PortError(
        `this user may not listen on port ${port}: low ports need CAP_NET_BIND_SERVICE`,
      )
    case 'EADDRNOTAVAIL':
      return new PortError(`${host} is not an address of this machine`)
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new PortError(`the host name ${host} cannot be resolved`)
    default:
      return new PortError(`cannot listen on ${address}: ${error.message}`)
  }
}

/**
 * Explains the failure of a server that gives no reason, by trying to listen with one of Node's own
 * servers. If that succeeds, another process has just released the port.
 */
export async function findPortError(host: string, port: number): Promise<Error> {
  const wasInUse = Object.assign(new Error(), { code: 'EADDRINUSE' })
  return tryPort(host, port).then(
    () => portError(host, port, wasInUse),
    (error) => error,
  )
}

/**
 * Returns the port, or a free one for port 0. Rejects with a `PortError` if a process listens on
 * it, even one that would share it.
 */
export function tryPort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error) => reject(portError(host, port, error)))
    probe.listen({ host, port, exclusive: true }, () => {
      const { port: found } = probe.address() as AddressInfo
      probe.close(() => resolve(found))
    })
  })
}
