// The port on which uWebSockets.js listens: its own, or shared with other processes. By default the
// library has the kernel share it (SO_REUSEPORT): each process has a queue of connections, and the
// kernel chooses one by a hash of the addresses. It does so only if the port is named, so port 0 is
// replaced by a free one first (port-error.ts).

import type { Binding, TemplatedApp, us_listen_socket } from './uws-binding.ts'

// The type declarations lack the options; the default has no name in the library.
interface PortOptions {
  LIBUS_LISTEN_EXCLUSIVE_PORT: number
}
const shared = 0
type ListenWithOptions = (
  host: string,
  port: number,
  options: number,
  done: (socket: us_listen_socket | false) => void,
) => void

interface PortOf {
  uws: Binding['uws']
  app: TemplatedApp
  host: string
  isShared: boolean
}

interface OpenPort {
  port: number
  /** Implements `setOpen` of exchange.ts. */
  setOpen(isOpen: boolean): boolean
}

/** Binds the port. Returns null if that fails. */
export function openPort(of: PortOf, wanted: number): OpenPort | null {
  const { uws } = of
  let socket = listen(of, wanted)
  if (socket === false) return null
  const port = uws.us_socket_local_port(socket)
  return {
    port,
    setOpen(isOpen) {
      if (isOpen && socket === false) socket = listen(of, port)
      else if (!isOpen && socket !== false) {
        uws.us_listen_socket_close(socket)
        socket = false
      }
      return (socket !== false) === isOpen
    },
  }
}

/** Binds the port, or any if it is 0. Returns false if that fails. */
export function listen(
  { uws, app, host, isShared }: PortOf,
  port: number,
): us_listen_socket | false {
  const { LIBUS_LISTEN_EXCLUSIVE_PORT: exclusive } = uws as unknown as PortOptions
  const option = isShared ? shared : exclusive
  let bound: us_listen_socket | false = false
  // `listen` calls back before it returns.
  const listening = (socket: us_listen_socket | false) => {
    bound = socket
  }
  ;(app.listen as unknown as ListenWithOptions).call(app, host, port, option, listening)
  return bound
}
