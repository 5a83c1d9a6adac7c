// Whatever was reported as expired stays expired: a record no older than the expiry is in the log
// before the rejection is sent, and forum time never goes back behind a record, not even after a
// restart. One record covers everything that expired before it, so callers cannot cause many.

import { notableMs } from './clock.ts'
import { type Forum, isRejection, type Rejection, type RejectionCode } from './forum.ts'
import { admitOwn, commit } from './write.ts'

/** Rejects because something expired at `expiresAt`; the answer waits until that is durable. */
export function rejectExpired(forum: Forum, rejected: RejectionCode, expiresAt: number): Rejection {
  const { state } = forum
  if (state.now < expiresAt) recordTime(forum)
  return { rejected, position: state.position }
}

/**
 * Records forum time while the system clock is behind it; a timer calls it. A restart continues
 * from the last record's time, so that no part of a delay has to be waited for twice.
 */
export function keepTime(forum: Forum): void {
  const { state, stamps } = forum
  if (stamps.clock.behindMs(state.now) >= notableMs) recordTime(forum)
}

/** Commits a record that expires no further guest: it carries nothing but its time. */
export function recordTime(forum: Forum): void {
  const permit = admitOwn(forum)
  if (isRejection(permit)) return
  const { guestsExpired: before } = forum.state
  commit(forum, permit, { type: 'guests.expired', at: permit.at, before })
}
