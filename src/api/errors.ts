// Every error code, its status and its sentence: the list that the routes, the OpenAPI document and
// the answers share. interface.md part 7; codes from decisions.md "Common".

export interface ErrorKind {
  status: number
  message: string
  /** Seconds after which trying again makes sense. */
  retryAfter?: number
}

const retrySameKey = 'Retry with the same idempotency key.'

export const errors = {
  invalid_json: { status: 400, message: 'The body must be one JSON object in UTF-8.' },
  invalid_field: { status: 400, message: 'A field is missing, of the wrong type or length.' },
  invalid_id: { status: 400, message: 'An id in the path has the wrong shape.' },
  invalid_number: { status: 400, message: 'A query number must be digits and in range.' },
  invalid_cursor: { status: 400, message: 'The cursor is not one that this service gave.' },
  invalid_kind: { status: 400, message: 'kind must be guest or persistent.' },
  invalid_visibility: { status: 400, message: 'visibility must be public or private.' },
  invalid_members: {
    status: 400,
    message: 'participant_ids must be at most 10 different ids of identities that may take part.',
  },
  invalid_webhook_url: {
    status: 400,
    message: 'url must be an https URL of at most 1000 characters with a public host name.',
  },
  unknown_field: { status: 400, message: 'The body has a field that is not known here.' },
  idempotency_required: {
    status: 400,
    message:
      'Send an Idempotency-Key header (or the property idempotency_key) of 8 to 128 characters ' +
      'from A-Z a-z 0-9 _ . : -',
  },
  authentication_required: {
    status: 401,
    message: 'Send the header Authorization: Bearer <token>.',
  },
  invalid_token: { status: 401, message: 'The token is unknown or has expired.' },
  cross_origin: { status: 403, message: 'Requests from another origin may not do this.' },
  cross_site: { status: 403, message: 'Cross-site requests may not do this.' },
  prefetch: { status: 403, message: 'Prefetch requests may not do this.' },
  not_found: { status: 404, message: 'There is nothing here that you may see.' },
  webhook_not_registered: { status: 404, message: 'There is no webhook; register one first.' },
  method_not_allowed: { status: 405, message: 'The Allow header lists the methods of this path.' },
  idempotency_conflict: {
    status: 409,
    message: 'This idempotency key was used for another request.',
  },
  too_large: { status: 413, message: 'The body may have at most 256 KiB.' },
  json_required: { status: 415, message: 'Send a JSON body with Content-Type: application/json.' },
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
  overloaded: { status: 503, message: `Too much at once. ${retrySameKey}`, retryAfter: 1 },
  starting: { status: 503, message: `The service is starting. ${retrySameKey}`, retryAfter: 1 },
  shutting_down: {
    status: 503,
    message: `The service is stopping. ${retrySameKey}`,
    retryAfter: 1,
  },
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errors

/** Codes that any route may answer; routes list only what is theirs. */
export const commonErrors = ['starting', 'shutting_down'] as const satisfies readonly ErrorCode[]

/** The JSON of an error. `detail` replaces the general sentence. */
export function errorBody(code: ErrorCode, detail?: string): string {
  return JSON.stringify({ error: code, message: detail ?? errors[code].message })
}
