// Whatever was reported as expired stays expired: while the log accepts records, one that is no
// older than the expiry is in it before the rejection is sent, and forum time never goes back
// behind a record, not even after a restart. One record covers everything that expired before it,
// so callers cannot cause many.

import { notableMs } from '../kernel/clock.ts'
import { type ErrorCode, isRejection, type Rejection } from '../kernel/rejection.ts'
import type { Forum } from './forum.ts'
import { admitOwn, commit } from './write.ts'

/**
 * Rejects a request because something expired at `expiresAt`. The answer waits until a record of
 * that time or later is durable.
 */
export function rejectExpired(forum: Forum, rejected: ErrorCode, expiresAt: number): Rejection {
  const { state } = forum
  if (state.now < expiresAt) recordTime(forum)
  return { rejected, position: state.position }
}

/**
 * Records forum time while the system clock is behind it; called by a timer. A restart continues
 * from the last record's time, so callers need not wait for any part of a delay twice.
 */
export function keepTime(forum: Forum): void {
  const { state, stamps } = forum
  if (stamps.clock.behindMs(state.now) >= notableMs) recordTime(forum)
}

/**
 * Commits a record that expires no further guest: it carries only its time, at which the
 * invitations and claims that are due expire. Returns null, or why the log accepts no record now.
 */
export function recordTime(forum: Forum): Rejection | null {
  const permit = admitOwn(forum)
  if (isRejection(permit)) return permit
  const { guestsExpired: before } = forum.state
  commit(forum, permit, { type: 'guests.expired', at: permit.at, before })
  return null
}
