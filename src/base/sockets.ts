// What is in a data directory besides the files of a store: sockets, which an earlier process may
// have left, and files of the operating system.

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

const systemNames = new Set(['lost+found', '.DS_Store', '.Trashes', '.fseventsd', '.snapshot'])

/** Returns whether the operating system makes files of this name, or a file system at its root. */
export function isSystemFile(name: string): boolean {
  return systemNames.has(name)
}
