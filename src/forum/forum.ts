// The forum: the state, the log it is a fold of, and where its time and ids come from. Commands and
// queries are functions of it, a file per resource.

import type { Journal } from '../../wal/journal/journal.ts'
import { Page } from '../state/page.ts'
import type { State } from '../state/state.ts'
import { DueWebhooks } from './due-webhooks.ts'
import { PageCache } from './page-cache.ts'
import type { Stamps } from './stamp.ts'

/** What a forum is made of. */
export interface ForumParts {
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

/** A forum, with what follows from its state and is never saved. */
export interface Forum extends ForumParts {
  /** Where answers are put together. */
  page: Page
  pageCache: PageCache
  dueWebhooks: DueWebhooks
}

/** The forum on a state that has been recovered. */
export function makeForum(parts: ForumParts): Forum {
  const { arena, webhooks } = parts.state
  const dueWebhooks = new DueWebhooks(webhooks)
  return { ...parts, page: new Page(arena), pageCache: new PageCache(), dueWebhooks }
}

export interface Admission {
  /** Why no caller's write is let in now, or null. */
  refusal(): Rejection | null
}

/** Everything a command or query can refuse with; api/errors.ts has the status and the sentence. */
export type RejectionCode =
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
export interface Rejection {
  rejected: RejectionCode
  position?: number
  /** A sentence for the caller, instead of the code's general one. */
  detail?: string
  /** Seconds after which asking again makes sense. */
  retryAfter?: number
}

/** What a command or query gives: its answer may leave when `position` is durable. */
export interface Positioned {
  position: number
}

export function isRejection(outcome: object): outcome is Rejection {
  return 'rejected' in outcome
}

/** Forum time, which is also the time of a record made now; never before the last record. */
export function timeOf({ state, stamps }: Forum): number {
  return stamps.clock.now(state.now)
}

/**
 * Where a page after this cursor begins. A cursor from beyond the end is of what a restore left
 * out: its reader has seen nothing that came after the restore.
 */
export function pageStart({ state, epochBegin = null }: Forum, after: number): number {
  return epochBegin !== null && after > state.position ? epochBegin : after
}
