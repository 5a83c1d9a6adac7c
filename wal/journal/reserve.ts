// A block of disk that is kept, so that a node which is killed on a full disk can be started: the
// lock of the next start needs one. All else a start needs it finds in the log (settle.ts).

import path from 'node:path'
import { type Disk, writeAll } from '../disk.ts'
import { codeOf, isLackOfSpace } from '../errors.ts'

const name = 'reserve'
const reserveBytes = 4096

/** Makes the reserve where it is missing and there is space for it. */
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

/** Gives the reserve back to the disk. Returns whether there was one. */
export function giveReserve(disk: Disk, dir: string): boolean {
  try {
    disk.remove(path.join(dir, name))
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || isLackOfSpace(error)) return false
    throw error
  }
}
