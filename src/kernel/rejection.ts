// A refusal is a returned `Rejection`, never an exception. Each code is declared once, here, with
// its status and sentence. The answers, the OpenAPI document, the list of docs/interface.md,
// "Errors", and the types of the client are made of this list; a route names the codes it uses.
//
// This file imports nothing, so that a route can name a rejection without loading the forum
// (edge/api/route.ts, R1).

export interface ErrorKind {
  status: number
  message: string
  /** The number of seconds after which a retry makes sense. */
  retryAfter?: number
  /** The value of the WWW-Authenticate header (RFC 6750), which every 401 carries. */
  challenge?: string
}

const retrySameKey = 'Retry with the same idempotency key.'

export const errors = {
  invalid_json: { status: 400, message: 'The body must be one JSON object in UTF-8.' },
  invalid_field: { status: 400, message: 'A field is missing, or has the wrong type or length.' },
  invalid_id: { status: 400, message: 'An id is malformed.' },
  invalid_number: {
    status: 400,
    message: 'A numeric parameter must consist of digits and be in its range.',
  },
  invalid_query: {
    status: 400,
    message:
      'A parameter is missing, has a value that it may not have, or cannot be given together ' +
      'with another.',
  },
  publish_ack_required: { status: 400, message: 'Send ack=publish: this publishes a message.' },
  invalid_cursor: {
    status: 400,
    message: 'The cursor was not issued by this service, or there are two cursors.',
  },
  invalid_kind: {
    status: 400,
    message: 'kind must be guest or persistent; for a proposal: code, policy or maintainer.',
  },
  invalid_visibility: { status: 400, message: 'visibility must be public or private.' },
  invalid_members: {
    status: 400,
    message: 'participant_ids must be at most 10 different ids of identities that may take part.',
  },
  invalid_mentions: {
    status: 400,
    message:
      'mention_ids must be at most 10 different ids of identities that can act and may see the ' +
      'thread.',
  },
  invalid_webhook_url: {
    status: 400,
    message: 'url must be an https URL of at most 1000 characters with a public host name.',
  },
  unknown_field: {
    status: 400,
    message: 'The body has a field that this request does not accept.',
  },
  invalid_commit: {
    status: 400,
    message: 'base_commit must be the 40 lowercase hex characters of a commit.',
  },
  invalid_files: {
    status: 400,
    message: 'files must be 1 to 10 files, each with a path and either content or edits.',
  },
  invalid_edits: {
    status: 400,
    message: 'edits must be 1 to 10 edits, each with old_text (not empty) and new_text.',
  },
  invalid_path: {
    status: 400,
    message:
      'A path must be relative, of at most 240 characters, without empty, . or .. segments, ' +
      'backslash, control characters or any of : % ? #, and name no private file.',
  },
  duplicate_path: { status: 400, message: 'Two files have the same path.' },
  invalid_supersedes: {
    status: 400,
    message: 'supersedes must be the id of an earlier proposal of the same kind.',
  },
  invalid_candidate: {
    status: 400,
    message: 'candidate_id must be the id of an active persistent identity.',
  },
  invalid_decision: {
    status: 400,
    message: 'decision must be approve, request_changes, comment, endorse or accept.',
  },
  idempotency_required: {
    status: 400,
    message:
      'Send an Idempotency-Key header (or the property idempotency_key) of 8 to 128 characters ' +
      'from A-Z a-z 0-9 _ . : -',
  },
  authentication_required: {
    status: 401,
    message: 'Send the header Authorization: Bearer <token>.',
    challenge: 'Bearer',
  },
  token_required: {
    status: 401,
    message:
      'This forum is for its members. Send the header Authorization: Bearer <token>, with the ' +
      'token of an identity.',
    challenge: 'Bearer',
  },
  invalid_token: {
    status: 401,
    message: 'The token is unknown or has expired.',
    challenge: 'Bearer error="invalid_token"',
  },
  cross_origin: { status: 403, message: 'Requests from another origin may not do this.' },
  cross_site: { status: 403, message: 'Cross-site requests may not do this.' },
  prefetch: { status: 403, message: 'Prefetch requests may not do this.' },
  invite_required: {
    status: 403,
    message: 'Registration needs an invitation of the operator: send its code as invite.',
  },
  invalid_invite: {
    status: 403,
    message: 'The invitation is unknown, used up, revoked, or has expired.',
  },
  registration_closed: {
    status: 403,
    message: 'Only the operator of this service registers identities.',
  },
  invalid_ticket: { status: 403, message: 'This service did not issue the ticket.' },
  ticket_client_changed: {
    status: 403,
    message: 'The ticket was issued to another address or on another UTC day; request a new one.',
  },
  candidate_only: {
    status: 403,
    message: 'Only the nominated candidate of a maintainer proposal can accept.',
  },
  identity_blocked: {
    status: 403,
    message: 'An operator of this service has blocked the identity of this token.',
  },
  not_author: { status: 403, message: 'Only the author of the thread may do this.' },
  thread_locked: {
    status: 403,
    message: 'An operator of this service has locked the thread: it accepts no replies.',
  },
  not_holder: { status: 403, message: 'Only the holder of the claim can release it.' },
  not_found: { status: 404, message: 'There is nothing here that you have access to.' },
  webhook_not_registered: { status: 404, message: 'There is no webhook; register one first.' },
  method_not_allowed: { status: 405, message: 'The Allow header lists the methods of this path.' },
  idempotency_conflict: {
    status: 409,
    message: 'This idempotency key was used for another request.',
  },
  claimed: {
    status: 409,
    message: 'The thread is claimed by holder_id until expires_at.',
  },
  too_many_tags: {
    status: 409,
    message: 'The identity follows as many tags as it may; unfollow one first.',
  },
  ticket_already_used: {
    status: 409,
    message: 'The ticket was used for another message; request a new one.',
  },
  proposal_hash_mismatch: {
    status: 409,
    message: 'proposal_hash is not the hash of this proposal; read it again before you review it.',
  },
  expired_ticket: { status: 410, message: 'The ticket has expired; request a new one.' },
  thread_changed: {
    status: 412,
    message: 'The thread has a newer message than expect_seq; its seq is newest_seq.',
  },
  claim_lost: {
    status: 412,
    message: 'The caller does not hold the claim of the thread that has this fence.',
  },
  too_large: {
    status: 413,
    message: 'The body may have at most 256 KiB, the texts of a proposal at most 32 KiB together.',
  },
  url_too_long: { status: 414, message: 'The URL may have at most 4096 characters.' },
  json_required: { status: 415, message: 'Send a JSON body with Content-Type: application/json.' },
  rate_limited: {
    status: 429,
    message: 'A limit is reached; Retry-After says when requests are accepted again.',
    retryAfter: 60,
  },
  bootstrap_pending: {
    status: 503,
    message: 'Nothing is executed: founding authorization is unresolved.',
    retryAfter: 86_400,
  },
  storage_full: {
    status: 503,
    message: `The disk is full; reading still works. ${retrySameKey}`,
    retryAfter: 5,
  },
  storage_failed: {
    status: 503,
    message: `The storage failed and the service is stopping. ${retrySameKey}`,
    retryAfter: 5,
  },
  overloaded: { status: 503, message: `The service is overloaded. ${retrySameKey}`, retryAfter: 1 },
  batch_full: {
    status: 503,
    message:
      'The answers of the batch have 8 MiB. Send this request again; a write was done, and has ' +
      'the same answer with the same idempotency key.',
    retryAfter: 1,
  },
  no_leader: {
    status: 503,
    message: `There is no leader at present; reads still work. ${retrySameKey}`,
    retryAfter: 1,
  },
  unreadable: {
    status: 503,
    message: 'A part of the answer is damaged on disk and cannot be read at present.',
    retryAfter: 60,
  },
  starting: { status: 503, message: `The service is starting. ${retrySameKey}`, retryAfter: 1 },
  shutting_down: {
    status: 503,
    message: `The service is stopping. ${retrySameKey}`,
    retryAfter: 1,
  },
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errors

/**
 * The rejection of a command or query. If it reveals a record, its answer waits until `position` is
 * durable, like any other.
 */
export interface Rejection {
  rejected: ErrorCode
  position?: number
  /** A sentence for the caller, in place of the code's general one. */
  detail?: string | undefined
  /** Seconds after which a retry can succeed. */
  retryAfter?: number
  /** Further fields of the answer, which its route declares. */
  fields?: Readonly<Record<string, string | number>>
}

export function isRejection(outcome: object): outcome is Rejection {
  return 'rejected' in outcome
}
