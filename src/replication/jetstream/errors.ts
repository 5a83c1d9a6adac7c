// What errors of the client mean: a refusal of the server that stays, or a call whose outcome is
// unknown and that can be made again.

import { JetStreamApiError } from '@nats-io/jetstream'
import { StreamGone, StreamUnavailable } from '../log-stream.ts'

// Codes of the servers' list of errors (nats-server, server/errors.json).
export const wrongLastSequence = 10071
const wrongLastMessageId = 10070
export const streamNotFound = 10059
export const noMessageFound = 10037
const fullCodes = new Set([10002, 10023, 10047, 10077])
// No leader, or the servers restart: the same request succeeds later.
const passingCodes = new Set([10005, 10008, 10009])
// Too few servers: for the time being, as while they start, or for good.
const tooFewCodes = new Set([10005, 10074])

/** The code of the server's answer; 0 if the error is no answer. */
export function apiCode(error: unknown): number {
  return error instanceof JetStreamApiError ? error.code : 0
}

/** Whether the newest message is another one than the one expected. */
export function isOutOfPlace(error: unknown): boolean {
  return apiCode(error) === wrongLastSequence || apiCode(error) === wrongLastMessageId
}

/** Whether there are fewer servers than copies to keep. */
export function isTooFew(error: unknown): boolean {
  return tooFewCodes.has(apiCode(error)) || tooFewCodes.has(apiCode((error as Error).cause))
}

/** Whether the servers that were asked run without JetStream, or do not run it yet. */
export function hasNoJetStream(error: unknown): boolean {
  const { cause } = error as Error
  return cause instanceof Error && cause.name === 'JetStreamNotEnabled' // not exported
}

/** Whether there is no room: on the servers, of the account, or within the stream's limits. */
export function isFull(error: unknown): boolean {
  return fullCodes.has(apiCode(error))
}

/** Runs a call; an error that may pass becomes `StreamUnavailable`, also that of what is gone. */
export async function available<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    const code = apiCode(error)
    if (code === streamNotFound) {
      throw new StreamGone('the stream was removed from the servers', { cause: error })
    }
    if (code !== 0 && !passingCodes.has(code)) throw error
    throw new StreamUnavailable(`the stream: ${(error as Error).message}`, { cause: error })
  }
}
