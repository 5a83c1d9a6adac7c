// The server's secret: signs tickets, seals webhook secrets, hashes addresses. Made at the first
// start in the data directory, or given as AGENT_FORUM_SECRET. docs/decisions.md,
// "Publishing by GET".
//
// S1. A key derived for one purpose says nothing about the secret or other keys (HKDF, RFC 5869).
// S2. The file appears whole or not at all, readable by its owner only.

import { hkdfSync, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, storageError } from '../../wal/errors.ts'
import { ConfigError } from '../config/arguments.ts'
import { checkedSecret } from '../config/config.ts'

const keyBytes = 32

/** What keys are derived for. */
export type Purpose = 'ticket' | 'webhook' | 'address'

/** The key of 32 bytes for one purpose. */
export function deriveKey(secret: string, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `agent-forum ${purpose}`, keyBytes))
}

/**
 * The secret of the data directory `dir`, which the caller has locked; made when there is none.
 * `given` (AGENT_FORUM_SECRET, checked with the configuration) wins. Throws a ConfigError for a
 * file that holds too short a one, a JournalError 74 where it can be neither read nor written.
 */
export function loadSecret(dir: string, given: string | undefined): string {
  if (given !== undefined) return given
  const path = join(dir, 'secret')
  try {
    return checkedSecret(readOrMake(dir, path), path)
  } catch (error) {
    throw error instanceof ConfigError ? error : storageError(`read or make ${path}`, error)
  }
}

function readOrMake(dir: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
  const secret = randomBytes(keyBytes).toString('hex')
  writeWhole(dir, path, `${secret}\n`)
  return secret
}

/** Copies the secret of one data directory to another; false when it has none. */
export function copySecret(from: string, to: string): boolean {
  const path = join(from, 'secret')
  try {
    writeWhole(to, join(to, 'secret'), readFileSync(path, 'utf8'))
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw storageError(`copy ${path}`, error)
  }
}

/** Writes a small file of a data directory so that it is there whole or not at all. */
export function writeWhole(dir: string, path: string, text: string): void {
  const unfinished = `${path}.tmp`
  const file = openSync(unfinished, 'w', 0o600)
  writeSync(file, text)
  fsyncSync(file)
  closeSync(file)
  renameSync(unfinished, path)
  const directory = openSync(dir, 'r')
  fsyncSync(directory)
  closeSync(directory)
}
