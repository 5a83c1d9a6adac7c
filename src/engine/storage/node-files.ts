// The small files of a data directory beside the log: `epoch`, `secret`, `node` and `version`.
//
// The epoch identifies one history of the log. A node that continues from a backup assigns
// positions that its clients have already seen to other messages, so a new epoch begins there.
// /api/status shows the epoch. A cursor beyond the end of the log is reset to the beginning of the
// epoch (forum/forum.ts, `pageStart`).
//
//   no file                        the first epoch; its id is that of the store
//   {"id":null,"position":1000}    a backup: the first start from it assigns an id
//   {"id":"5b3e…","position":1000,"isOwn":true}     a start on that backup has assigned the id
//   {"id":"5b3e…","position":1000,"store":"a01f…"}  adopted from the stream, as another node's; if
//                                                   its log was never fetched, it counts for none
//
// E1. Two nodes that start from copies of one backup begin two different epochs.
// E2. The id of an epoch is durable before the first answer in that epoch.
//
// The server's secret is AGENT_FORUM_SECRET, or a file that the first start creates in the data
// directory. From it keys are derived that sign tickets, encrypt webhook secrets, hash addresses,
// seal sessions, and let nodes that share a log check that they have the same secret.
//
// S1. The key for one purpose reveals nothing about the secret or the other keys (HKDF, RFC 5869).
// S2. The file appears whole or not at all, and only its owner can read it.

// `version` names the version of the program that was last started on the directory, with its
// commit where it is known. A program that cannot read what a newer one wrote (exit code 76) says
// which that is.

import { hkdfSync, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { CheckpointDirectory } from '../../../wal/checkpoint/checkpoint-files.ts'
import { readText, replaceText } from '../../../wal/disk.ts'
import { isOfSystem, JournalError, storageError } from '../../../wal/errors.ts'
import { ConfigError } from '../../base/arguments.ts'
import { isSystemFile } from '../../base/sockets.ts'
import { checkedSecret } from '../../config/config.ts'

const epochIdBytes = 16

export interface Epoch {
  /** 32 hex characters. */
  id: string
  /** The last position before the epoch; null for the first epoch. */
  begin: number | null
  /** Whether this directory began the epoch, as a restored backup. */
  isOwn: boolean
}

/** The names that a node makes in its data directory, with or without a log. */
const ownNames = new RegExp(
  '^(?:\\d{10}\\..*|(?:lock|secret|epoch|node|version|clear-log|replace-log)(?:\\..*)?|' +
    'reserve|fetched-log|search|.*\\.sock)$',
)
const logNames = /^\d{10}\.(?:wal|checkpoint)/

/**
 * Throws a ConfigError if the directory holds files of others and no log: it is hardly meant to be
 * a data directory. To be called before anything is made in it.
 */
export function refuseForeign({ disk, dir }: CheckpointDirectory): void {
  let names: string[] = []
  try {
    names = disk.list(dir)
  } catch {
    return // it does not exist, or the lock reports why it cannot be used
  }
  if (names.some((name) => logNames.test(name))) return
  const foreign = names.find((name) => !ownNames.test(name) && !isSystemFile(name))
  if (foreign === undefined) return
  throw new ConfigError(
    `${dir} is not empty and holds no log, but "${foreign}", for example; ` +
      'choose an empty or a new directory with --data',
  )
}

/** Returns the epoch of a data directory, which the caller has locked. */
export function loadEpoch(directory: CheckpointDirectory, storeId: string): Epoch {
  const path = join(directory.dir, 'epoch')
  try {
    const text = readText(directory.disk, path)
    if (text === null) return { id: storeId, begin: null, isOwn: false }
    const { id, position, isOwn = false, store = storeId } = JSON.parse(text) as EpochFile
    if (store !== storeId) return { id: storeId, begin: null, isOwn: false }
    if (id !== null) return { id, begin: position, isOwn }
    const newId = randomBytes(epochIdBytes).toString('hex')
    writeEpoch(directory, { id: newId, position, isOwn: true })
    return { id: newId, begin: position, isOwn: true }
  } catch (error) {
    throw storageError(`read or write ${path}`, error)
  }
}

/** Adopts the epoch of other nodes in a data directory, which the caller has locked. */
export function adoptEpoch(
  directory: CheckpointDirectory,
  { store, epoch, epochBegin }: { store: string; epoch: string; epochBegin: number | null },
): void {
  writeEpoch(directory, { id: epoch, position: epochBegin, store })
}

/** Makes the next start on a data directory begin a new epoch after `position`. */
export function beginEpochAt(directory: CheckpointDirectory, position: number): void {
  writeEpoch(directory, { id: null, position })
}

interface EpochFile {
  id: string | null
  /** The last position before the epoch; null for the first epoch of a store. */
  position: number | null
  isOwn?: boolean
  /** The store of the history that it was adopted from. */
  store?: string
}

function writeEpoch({ disk, dir }: CheckpointDirectory, epoch: EpochFile): void {
  replaceText(disk, join(dir, 'epoch'), `${JSON.stringify(epoch)}\n`)
}

const keyBytes = 32

type Purpose = 'ticket' | 'webhook' | 'address' | 'replication' | 'session'

/** Derives the 32-byte key for one purpose. */
export function deriveKey(secret: string, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `agent-forum ${purpose}`, keyBytes))
}

/**
 * Returns the secret of the data directory `dir`, which the caller has locked, and creates it if
 * there is none. `configured` (AGENT_FORUM_SECRET, already checked) takes precedence. Calls
 * `onMade` when it has created a secret. Throws a ConfigError if the secret in the file is too
 * short, a JournalError 74 if the file cannot be read or written.
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

const nodeIdPattern = /^[0-9a-f]{16}\n$/
const nodeIdBytes = 8

/**
 * Returns the id of the node with the data in `dir`, which the caller has locked. It identifies the
 * node among those that share a log: 16 hex characters in the file `node` of the data directory,
 * created by the first start that needs it. A copy of the data gets another id. Throws a
 * JournalError 74.
 */
export function loadNodeId({ disk, dir }: CheckpointDirectory): string {
  const file = join(dir, 'node')
  try {
    const text = readText(disk, file)
    if (text !== null && nodeIdPattern.test(text)) return text.trim()
    const id = randomBytes(nodeIdBytes).toString('hex')
    replaceText(disk, file, `${id}\n`)
    return id
  } catch (error) {
    throw storageError(`read or make ${file}`, error)
  }
}

/** Records that this version is started on the directory. A full disk does not prevent a start. */
export function recordVersion({ disk, dir }: CheckpointDirectory, version: string): void {
  const path = join(dir, 'version')
  try {
    if (readText(disk, path) !== `${version}\n`) replaceText(disk, path, `${version}\n`)
  } catch (error) {
    if (!isOfSystem(error)) throw error
  }
}

/**
 * Returns the error of a start; one that says that a newer program wrote the data (76) also names
 * the version that was last started on the directory, if that is another than `own`.
 */
export function withVersion(
  error: unknown,
  { disk, dir }: CheckpointDirectory,
  own: string,
): unknown {
  if (!(error instanceof JournalError) || error.exitCode !== 76) return error
  let version = own
  try {
    version = readText(disk, join(dir, 'version'))?.trim() ?? own
  } catch (failure) {
    if (!isOfSystem(failure)) throw failure
  }
  if (version === own || !versionPattern.test(version)) return error
  const { message, cause } = error
  return new JournalError(76, `${message}; version ${version} was last started on it`, { cause })
}

const versionPattern = /^[\w.+-]{1,99}$/
