// A life sign: a socket in the file system on which a process listens while it lives. The kernel
// closes it with the process, and any process of the same machine can connect to it, whatever its
// PID or network namespace. By it two containers that share a volume detect each other.

import net from 'node:net'
import { codeOf } from '../errors.ts'

/** The longest path of a socket's address, without the terminating zero. */
const pathBytesMax = 107

/**
 * Listens on `path` until the process ends or calls the returned function. There is no life sign if
 * the path is too long or the file system does not support sockets.
 */
export function showLife(path: string): () => void {
  if (Buffer.byteLength(path) > pathBytesMax) return () => {}
  const server = net.createServer((connection) => connection.destroy())
  server.on('error', () => {})
  server.listen(path).unref()
  return () => server.close()
}

/**
 * Whether a process that called `showLife(path)` on this machine lives; null when that is unknown,
 * because there is no socket or connecting to it is not permitted.
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
      // EAGAIN: the listener's queue is full, as that of a stopped process may be.
      resolve(code === 'ECONNREFUSED' ? false : code === 'EAGAIN' ? true : null)
    })
  })
}
