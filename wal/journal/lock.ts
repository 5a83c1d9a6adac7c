// One process per data directory. The file `lock` names its owner; the lock of a dead owner is
// taken over. A process writes its own file, then links it to a name that only one can create:
//
//   lock (owner A, dead) ──▶ lock.after-A (B, dead too) ──▶ lock.after-B: made by link(), by one
//
// The last one in the chain that starts at `lock` is the owner. A new owner moves its file to
// `lock` before it removes the rest. So a process with an outdated view creates a name that is not
// in the chain, detects that, and tries again.
//
// An owner in another PID namespace, such as another container on the same volume, is not visible
// in /proc. A life sign, the socket `lock.TOKEN.socket`, shows whether it lives (../disk.ts).
//
// An owner whose life is unknown keeps the lock: one in another namespace without a life sign, and
// one on another machine. Not covered: another machine with the same host name as the owner's.

import { randomBytes } from 'node:crypto'
import os from 'node:os'
import path from 'node:path'
import { type Disk, readText, writeAll } from '../disk.ts'
import { codeOf, isLackOfSpace, JournalError, storageError } from '../errors.ts'

interface Owner {
  token: string
  pid: number
  /** Clock ticks from boot to the start of the process; null where the system has no such value. */
  startTicks: string | null
  bootId: string | null
  /** Null: the process is not visible to itself in /proc. */
  pidNamespace: string | null
  host: string
}

const attemptsMax = 100
/** More than any lock, or any file of /proc that is read here, has. */
const textBytesMax = 4096

/**
 * Takes the lock of `dir` and resolves to a function that releases it. Rejects with JournalError 75
 * when a living process holds it, 74 when the directory cannot be written.
 */
export async function lockDirectory(disk: Disk, dir: string): Promise<() => void> {
  const own = thisProcess(disk)
  const ownFile = path.join(dir, `lock.${own.token}.tmp`)
  let failure: unknown
  try {
    createEvenIfFull(disk, dir, ownFile, JSON.stringify(own))
    await take(disk, dir, ownFile, own)
  } catch (error) {
    failure = error
  }
  try {
    removeIfThere(disk, ownFile)
  } catch (error) {
    failure ??= error
  }
  if (failure !== undefined) throw storageError(`lock ${dir}`, failure)
  const endLife = disk.showLife(lifePath(dir, own))
  return () => {
    try {
      disk.remove(path.join(dir, 'lock'))
    } catch {
      // The file stays; the next process takes it over from a dead owner.
    }
    endLife()
  }
}

/** Rejects with JournalError 75 when a living process uses the directory. Changes nothing. */
export async function refuseIfInUse(disk: Disk, dir: string): Promise<void> {
  await refuseUnlessDead(disk, dir, readChain(disk, dir).at(-1))
}

async function take(disk: Disk, dir: string, ownFile: string, own: Owner): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const chain = readChain(disk, dir)
    const last = chain.at(-1)
    await refuseUnlessDead(disk, dir, last)
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
    const text = readText(disk, path.join(dir, name), textBytesMax)
    if (text === null) return chain
    chain.push(parseOwner(path.join(dir, name), text, `broken-${chain.length}`))
  }
}

function moveToFront(disk: Disk, dir: string, name: string, dead: Owner[]): void {
  disk.rename(path.join(dir, name), path.join(dir, 'lock'))
  for (const owner of dead) {
    const left = path.join(dir, `lock.after-${owner.token}`)
    if (left !== path.join(dir, name)) removeIfThere(disk, left)
    removeIfThere(disk, lifePath(dir, owner))
  }
}

function lifePath(dir: string, { token }: Owner): string {
  return path.join(dir, `lock.${token}.socket`)
}

// A lock is linked after it is written, so one that is not JSON was damaged by a power loss. Tokens
// of such locks must differ, or the chain would have no end. JSON that describes no owner was
// written by an unknown program.
function parseOwner(file: string, text: string, token: string): Owner {
  let owner: unknown
  try {
    owner = JSON.parse(text)
  } catch {
    const unknownProcess = { startTicks: null, bootId: null, pidNamespace: null }
    return { token, pid: 0, ...unknownProcess, host: os.hostname() }
  }
  if (isOwner(owner)) return owner
  throw new JournalError(
    75,
    `${file} names no process as the owner of the directory; make sure none runs, then remove it`,
  )
}

