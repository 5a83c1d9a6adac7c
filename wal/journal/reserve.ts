// A reserved block of disk space, so that a node which was killed on a full disk can be started:
// the lock of the next start needs it. The log has the space for everything else (settle.ts).

import path from 'node:path'
import { type Disk, writeAll } from '../disk.ts'
import { codeOf, isLackOfSpace } from '../errors.ts'

const name = 'reserve'
const reserveBytes = 4096

/** Creates the reserve if it is missing and there is space for it. */
export function keepReserve(disk: Disk, dir: string): void {
  const file = path.join(dir, name)
  if (disk.list(dir).includes(name)) return
  try {
    const handle = disk.open(file, 'create')
    try {
      writeAll(disk, handle, Buffer.alloc(reserveBytes), 0)
    } finally {
      disk.close(handle)
    }
  } catch (error) {
    if (!isLackOfSpace(error)) throw error
    giveReserve(disk, dir)
  }
}

/** Releases the reserve's disk space. Returns whether there was a reserve. */
export function giveReserve(disk: Disk, dir: string): boolean {
  try {
    disk.remove(path.join(dir, name))
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || isLackOfSpace(error)) return false
    throw error
  }
}
