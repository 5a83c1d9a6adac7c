// A file system of a few MiB in memory, which a test can fill. Mounting it requires root.

import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { dataDirectory } from '../api/process.ts'

const mounted = new Set<string>()
process.once('exit', () => {
  for (const place of mounted) tryTo(() => execFileSync('umount', ['-l', place]))
})

/** Runs `work`, and returns whether it succeeded. */
export function tryTo(work: () => void): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}

/** Mounts a file system in memory until the test ends. Returns null where that is not permitted. */
export function smallDisk(t: Test, mebibytes: number): string | null {
  const place = dataDirectory(t)
  mkdirSync(place)
  const options = ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'none', place]
  if (!tryTo(() => execFileSync('mount', options, { stdio: 'ignore' }))) return null
  mounted.add(place)
  t.teardown(() => {
    execFileSync('umount', ['-l', place])
    mounted.delete(place)
  })
  return place
}

/**
 * Makes an existing directory read-only until the test ends, or the returned function is called.
 * Returns null where that is not permitted.
 */
export function readOnly(t: Test, place: string): (() => void) | null {
  const mount = (options: string, ...source: string[]) =>
    tryTo(() => execFileSync('mount', ['-o', options, ...source, place], { stdio: 'ignore' }))
  if (!mount('bind', place)) return null
  mounted.add(place)
  const release = () => {
    if (mounted.delete(place)) execFileSync('umount', ['-l', place])
  }
  t.teardown(release)
  return mount('remount,bind,ro') ? release : null
}

/** Writes a file that takes all free space, to the last byte, and returns its path. */
export function fill(disk: string): string {
  const ballast = join(disk, 'ballast')
  const file = openSync(ballast, 'a')
  const piece = Buffer.alloc(4096, 1)
  while (tryTo(() => writeSync(file, piece)));
  closeSync(file)
  return ballast
}