function isOwner(value: unknown): value is Owner {
  const { token, pid, startTicks, bootId, pidNamespace, host } = (value ?? {}) as Partial<Owner>
  const isTextOrNull = (field: unknown) => field === null || typeof field === 'string'
  return (
    typeof token === 'string' &&
    /^[\w-]+$/.test(token) &&
    Number.isSafeInteger(pid) &&
    isTextOrNull(startTicks) &&
    isTextOrNull(bootId) &&
    isTextOrNull(pidNamespace) &&
    typeof host === 'string'
  )
}

/** Rejects with JournalError 75 unless there is no owner, or it is known to be dead. */
async function refuseUnlessDead(disk: Disk, dir: string, owner: Owner | undefined): Promise<void> {
  if (owner === undefined || owner.pid === 0) return
  const lock = path.join(dir, 'lock')
  const user = `process ${owner.pid}`
  const bootId = readBootId(disk)
  if (bootId !== owner.bootId) {
    if (owner.host === os.hostname()) return // this machine has been rebooted since
    const where = `${user} on ${owner.host}`
    throw inUse(`${dir} is in use by ${where}; if that machine is gone, remove ${lock}`)
  }
  if (bootId !== null && !isVisible(disk, owner)) {
    const isAlive = await disk.hasLife(lifePath(dir, owner))
    if (isAlive === false) return
    const where = `${user} of another PID namespace, as of another container`
    if (isAlive) throw inUse(`${dir} is in use by ${where} (host name ${owner.host})`)
    throw inUse(
      `${dir} may be in use by ${where} (host name ${owner.host}), and whether it is still ` +
        `running cannot be seen from here; make sure that it is not, then remove ${lock}`,
    )
  }
  if (isRunning(disk, owner)) {
    throw inUse(`${dir} is in use by ${user}; stop it, or choose another directory`)
  }
}

function inUse(sentence: string): JournalError {
  return new JournalError(75, sentence)
}

/** Whether a process of this boot is visible in this process's /proc. */
function isVisible(disk: Disk, { pidNamespace }: Owner): boolean {
  return pidNamespace !== null && pidNamespace === readPidNamespace(disk)
}

function isRunning(disk: Disk, { bootId, pid, startTicks }: Owner): boolean {
  if (bootId !== null) return readStartTicks(disk, pid) === startTicks
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function thisProcess(disk: Disk): Owner {
  const { pid } = process
  return {
    token: randomBytes(8).toString('hex'),
    pid,
    startTicks: readStartTicks(disk, pid),
    bootId: readBootId(disk),
    pidNamespace: readPidNamespace(disk),
    host: os.hostname(),
  }
}

/** Null when /proc is missing, or belongs to another namespace, in which pids differ. */
function readPidNamespace(disk: Disk): string | null {
  try {
    const isOwnProc = disk.readLink('/proc/self') === `${process.pid}`
    return isOwnProc ? disk.readLink('/proc/self/ns/pid') : null
  } catch {
    return null
  }
}

function readBootId(disk: Disk): string | null {
  return readText(disk, '/proc/sys/kernel/random/boot_id', textBytesMax)?.trim() ?? null
}

// The third field is the state, the 20th the number of threads, the 22nd the start time; the
// second, the program's name, can contain anything but ends at the last ')'. A zombie has ended and
// waits only to be reaped by its parent, unless one of its threads is still writing.
function readStartTicks(disk: Disk, pid: number): string | null {
  const stat = readText(disk, `/proc/${pid}/stat`, textBytesMax)
  if (stat === null) return null
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const isZombie = fields[0] === 'Z' && Number(fields[17]) <= 1
  return isZombie ? null : fields[19]
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

// A reserved block of disk space, so that a node which was killed on a full disk can be started:
// the lock of the next start needs it. The log has the space for everything else (prepare-tail.ts).
const reserveName = 'reserve'
const reserveBytes = 4096

/** Creates the reserve if it is missing and there is space for it. */
export function keepReserve(disk: Disk, dir: string): void {
  const file = path.join(dir, reserveName)
  if (disk.list(dir).includes(reserveName)) return
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

/**
 * Releases the reserve's disk space. Returns whether there was a reserve: a file of that name with
 * anything but zeros is of somebody else.
 */
function giveReserve(disk: Disk, dir: string): boolean {
  const file = path.join(dir, reserveName)
  try {
    if (!/^\0*$/.test(readText(disk, file, textBytesMax) ?? '')) return false
    disk.remove(file)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || isLackOfSpace(error)) return false
    throw error
  }
}
