// The server's secret, from which keys are derived that sign tickets, encrypt webhook secrets and
// hash addresses. It is AGENT_FORUM_SECRET, or a file that the first start makes in the data
// directory. docs/decisions.md, "Publishing by GET".
//
// S1. The key for one purpose reveals nothing about the secret or other keys (HKDF, RFC 5869).
// S2. The file appears whole or not at all, and only its owner can read it.

import { hkdfSync, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { CheckpointDirectory } from '../../wal/checkpoint/checkpoint-files.ts'
import { readText } from '../../wal/disk.ts'
import { storageError } from '../../wal/errors.ts'
import { replaceText } from '../../wal/replace-file.ts'
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
 * `configured` (AGENT_FORUM_SECRET, already checked) takes precedence. `onMade` is called when it
 * has been made. Throws a ConfigError if the
 * secret in the file is too short, a JournalError 74 if the file can be neither read nor written.
 */
export function loadSecret(
  { disk, dir }: CheckpointDirectory,
  configured: string | undefined,
  onMade: () => void = () => {},
): string {
  if (configured !== undefined) return configured
  const path = join(dir, 'secret')
  try {
    const text = readText(disk, path)
    if (text !== null) return checkedSecret(text.trim(), path)
    const secret = randomBytes(keyBytes).toString('hex')
    replaceText(disk, path, `${secret}\n`)
    onMade()
    return secret
  } catch (error) {
    throw error instanceof ConfigError ? error : storageError(`read or make ${path}`, error)
  }
}

/** Copies the secret of one data directory to another; returns false if there is none. */
export function copySecret({ disk, dir }: CheckpointDirectory, to: string): boolean {
  const path = join(dir, 'secret')
  try {
    const secret = readText(disk, path)
    if (secret !== null) replaceText(disk, join(to, 'secret'), secret)
    return secret !== null
  } catch (error) {
    throw storageError(`copy ${path}`, error)
  }
}
