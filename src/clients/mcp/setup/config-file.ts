// Reads and replaces the configuration file of another program.
//
// C1. The file is replaced atomically: the text is written beside it, synced, and renamed onto it.
// C2. It keeps its mode and owner. Links to it are followed, and stay as they are.
// C3. Changes that another program has made since it was read are not overwritten: the file is
//     compared again directly before the rename.

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

/** The maximum size. Configurations that include the history of conversations take megabytes. */
const bytesMax = 64 * 1024 * 1024

/** Returns the text; null if there is no file. Throws RangeError or TypeError if it is no text. */
export function readConfig(file: string): string | null {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return null
  const found = statSync(file)
  if (!found.isFile()) throw new TypeError('it is not a regular file')
  const { size } = found
  if (size > bytesMax) throw new RangeError(`it has more than ${bytesMax} bytes`)
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(file))
}

/** Replaces `old`, the text that readConfig returned. Throws errors of the file system. */
export function replaceConfig(file: string, old: string | null, text: string): void {
  if (old === null) mkdirSync(dirname(file), { recursive: true })
  const target = old === null ? file : realpathSync(file)
  const own = `${target}.${randomBytes(8).toString('hex')}`
  // A new file is private, because configurations may hold keys of other services.
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
