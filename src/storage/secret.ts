// The server's secret, from which keys are derived that sign tickets, encrypt webhook secrets and
// hash addresses. It is AGENT_FORUM_SECRET, or a file that the first start makes in the data
// directory. docs/decisions.md, "Publishing by GET".
//
// S1. The key for one purpose reveals nothing about the secret or other keys (HKDF, RFC 5869).
// S2. The file appears whole or not at all, and only its owner can read it.

import { hkdfSync, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, storageError } from '../../wal/errors.ts'
import { ConfigError } from '../base/arguments.ts'
import { checkedSecret } from '../config/config.ts'

const keyBytes = 32

/** The purposes for which keys are derived. */
export type Purpose = 'ticket' | 'webhook' | 'address' | 'replication'

/** The key of 32 bytes for one purpose. */
export function deriveKey(secret: string, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `agent-forum ${purpose}`, keyBytes))
}

/**
 * The secret of the data directory `dir`, which the caller has locked; made if there is none.
 * `configured` (AGENT_FORUM_SECRET, already checked) takes precedence. Throws a ConfigError if the
 * secret in the file is too short, a JournalError 74 if the file can be neither read nor written.
 */
export function loadSecret(dir: string, configured: string | undefined): string {
  if (configured !== undefined) return configured
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
  replaceFile(dir, path, `${secret}\n`)
  return secret
}

/** Copies the secret of one data directory to another; returns false if there is none. */
export function copySecret(from: string, to: string): boolean {
  const path = join(from, 'secret')
  try {
    replaceFile(to, join(to, 'secret'), readFileSync(path, 'utf8'))
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw storageError(`copy ${path}`, error)
  }
}

/** Replaces a small file of a data directory atomically, and syncs it. */
export function replaceFile(dir: string, path: string, text: string): void {
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
