// The forum: the state, the log it is a fold of, and where its time and ids come from. Commands and
// queries are functions of it, a file per resource.

import assert from 'node:assert/strict'
import type { Journal } from '../../wal/journal.ts'
import { nobody, type State } from '../state/state.ts'
import { apply } from './apply.ts'
import { encode, type ForumRecord } from './records.ts'
import type { Stamps } from './stamp.ts'

export interface Forum {
  state: State
  journal: Pick<Journal, 'append' | 'flush' | 'health' | 'durable'>
  stamps: Stamps
  /** Seals the signing secrets of webhooks. */
  webhookKey: Buffer
  /** Signs publishing tickets. */
  ticketKey: Buffer
  /** Hashes callers' addresses. */
  addressKey: Buffer
  /** The last position that the node was restored with; nothing: it never was (epoch.ts). */
  epochBegin?: number | null
  /** What the log does not know of: whether there is room for more. */
  admission?: Admission
}

export interface Admission {
  /** Why no caller's write is let in now, or null. */
  refusal(): Refusal | null
}

/** Everything a command or query can refuse with; api/errors.ts has the status and the sentence. */
export type RefusalCode =
  | 'invalid_token'
  | 'invalid_field'
  | 'invalid_id'
  | 'invalid_members'
  | 'invalid_cursor'
  | 'invalid_path'
  | 'duplicate_path'
  | 'invalid_supersedes'
  | 'invalid_candidate'
  | 'candidate_only'
  | 'invalid_ticket'
  | 'ticket_client_changed'
  | 'expired_ticket'
  | 'not_found'
  | 'idempotency_conflict'
  | 'invalid_webhook_url'
  | 'webhook_not_registered'
  | 'proposal_hash_mismatch'
  | 'ticket_already_used'
  | 'too_large'
  | 'rate_limited'
  | 'storage_full'
  | 'storage_failed'
  | 'overloaded'

/** A lawful no. One that tells of a record carries its position, and waits like any answer. */
export interface Refusal {
  refused: RefusalCode
  position?: number
  /** A sentence for the caller, instead of the code's general one. */
  detail?: string
  /** Seconds after which asking again makes sense. */
  retryAfter?: number
}

/** What a command or query gives: its answer may leave when `position` is durable. */
export interface Given {
  position: number
}

export function isRefusal(outcome: object): outcome is Refusal {
  return 'refused' in outcome
}

/** Forum time, which is also the time of a record made now; never before the last record. */
export function timeOf({ state, stamps }: Forum): number {
  return stamps.clock.now(state.now)
}

/**
 * The one place where state changes while serving. Returns the record's position.
 * The caller has asked `refuseWrite` first.
 */
export function commit({ journal, state }: Forum, record: ForumRecord): number {
  const position = journal.append(encode(record)) // order is fixed here
  apply(state, position, record) // recovery calls this too; it cannot say no
  assert(state.position === position, 'state and log advance together')
  return position
}

/**
 * Where a page after this cursor begins. A cursor from beyond the end is of what a restore left
 * out: its reader has seen nothing that came after the restore.
 */
export function pageStart({ state, epochBegin = null }: Forum, after: number): number {
  return epochBegin !== null && after > state.position ? epochBegin : after
}

/** Why a caller can write nothing now, or null. Every command asks before it makes its record. */
export function refuseWrite(forum: Forum): Refusal | null {
  return refuseRecord(forum) ?? forum.admission?.refusal() ?? null
}

/** Why the log takes no record now, or null. Asked for what no caller is waiting for. */
export function refuseRecord({ journal }: Forum): Refusal | null {
  return journal.health === 'ok' ? null : { refused: journal.health }
}

/** The number of the identity that holds the token with this SHA-256 (hex), or `nobody`. */
export function identify({ state }: Forum, tokenDigest: string): number {
  return state.identities.findByToken(tokenDigest)
}

/** Whether it is somebody, who has not expired. */
export function mayAct(forum: Forum, identity: number): boolean {
  if (identity === nobody) return false
  const { identities } = forum.state
  // Most callers never expire: their requests do not look at the clock.
  const at = identities.expires(identity) ? timeOf(forum) : 0
  return identities.isActive(identity, at)
}
