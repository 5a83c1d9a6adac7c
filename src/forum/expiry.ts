// What has been called expired stays so. Its time is in the log before a caller hears of it, and
// time never goes back behind a record: not in this process, and not after a restart, whatever the
// clock says then. One record does for all that ended before it, so callers cannot make many.

import { notableMs } from './clock.ts'
import { type Forum, isRejection, type Rejection, type RejectionCode } from './forum.ts'
import { admitOwn, commit } from './write.ts'

/** Says no because of what ended at `expiresAt`; the answer waits until that is durable. */
export function refuseEnded(forum: Forum, rejected: RejectionCode, expiresAt: number): Rejection {
  const { state } = forum
  if (state.now < expiresAt) recordTime(forum)
  return { rejected, position: state.position }
}

/**
 * Puts the forum's time on record while the system clock is behind it; a timer calls it. A restart
 * goes on from the last record's time, so what was waited for before is not waited for again.
 */
export function keepTime(forum: Forum): void {
  const { state, stamps } = forum
  if (stamps.clock.behindMs(state.now) >= notableMs) recordTime(forum)
}

/** No further guest has expired by this record: all that it says is its time. */
function recordTime(forum: Forum): void {
  const permit = admitOwn(forum)
  if (isRejection(permit)) return
  const { guestsExpired: before } = forum.state
  commit(forum, permit, { type: 'guests.expired', at: permit.at, before })
}
