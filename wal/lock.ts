// One process per data directory. The file `lock` names its owner; a dead owner's is taken over.
//
// A taker writes its own file, then links it to a name that only one of several can make:
//
//   lock (owner A, dead) ──▶ lock.after-A (B, dead too) ──▶ lock.after-B: made by link(), by one
//
// The last one in the chain that starts at `lock` is the owner. A new owner moves its file to
// `lock` before it removes the rest, so who comes late with an old view makes a name that is not
// in the chain, sees that, and looks again.
//
// Not covered: two machines, or containers that cannot see each other's processes, on one volume.

import { randomBytes } from 'node:crypto'
import os from 'node:os'
import path from 'node:path'
import { type Disk, readFully, writeAll } from './disk.ts'
import { codeOf, isLackOfSpace, JournalError, storageError } from './errors.ts'
import { giveReserve } from './reserve.ts'

interface Owner {
  token: string
  pid: number
  /** Clock ticks from boot to the start of the process; null where the system does not tell. */
  startTicks: string | null
  bootId: string | null
  host: string
}

const attemptsMax = 100

/**
 * Takes the lock of `dir` and returns what gives it back. Throws JournalError 75 when a living
 * process has it, 74 when the directory cannot be written.
 */
export function lockDirectory(disk: Disk, dir: string): () => void {
  const own = thisProcess(disk)
  const ownFile = path.join(dir, `lock.${own.token}.tmp`)
  try {
    try {
      createEvenIfFull(disk, dir, ownFile, JSON.stringify(own))
      take(disk, dir, ownFile, own)
    } finally {
      removeIfThere(disk, ownFile)
    }
  } catch (error) {
    throw storageError(`lock ${dir}`, error)
  }
  return () => {
    try {
      disk.remove(path.join(dir, 'lock'))
    } catch {
      // It stays as a dead owner's.
    }
  }
}

/** Throws JournalError 75 when a living process has the directory. Changes nothing. */
export function refuseIfInUse(disk: Disk, dir: string): void {
  const last = readChain(disk, dir).at(-1)
  if (last !== undefined && isAlive(disk, last)) throw inUse(dir, last)
}

function take(disk: Disk, dir: string, ownFile: string, own: Owner): void {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const chain = readChain(disk, dir)
    const last = chain.at(-1)
    if (last !== undefined && isAlive(disk, last)) throw inUse(dir, last)
    const name = last === undefined ? 'lock' : `lock.after-${last.token}`
    if (!linkNew(disk, ownFile, path.join(dir, name))) continue
    if (last === undefined) return
    if (readChain(disk, dir).at(-1)?.token === own.token) {
      moveToFront(disk, dir, name, chain)
      return
    }
    removeIfThere(disk, path.join(dir, name))
  }
  throw new JournalError(75, `${dir} is being taken by another process; try again`)
}

function readChain(disk: Disk, dir: string): Owner[] {
  const chain: Owner[] = []
  for (let name = 'lock'; ; name = `lock.after-${chain.at(-1)!.token}`) {
    const text = readText(disk, path.join(dir, name))
    if (text === null) return chain
    chain.push(parseOwner(text, `broken-${chain.length}`))
  }
}

function moveToFront(disk: Disk, dir: string, name: string, dead: Owner[]): void {
  disk.rename(path.join(dir, name), path.join(dir, 'lock'))
  for (const { token } of dead) {
    const left = path.join(dir, `lock.after-${token}`)
    if (left !== path.join(dir, name)) removeIfThere(disk, left)
  }
}

// A lock is linked when it is written, so a broken one is what a power loss left of it. Two in a
// chain need tokens that differ, or the chain would have no end.
function parseOwner(text: string, token: string): Owner {
  try {
    return JSON.parse(text) as Owner
  } catch {
    return { token, pid: 0, startTicks: null, bootId: null, host: os.hostname() }
  }
}

function isAlive(disk: Disk, owner: Owner): boolean {
  if (owner.pid === 0) return false
  const bootId = readBootId(disk)
  // This machine was started again since, or it is another machine's and nobody here can tell.
  if (bootId !== owner.bootId) return owner.host !== os.hostname()
  if (bootId !== null) return readStartTicks(disk, owner.pid) === owner.startTicks
  try {
    process.kill(owner.pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function inUse(dir: string, { pid, host }: Owner): JournalError {
  const where = host === os.hostname() ? '' : ` on ${host}`
  const hint = where === '' ? '' : `; if that machine is gone, remove ${path.join(dir, 'lock')}`
  return new JournalError(75, `${dir} is in use by process ${pid}${where}${hint}`)
}

function thisProcess(disk: Disk): Owner {
  const { pid } = process
  const token = randomBytes(8).toString('hex')
  const startTicks = readStartTicks(disk, pid)
  return { token, pid, startTicks, bootId: readBootId(disk), host: os.hostname() }
}

function readBootId(disk: Disk): string | null {
  return readText(disk, '/proc/sys/kernel/random/boot_id')?.trim() ?? null
}

// The third field is the state, the 20th the number of threads, the 22nd the start; the second, the
// program's name, may hold anything but ends in the last ')'. A zombie has ended and only waits for
// its parent to hear of it, unless a thread of it is still writing.
function readStartTicks(disk: Disk, pid: number): string | null {
  const stat = readText(disk, `/proc/${pid}/stat`)
  if (stat === null) return null
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const isZombie = fields[0] === 'Z' && Number(fields[17]) <= 1
  return isZombie ? null : fields[19]
}

function readText(disk: Disk, file: string): string | null {
  let handle: number
  try {
    handle = disk.open(file, 'read')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
  try {
    const bytes = Buffer.alloc(4096)
    return bytes.toString('utf8', 0, readFully(disk, handle, bytes, 0))
  } finally {
    disk.close(handle)
  }
}

function createEvenIfFull(disk: Disk, dir: string, file: string, text: string): void {
  try {
    createFile(disk, file, text)
  } catch (error) {
    if (!isLackOfSpace(error) || !giveReserve(disk, dir)) throw error
    removeIfThere(disk, file)
    createFile(disk, file, text)
  }
}

function createFile(disk: Disk, file: string, text: string): void {
  const handle = disk.open(file, 'create')
  try {
    writeAll(disk, handle, Buffer.from(text), 0)
  } finally {
    disk.close(handle)
  }
}

function linkNew(disk: Disk, existing: string, name: string): boolean {
  try {
    disk.link(existing, name)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function removeIfThere(disk: Disk, file: string): void {
  try {
    disk.remove(file)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}
