// Makes a directory that has its name only when it is whole.

import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { realDisk, syncDirectory } from '../../wal/disk.ts'
import { codeOf } from '../../wal/errors.ts'
import { ConfigError } from '../base/arguments.ts'

/**
 * Makes the directory `to`, which must be missing or empty, as DIR.partial, and gives it its name
 * when the promise of `fill` resolves. Otherwise removes it, and rejects with the error. `what` it
 * makes, and the `flag` that names it, are for the ConfigError that it throws if there is something
 * already.
 */
export async function makeNewDirectory<T>(
  to: string,
  { flag, what }: { flag: string; what: string },
  fill: (unfinished: string) => Promise<T>,
): Promise<T> {
  if (!isFree(to)) throw new ConfigError(`${flag} takes a new directory, not ${to}`)
  const unfinished = `${to.replace(/\/+$/, '')}.partial`
  mkdirSync(dirname(unfinished), { recursive: true })
  try {
    mkdirSync(unfinished, { mode: 0o700 })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    throw new ConfigError(
      `${unfinished} is there: another ${what} is making it, or it is left over from an ` +
        `interrupted one; then remove it`,
    )
  }
  try {
    const made = await fill(unfinished)
    realDisk.rename(unfinished, to)
    syncDirectory(realDisk, dirname(resolve(to)))
    return made
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    throw error
  }
}

/** Returns whether there is nothing at the path, or an empty directory. */
function isFree(path: string): boolean {
  try {
    return readdirSync(path).length === 0
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return code === 'ENOENT'
    throw error // such as a directory that this user may not read
  }
}
