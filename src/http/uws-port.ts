// The port on which uWebSockets.js listens: its own, or shared with other processes. Without an
// option to the contrary the library has the system share it (SO_REUSEPORT): each process has a
// queue of connections, and the system chooses one by a hash of the addresses. It does so
// only where the port is named: 0 is replaced by a free one before (port-error.ts).

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

export interface OpenPort {
  port: number
  /** `setOpen` of exchange.ts. */
  setOpen(isOpen: boolean): boolean
}

/** Binds the port; null if that fails. */
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

function listen({ uws, app, host, isShared }: PortOf, port: number): us_listen_socket | false {
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
