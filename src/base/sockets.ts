// Sockets in the data directory, which an earlier process may have left.

import { lstatSync, rmSync } from 'node:fs'
import type { Server } from 'node:net'

const ownerOnly = 0o177

/** Binds the server to a socket of this name, at once. Its mode is 0600 from the beginning. */
export function listenOnSocket(server: Server, path: string): void {
  removeSocket(path)
  const before = process.umask(ownerOnly)
  try {
    server.listen(path)
  } finally {
    process.umask(before)
  }
}

/** Returns whether something that is not a socket has this name. */
export function isForeign(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false
}

/** Removes the socket of this name. Keeps anything else, which is not of a node. */
export function removeSocket(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) rmSync(path, { force: true })
}
