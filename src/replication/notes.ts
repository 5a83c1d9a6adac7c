// The common facts of all nodes of a replicated log, as a note beside the stream: the id of the
// store, the epoch, and a fingerprint of the secret, which itself never leaves a node.
//
//   note `history` = { version, store, epoch, epochBegin, secret }
//
// H1. A leader writes it when it has begun the stream, and again if it was lost, after its own note
//     `holder` (holders.ts); it never changes. An epoch that begins later is in the log
//     (forum/records/leadership.ts).
// H2. A node whose log is another store's, or whose secret is another one, takes no part.

import { createHash } from 'node:crypto'
import type { LogStream } from './log-stream.ts'

const version = 1
const noteKey = 'history'
const fingerprintHexLength = 16

export interface History {
  version: number
  /** The id that the logs of all nodes have. */
  store: string
  /** As in /api/status, and the last position before it; null in the first epoch. */
  epoch: string
  epochBegin: number | null
  /** `fingerprintOf` a key that is derived from the secret. */
  secret: string
}

/** Why a node can take no part: one sentence. */
export class OtherHistory extends Error {
  override readonly name = 'OtherHistory'
}

/** The nodes compare it instead of a key. */
export function fingerprintOf(key: Uint8Array): string {
  return createHash('sha256').update(key).digest('hex').slice(0, fingerprintHexLength)
}

/**
 * The history beside the stream; null: no leader has written it. Rejects with `OtherHistory` if
 * this node has another secret, or a newer program has written it, and with `StreamUnavailable`.
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

/** The sentence of a node whose log is of another store than the stream. */
export function otherStore(streams: string, own: string): string {
  return (
    `the stream has the log of store ${streams}, and this node that of ${own}; ` +
    'choose another --replicate-stream, or begin with an empty --data'
  )
}

/** Whether the note exists, of any version. */
export async function hasHistory({ notes }: LogStream): Promise<boolean> {
  return (await notes.read(noteKey)) !== null
}

/** Writes the history beside the stream, unless it is there; only a leader does. */
export async function writeHistory(
  { notes }: LogStream,
  mine: Omit<History, 'version'>,
): Promise<void> {
  await notes.write(noteKey, { version, ...mine }, 0)
}

/**
 * The note `follower.<node>` beside the stream: the progress of a follower. It writes the note
 * regularly, and the leader reads those of all followers before it trims the stream.
 */
export interface FollowerNote {
  version: 1
  /** The last position that it has in its own log. */
  position: number
  /** When it wrote the note, in milliseconds since the epoch by its own clock; for people. */
  seen: number
}

/** The beginning of the keys of these notes. */
export const followerKeys = 'follower.'

/** The key of the note of this node. */
export function followerKey(node: string): string {
  return `${followerKeys}${node}`
}
