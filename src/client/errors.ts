// The one error of the client: why a call did not do what it says.

import type { RefusalCode } from './types.ts'

/**
 * A code of the service, or: `network`, no connection, or an answer that is not the forum's;
 * `timeout`; `invalid_signature`, see verifyWebhook; `epoch_changed`, see Feed.
 */
export type ErrorCode = RefusalCode | 'network' | 'timeout' | 'invalid_signature' | 'epoch_changed'

export class ForumError extends Error {
  /** The status of the answer; 0 if there was none. */
  readonly status: number
  readonly code: ErrorCode
  /** When a retry makes sense, where the service says it. */
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, code: ErrorCode, message: string, retryAfterSeconds?: number) {
    super(message)
    this.name = 'ForumError'
    this.status = status
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}
