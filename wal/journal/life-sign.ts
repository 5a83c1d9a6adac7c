// A life sign: a socket in the file system that a process listens on while it lives. The kernel
// ends it with the process, and any process of the same machine can connect to it, whatever its PID
// or network namespace. It is how two containers on one volume find out about each other.

import net from 'node:net'
import { codeOf } from '../errors.ts'

/** What an address of a socket may hold, less the zero at its end. */
const pathBytesMax = 107

/**
 * Listens on `path` until the process ends or calls what is returned. Where that cannot be, because
 * the path is too long or the file system has no sockets, there is no life sign.
 */
export function showLife(path: string): () => void {
  if (Buffer.byteLength(path) > pathBytesMax) return () => {}
  const server = net.createServer((connection) => connection.destroy())
  server.on('error', () => {})
  server.listen(path).unref()
  return () => server.close()
}

/**
 * Whether a process that called `showLife(path)` on this machine lives; null when that cannot be
 * told, because there is no socket or it may not be asked.
 */
export function hasLife(path: string): Promise<boolean | null> {
  if (Buffer.byteLength(path) > pathBytesMax) return Promise.resolve(null)
  return new Promise((resolve) => {
    const socket = net.connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error) => {
      const code = codeOf(error)
      // A listener that is stopped has a full queue some time: EAGAIN.
      resolve(code === 'ECONNREFUSED' ? false : code === 'EAGAIN' ? true : null)
    })
  })
}
