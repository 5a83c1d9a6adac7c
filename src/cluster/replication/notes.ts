// The facts that all nodes of a replicated log share, in a note beside the stream: the id of the
// store, the epoch, and a fingerprint of the secret, which itself never leaves a node.
//
//   note `history` = { version, store, epoch, epochBegin, secret }
//
// H1. A leader writes the note after it has begun the stream, and again if it was lost; both times
//     after its own note `holder` (holders.ts). It never changes.
// H2. A node whose log is of another store, or whose secret differs, takes no part.

import { createHash } from 'node:crypto'
import type { LogStream } from './log-stream.ts'

const version = 1
const noteKey = 'history'
const fingerprintHexLength = 16

export interface History {
  version: number
  /** The store id that the logs of all nodes have. */
  store: string
  /**
   * The epoch as /api/status shows it, and the last position before it; null in the first epoch.
   */
  epoch: string
  epochBegin: number | null
  /** `fingerprintOf` a key that is derived from the secret. */
  secret: string
}

/** The reason why a node cannot take part, in one sentence. */
export class OtherHistory extends Error {
  override readonly name = 'OtherHistory'
}

/** Returns the digest that nodes compare instead of the key itself. */
export function fingerprintOf(key: Uint8Array): string {
  return createHash('sha256').update(key).digest('hex').slice(0, fingerprintHexLength)
}

/**
 * Returns the history beside the stream; null: no leader has written it. Rejects with
 * `OtherHistory` if this node's secret differs, or a newer program has written the note, and with
 * `StreamUnavailable`.
 */
export async function readHistory(
  stream: LogStream,
  own: { secret: string },
): Promise<History | null> {
  const note = await stream.notes.read(noteKey)
  if (note === null) return null
  const history = note.value as History
  if (history.version !== version) {
    throw new OtherHistory(
      `the history beside the stream has version ${history.version}; start the newer program`,
    )
  }
  if (history.secret !== own.secret) {
    throw new OtherHistory(
      'the secret is not the one of the other nodes; give all the same AGENT_FORUM_SECRET',
    )
  }
  return history
}

/** Returns the error message for a node whose log is of another store than the stream's. */
export function otherStore(streams: string, own: string): string {
  return (
    `the stream has the log of store ${streams}, and this node that of ${own}; ` +
    'choose another --replicate-stream, or begin with an empty --data'
  )
}

/** Whether the note `history` exists, in any version. */
export async function hasHistory({ notes }: LogStream): Promise<boolean> {
  return (await notes.read(noteKey)) !== null
}

/** Writes the note `history` unless it exists; only a leader may do this. */
export async function writeHistory(
  { notes }: LogStream,
  mine: Omit<History, 'version'>,
): Promise<void> {
  await notes.write(noteKey, { version, ...mine }, 0)
}

/**
 * The note `follower.<node>` beside the stream: a follower's progress. The follower writes it
 * regularly, and the leader reads the notes of all followers before it trims the stream.
 */
export interface FollowerNote {
  version: 1
  /** The last position that is durable in its own log. */
  position: number
  /** When it wrote the note, in milliseconds since the epoch by its own clock; informational. */
  seen: number
}

export const followerKeys = 'follower.'

export function followerKey(node: string): string {
  return `${followerKeys}${node}`
}
