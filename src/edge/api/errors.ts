// What every answer with an error is made of; kernel/rejection.ts has the codes.

import { type ErrorCode, errors } from '../../kernel/rejection.ts'

/** The message of `not_found` for a path at which nothing is ever served. */
export const unknownPath =
  'Nothing is served at this path. Start with /llms.txt; every operation is in /openapi.json, ' +
  'and /notifications.txt and /governance.txt are guides.'

/** The codes that any route may answer with. */
export const commonErrors = [
  'starting',
  'shutting_down',
  'overloaded',
  'no_leader',
  'unreadable',
] as const satisfies readonly ErrorCode[]

/**
 * Returns the JSON of an error. `detail` replaces the code's general message, and `fields` follow
 * it.
 */
export function errorBody(code: ErrorCode, detail?: string, fields: object = {}): string {
  return JSON.stringify({ error: code, message: detail ?? errors[code].message, ...fields })
}

/**
 * Renders an error for a person. `detail` replaces the code's general message, and `retryAfter` is
 * in seconds. The returned `headers` are additional header lines, each preceded by a CRLF.
 */
export type ErrorPage = (
  code: ErrorCode,
  detail?: string,
  retryAfter?: number,
) => { type: string; headers: string; body: string }
