// What all nodes of a replicated log have in common, as a note beside the stream: the id of the
// store, the epoch, and a fingerprint of the secret, which itself never leaves a node.
//
//   note `history` = { version, store, epoch, epochBegin, secret }
//
// H1. The first leader writes it before the first message, and it never changes. An epoch that
//     begins later is in the log (forum/records/leadership.ts).
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

/** What the nodes compare instead of a key. */
export function fingerprintOf(key: Uint8Array): string {
  return createHash('sha256').update(key).digest('hex').slice(0, fingerprintHexLength)
}

/** What a node compares: the fingerprint of its secret, and the store of its log, if it has one. */
interface Own {
  secret: string
  store: string | null
}

/**
 * The history beside the stream; null: no leader has begun it. Rejects with `OtherHistory` if this
 * node has another one (H2), or a newer program has written it, and with `StreamUnavailable`.
 */
export async function readHistory(stream: LogStream, own: Own): Promise<History | null> {
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
  if (own.store === null || own.store === history.store) return history
  throw new OtherHistory(otherStore(history.store, own.store))
}

/** What a node says whose log is another store's than that of the stream. */
export function otherStore(streams: string, own: string): string {
  return (
    `the stream has the log of store ${streams}, and this node that of ${own}; ` +
    'choose another --replicate-stream, or begin with an empty --data'
  )
}

/** The history beside the stream, which is this node's if there was none. As `readHistory`. */
export async function agreeOnHistory(
  stream: LogStream,
  mine: Omit<History, 'version'>,
): Promise<History> {
  for (;;) {
    const history = await readHistory(stream, mine)
    if (history !== null) return history
    const written = { version, ...mine }
    if ((await stream.notes.write(noteKey, written, 0)) !== null) return written
  }
}
