// A file system of a few MiB in memory, which a test can fill up. Mounting one needs root.

import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { dataDirectory } from '../api/process.ts'

const mounted = new Set<string>()
process.once('exit', () => {
  for (const place of mounted) tryTo(() => execFileSync('umount', ['-l', place]))
})

/** Whether the work was done without an error. */
export function tryTo(work: () => void): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}

/** A file system of its own in memory, as long as the test; null where it cannot be mounted. */
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

/** Takes all the space that is left, to the last byte. */
export function fill(disk: string): string {
  const ballast = join(disk, 'ballast')
  const file = openSync(ballast, 'a')
  const piece = Buffer.alloc(4096, 1)
  while (tryTo(() => writeSync(file, piece)));
  closeSync(file)
  return ballast
}
