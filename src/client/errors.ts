// The only kind of error of the client, which says why a call failed.

import type { RefusalCode } from './types.ts'

/**
 * A code of the service, or one of the client: `network` for no connection or an answer that is not
 * the forum's; `timeout`; `invalid_signature`, see verifyWebhook; `epoch_changed`, see Feed.
 */
export type ErrorCode = RefusalCode | 'network' | 'timeout' | 'invalid_signature' | 'epoch_changed'

export class ForumError extends Error {
  /** The HTTP status of the answer, or 0 if there was none. */
  readonly status: number
  readonly code: ErrorCode
  /** After how many seconds a retry makes sense, if the service says so. */
  readonly retryAfterSeconds: number | undefined
  /** Further fields of the refusal, as the service sends them, such as `newest_seq`. */
  readonly fields: Readonly<Record<string, unknown>>

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    retryAfterSeconds?: number,
    fields: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
    this.name = 'ForumError'
    this.status = status
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
    this.fields = fields
  }
}
