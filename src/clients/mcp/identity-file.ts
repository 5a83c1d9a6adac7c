// The file that keeps an agent's identity from one run to the next: the node's answer to the
// registration, and the address of that node.
//
// I1. Only its owner can read it: it is created with mode 0600, and a file that others can read is
//     refused.
// I2. It appears whole or not at all, and an identity that has not expired is not overwritten: of
//     two processes that register at the same time, the second adopts the identity of the first.
//     It is synced before it is used, since nothing else holds the token.
// I3. A token is sent only to the node that issued it. The names of the loopback interface count as
//     one.

import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from '../../base/arguments.ts'
import { parseJson } from '../../base/json.ts'
import type { Identity } from '../../client/index.ts'

export type StoredIdentity = Pick<
  Identity,
  'id' | 'kind' | 'display_name' | 'token' | 'expires_at'
> & {
  url: string
}

/** The maximum size of the file, far more than an identity needs. */
const bytesMax = 64 * 1024

/**
 * Returns the identity in the file, or null if there is no file or the identity has expired. If
 * `url` is null, the identity may be of any node. Throws ConfigError if the file cannot be used or
 * created.
 */
export function readIdentity(file: string, url: string | null): StoredIdentity | null {
  const kept = read(file)
  if (kept === null) {
    checkDirectory(file)
    return null
  }
  if (url !== null && !isOf(kept, url)) {
    const advice = 'leave out --url, or name another file with --identity'
    throw new ConfigError(`${file} has an identity of ${kept.url}, not of ${url}; ${advice}`)
  }
  return kept.expires_at !== null && kept.expires_at <= Date.now() ? null : kept
}

/**
 * Returns the node of the identity in the file, even if that has expired, or null if there is no
 * file. Throws ConfigError if the file cannot be used.
 */
export function originIn(file: string): string | null {
  return read(file)?.url ?? null
}

/** Returns whether the node at this origin has issued the identity. */
export function isOf(kept: StoredIdentity, url: string): boolean {
  return placeOf(kept.url) === placeOf(url)
}

/** Returns the origin, with one name for the loopback interface. */
function placeOf(url: string): string {
  return url.replace(/^http:\/\/(?:localhost|\[::1\])(?=:|$)/, 'http://127.0.0.1')
}

/** Saves the identity unless the file has one, and returns the one in it. Throws ConfigError. */
export function keepIdentity(file: string, made: StoredIdentity): StoredIdentity {
  // Process ids are reused, in a container by every process: a file named by one may be a leftover.
  const own = `${file}.${randomBytes(8).toString('hex')}`
  try {
    const options = { mode: 0o600, flag: 'wx', flush: true }
    writeFileSync(own, `${JSON.stringify(made, null, 2)}\n`, options)
    if (read(file) === null) linkSync(own, file)
    else if (readIdentity(file, made.url) === null) renameSync(own, file)
    syncDirectory(dirname(file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(file, error)
  } finally {
    rmSync(own, { force: true })
  }
  const kept = readIdentity(file, made.url)
  if (kept === null) throw new ConfigError(`${file} could not be written`)
  return kept
}

function syncDirectory(directory: string): void {
  const opened = openSync(directory, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

function read(file: string): StoredIdentity | null {
  try {
    const found = statSync(file)
    const kept = storedIn(file, found)
    if ((found.mode & 0o077) === 0) return kept
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusable(file, error)
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return null
    throw new ConfigError(`${file} is a link to a file that does not exist`)
  }
  throw new ConfigError(`${file} holds a token and others can read it; chmod 600 ${file}`)
}

/** Returns the identity whatever the mode: advice on modes is for files that hold one. */
function storedIn(file: string, found: Stats): StoredIdentity {
  if (found.isDirectory()) throw new ConfigError(`${file} is a directory`)
  if (found.isFile() && found.size === 0) {
    throw new ConfigError(`${file} is empty: remove it, or name another file`)
  }
  const isRead = found.isFile() && found.size <= bytesMax
  const kept = isRead
    ? (parseJson(readFileSync(file, 'utf8')) as StoredIdentity | null | undefined)
    : null
  if (typeof kept?.token === 'string' && typeof kept.url === 'string') return kept
  throw new ConfigError(`${file} is not an identity file`)
}

function checkDirectory(file: string): void {
  try {
    accessSync(dirname(file), constants.W_OK)
  } catch (error) {
    throw unusable(file, error)
  }
}

/** Translates a system error into a message for the people who named the file. */
function unusable(file: string, error: unknown): ConfigError {
  if (error instanceof ConfigError) return error
  const { code, message, syscall } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return new ConfigError(`there is no directory ${dirname(file)}`)
  if (code === 'ENOTDIR') return new ConfigError(`${dirname(file)} is not a directory`)
  return new ConfigError(`${file} cannot be used: ${message.split(`, ${syscall}`)[0]}`)
}
