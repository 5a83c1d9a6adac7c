// Reads and replaces the configuration file of another program.
//
// C1. The file appears whole: the text is written beside it, synced, and renamed onto it.
// C2. It keeps its mode and its owner, and stays where links lead to it.
// C3. What another program has written since it was read is not overwritten: the file is compared
//     again directly before the rename.

import { randomBytes } from 'node:crypto'
import {
  chownSync,
  closeSync,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** Configurations with the history of conversations in them have megabytes. */
const bytesMax = 64 * 1024 * 1024

/** The text of the file; null: there is none. Throws a RangeError or TypeError: it is no text. */
export function readConfig(file: string): string | null {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return null
  const found = statSync(file)
  if (!found.isFile()) throw new TypeError('it is no file')
  const { size } = found
  if (size > bytesMax) throw new RangeError(`it has more than ${bytesMax} bytes`)
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(file))
}

/** Replaces the text `old`, which readConfig has returned. Throws errors of the file system. */
export function replaceConfig(file: string, old: string | null, text: string): void {
  if (old === null) mkdirSync(dirname(file), { recursive: true })
  const target = old === null ? file : realpathSync(file)
  const own = `${target}.${randomBytes(8).toString('hex')}`
  // Configurations may hold keys of other services.
  const kept = old === null ? { mode: 0o600 } : statSync(target)
  try {
    const descriptor = openSync(own, 'wx', 0o600)
    try {
      writeFileSync(descriptor, text)
      fchmodSync(descriptor, kept.mode & 0o7777)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    if ('uid' in kept) giveTo(own, kept)
    if (readConfig(file) !== old) throw new Error('another program has just changed it; run again')
    renameSync(own, target)
  } finally {
    rmSync(own, { force: true })
  }
}

function giveTo(file: string, { uid, gid }: { uid: number; gid: number }): void {
  const { uid: ownUid, gid: ownGid } = statSync(file)
  if (uid !== ownUid || gid !== ownGid) chownSync(file, uid, gid)
}
