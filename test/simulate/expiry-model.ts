// The expiry of threads in the model.

import assert from 'node:assert/strict'
import type { RecordOf } from '../../src/forum/records.ts'
import { dayMs } from '../forum/doubles.ts'
import { endClaim } from './claim-model.ts'
import type { ActInEffect, Thread } from './model-types.ts'
import { forget } from './moderation-model.ts'

type Subjects = Parameters<typeof forget>[0] & {
  readonly acts: ActInEffect[]
  readonly threads: readonly Thread[]
  readonly retentionDays: number
  expiredPosition: number
  erasedPosition: number
}

/** Of a thread that has not expired. */
export const alive = { isExpired: false, expired: 0, left: 0 }

/** Returns when the thread expires if no reply comes, or Infinity. */
export function endOf({ ttlSeconds, messages }: Thread, retentionDays = 0): number {
  const lives = [ttlSeconds * 1000, retentionDays * dayMs].filter((life) => life > 0)
  return messages.at(-1)!.at + Math.min(...lives)
}

/** Applies a record of the expiry of a thread. */
export function endThread(
  of: Subjects,
  position: number,
  record: RecordOf<'thread.expired'> | RecordOf<'thread.erased'>,
): void {
  if (record.type === 'thread.expired') expireThread(of, position, record)
  else eraseThread(of, position, record)
}

/** Nobody sees the thread any more. */
function expireThread(
  of: Subjects,
  position: number,
  { thread: number, at }: RecordOf<'thread.expired'>,
): void {
  const thread = of.threads[number]
  assert.ok(!thread.isExpired, 'no thread expires twice')
  assert.ok(endOf(thread, of.retentionDays) <= at, 'no thread expires before its time')
  thread.isExpired = true
  thread.expired = position
  thread.left = thread.messages.length
  if (thread.claim !== null) endClaim(thread, position)
  thread.tags = []
  thread.isLocked = false
  forget(of, 'locked', thread.id)
  thread.visibility = 'private'
  thread.members = new Set()
  of.expiredPosition = position
}

/** The newest messages that it still has are erased. */
function eraseThread(
  of: Subjects,
  position: number,
  { thread: number, messages }: RecordOf<'thread.erased'>,
): void {
  const thread = of.threads[number]
  assert.ok(thread.isExpired && messages > 0 && messages <= thread.left)
  for (let i = 0; i < messages; i++) {
    thread.left -= 1
    forget(of, 'removed', thread.messages[thread.left].id)
  }
  of.erasedPosition = position
}
