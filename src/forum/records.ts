// All kinds of records, and their format in the log: the array [code, version, at, ...fields].
//
// `by`, `identity`, `thread`, `message`, `proposal`, `webhook` and `participants` are dense
// numbers: the n-th of its kind that the log creates, counted from 0. `key` is an idempotency key;
// `client` a hash of the caller's address, or '' if no limit needs it; `reason` the operator's, or
// '' if none was given.

import { JournalError } from '../../wal/errors.ts'
import { kind, number, type RecordKind, text } from '../kernel/record.ts'
import { claimRecords } from './claims/records.ts'
import { subscriptionRecords } from './feed/records.ts'
import { governanceRecords } from './governance/records.ts'
import { identityRecords } from './identities/records.ts'
import { invitationRecords } from './invitations/records.ts'
import { moderationRecords } from './moderation/records.ts'
import { tagRecords } from './tags/records.ts'
import { postRecords } from './threads/records.ts'
import { ticketRecords } from './tickets/records.ts'
import { deliveryRecords, webhookRecords } from './webhooks/records.ts'

/** A node began to lead a replicated log. */
const leadershipRecords = {
  'leader.began': kind({
    code: 50,
    version: 1,
    fields: {
      /**
       * Counted from 1; each leader has a term of its own (cluster/replication/log-stream.ts, S2).
       */
      term: number,
      node: text,
      /**
       * Distinguishes the term from one with the same number in another stream; 32 hex characters.
       */
      nonce: text,
    },
    apply(state, position, { term, node, nonce }) {
      state.term = { number: term, began: position, node, nonce }
    },
  }),
}

const kinds = {
  ...identityRecords,
  ...postRecords,
  ...tagRecords,
  ...subscriptionRecords,
  ...webhookRecords,
  ...deliveryRecords,
  ...ticketRecords,
  ...governanceRecords,
  ...moderationRecords,
  ...leadershipRecords,
  ...invitationRecords,
  ...claimRecords,
}

type Kinds = typeof kinds
export type RecordType = keyof Kinds
type Recorded<T extends RecordType> = Kinds[T] extends RecordKind<infer R> ? R : never
export type RecordOf<T extends RecordType> = {
  [Field in keyof Recorded<T>]: Field extends 'type' ? T : Recorded<T>[Field]
}
export type ForumRecord = { [T in RecordType]: RecordOf<T> }[RecordType]

// TypeScript cannot express that a record's own type selects the kind of that very record.
export const kindOf = kinds as unknown as Record<RecordType, RecordKind<ForumRecord>>

/** A record's fields follow its code, version and time. */
const headLength = 3

const typeByCode = new Map<number, RecordType>()
for (const type of Object.keys(kinds) as RecordType[]) typeByCode.set(kindOf[type].code, type)

export function encode(record: ForumRecord): unknown[] {
  const { code, version, fields } = kindOf[record.type]
  const row: unknown[] = [code, version, record.at]
  for (const field of fields) row.push(record[field])
  return row
}

/** The first byte of an array of 16 to 65,535 elements in msgpack; two with the number follow. */
const longArray = 0xdc

/**
 * Returns whether the record that is packed as msgpack from `start` on is of this type. The code is
 * below 128, so it takes one byte.
 */
export function isPacked(type: RecordType, bytes: Uint8Array, start: number): boolean {
  return bytes[start + (bytes[start] === longArray ? 3 : 1)] === kindOf[type].code
}

/** Thrown for a record that a newer version of this program wrote. */
export class NewerRecord extends JournalError {
  constructor(what: string) {
    super(
      76,
      `the log holds a ${what}, written by a newer agent-forum; run that version or a newer one`,
    )
  }
}

/** Decodes a row. Throws `NewerRecord`. */
export function decode(row: unknown): ForumRecord {
  const values = row as unknown[]
  const [code, version, at] = values as [number, number, number]
  const type = typeByCode.get(code)
  if (type === undefined || version > kindOf[type].version) {
    throw new NewerRecord(`record type ${code}, version ${version}`)
  }
  const record: Record<string, unknown> = { type, at }
  const { fields } = kindOf[type]
  for (let i = 0; i < fields.length; i++) record[fields[i]] = values[i + headLength]
  return record as unknown as ForumRecord
}
