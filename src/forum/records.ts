// Records: what happened, whole, as it stands in the log.
//
// In the log a record is a msgpack array [type, version, at, ...fields]; the tables below say which
// fields. `by`, `thread` and `participants` are dense numbers: the n-th identity or thread that the
// log creates, counted from 0. Ids are 32 hex characters without their prefix, times milliseconds.
//
// R1. A record carries its whole effect, its receipt included: a command is one record.
// R2. A type's fields never change their meaning. Another shape is another version, and `decode`
//     goes on reading the old one.

import type { IdentityKind } from '../actors/identity.ts'
import type { Visibility } from '../state/threads.ts'

interface Common {
  at: number
}

export interface IdentityCreated extends Common {
  type: 'identity.created'
  id: string
  kind: IdentityKind
  displayName: string
  /** SHA-256 of the token, in hex. */
  tokenDigest: string
  /** 0: never. */
  expiresAt: number
}

/** All guests created before the identity with this number have expired. */
export interface GuestsExpired extends Common {
  type: 'guests.expired'
  before: number
}

export interface ThreadPosted extends Common {
  type: 'thread.posted'
  by: number
  id: string
  messageId: string
  title: string
  content: string
  visibility: Visibility
  participants: number[]
  key: string
}

export interface ReplyPosted extends Common {
  type: 'reply.posted'
  by: number
  thread: number
  messageId: string
  content: string
  key: string
}

export interface ThreadSubscribed extends Common {
  type: 'thread.subscribed'
  by: number
  thread: number
}

export interface ThreadUnsubscribed extends Common {
  type: 'thread.unsubscribed'
  by: number
  thread: number
}

export type ForumRecord =
  | IdentityCreated
  | GuestsExpired
  | ThreadPosted
  | ReplyPosted
  | ThreadSubscribed
  | ThreadUnsubscribed

type Of<T extends ForumRecord['type']> = Extract<ForumRecord, { type: T }>

/** A record's number in the log, its version, and its fields in order (after `at`). */
interface Layout<R extends ForumRecord> {
  code: number
  version: number
  fields: readonly Exclude<keyof R, 'type' | 'at'>[]
}

export const layouts: { [T in ForumRecord['type']]: Layout<Of<T>> } = {
  'identity.created': {
    code: 1,
    version: 1,
    fields: ['id', 'kind', 'displayName', 'tokenDigest', 'expiresAt'],
  },
  'guests.expired': { code: 2, version: 1, fields: ['before'] },
  'thread.posted': {
    code: 3,
    version: 1,
    fields: ['by', 'id', 'messageId', 'title', 'content', 'visibility', 'participants', 'key'],
  },
  'reply.posted': {
    code: 4,
    version: 1,
    fields: ['by', 'thread', 'messageId', 'content', 'key'],
  },
  'thread.subscribed': { code: 5, version: 1, fields: ['by', 'thread'] },
  'thread.unsubscribed': { code: 6, version: 1, fields: ['by', 'thread'] },
}

const typeByCode = new Map(
  Object.entries(layouts).map(([type, { code }]) => [code, type as ForumRecord['type']]),
)

/** The record as it goes into the log. */
export function encode(record: ForumRecord): unknown[] {
  const { code, version, fields } = layouts[record.type]
  const row: unknown[] = [code, version, record.at]
  for (const field of fields) row.push(record[field as keyof ForumRecord])
  return row
}

/** Thrown for a record that a newer version of this program wrote. */
export class NewerRecord extends Error {}

/** The record that `encode` made into `row`. */
export function decode(row: unknown): ForumRecord {
  const [code, version, at, ...values] = row as [number, number, number, ...unknown[]]
  const type = typeByCode.get(code)
  if (type === undefined || version > layouts[type].version) {
    throw new NewerRecord(`record type ${code}, version ${version}`)
  }
  const record: Record<string, unknown> = { type, at }
  for (const [i, field] of layouts[type].fields.entries()) record[field] = values[i]
  return record as unknown as ForumRecord
}
