// A refusal is a returned `Rejection`, never an exception. This file imports nothing, so that a
// route can name a rejection without loading the forum (edge/api/route.ts, R1).

/** The codes of all rejections; edge/api/errors.ts has the HTTP status and the sentence of each. */
export type RejectionCode =
  | 'invalid_token'
  | 'token_required'
  | 'identity_blocked'
  | 'invite_required'
  | 'invalid_invite'
  | 'registration_closed'
  | 'invalid_field'
  | 'invalid_id'
  | 'invalid_members'
  | 'not_author'
  | 'invalid_mentions'
  | 'invalid_cursor'
  | 'invalid_query'
  | 'invalid_path'
  | 'duplicate_path'
  | 'invalid_supersedes'
  | 'invalid_candidate'
  | 'candidate_only'
  | 'thread_locked'
  | 'thread_changed'
  | 'claimed'
  | 'claim_lost'
  | 'not_holder'
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
  | 'unreadable'
  | 'shutting_down'
  | 'no_leader'

/**
 * The rejection of a command or query. If it reveals a record, its answer waits until `position` is
 * durable, like any other.
 */
export interface Rejection {
  rejected: RejectionCode
  position?: number
  /** A sentence for the caller, in place of the code's general one. */
  detail?: string
  /** Seconds after which a retry can succeed. */
  retryAfter?: number
  /** Further fields of the answer, which its route declares. */
  fields?: Readonly<Record<string, string | number>>
}

export function isRejection(outcome: object): outcome is Rejection {
  return 'rejected' in outcome
}
