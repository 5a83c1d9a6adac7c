// The directory of a node that keeps nothing: `serve --memory`, for tests.
//
// Everything works as with a data directory, from --readers to `agent-forum admin --data`, because
// there is one: in /dev/shm, which is memory, or else among the temporary files. Nothing is synced.
//
// M1. The directory is removed when the process ends. What a process that was killed has left is
//     removed by the next one: the name has the host's name and the process id.
// M2. Nothing else is ever removed: only directories with such a name, of the same host and user,
//     whose process is gone. Containers that share the parent have other host names.

import { mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeOf } from '../../wal/errors.ts'
import { ConfigError } from '../base/arguments.ts'
import type { SettingName } from '../config/config.ts'
import type { SettingSources } from '../config/settings.ts'

/** The settings that mean nothing without a directory that stays. */
const excluded = ['data', 'durability', 'replicate', 'follow'] as const
const sharedMemory = '/dev/shm'
/** Containers often have 64 MiB there, which the first segments of a log fill. */
const freeBytesMin = 1 << 30
const prefix = `agent-forum-memory-${hostname()}-`
const ending = /^(\d+)-\w{6}$/

/** Makes the directory, and removes it when the process ends. Throws ConfigError. */
export function memoryDirectory(settings: Pick<SettingSources<SettingName>, 'find'>): string {
  for (const each of excluded) {
    const { from, name } = settings.find(each)
    if (from !== 'default') throw new ConfigError(`--memory keeps nothing; leave ${name} out`)
  }
  const parent = hasSharedMemory() ? sharedMemory : tmpdir()
  for (const left of readdirSync(parent)) removeIfLeft(parent, left)
  const directory = mkdtempSync(join(parent, `${prefix}${process.pid}-`))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  return directory
}

function hasSharedMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(sharedMemory)
    return bavail * bsize >= freeBytesMin
  } catch {
    return false
  }
}

function removeIfLeft(parent: string, entry: string): void {
  const [, pid] = (entry.startsWith(prefix) && ending.exec(entry.slice(prefix.length))) || []
  if (pid === undefined || isAlive(Number(pid))) return
  const directory = join(parent, entry)
  try {
    if (statSync(directory).uid === process.getuid?.()) rmSync(directory, { recursive: true })
  } catch {
    // Another node has removed it at the same time.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}
