// Sockets in the data directory, which an earlier process may have left.

import { lstatSync, rmSync } from 'node:fs'

/** Removes the socket of this name. Keeps anything else, which is not of a node. */
export function removeSocket(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) rmSync(path, { force: true })
}
