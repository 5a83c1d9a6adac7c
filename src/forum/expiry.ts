// What has been called expired stays so. Its time is in the log before a caller hears of it, and
// time never goes back behind a record: not in this process, and not after a restart, whatever the
// clock says then. One record does for all that ended before it, so callers cannot make many.

import {
  commit,
  type Forum,
  type Refusal,
  type RefusalCode,
  refuseRecord,
  timeOf,
} from './forum.ts'

/** Says no because of what ended at `expiresAt`; the answer waits until that is durable. */
export function refuseEnded(forum: Forum, refused: RefusalCode, expiresAt: number): Refusal {
  const { state } = forum
  if (state.now < expiresAt && refuseRecord(forum) === null) {
    // No guest more has expired by it: all that it says is its time.
    commit(forum, { type: 'guests.expired', at: timeOf(forum), before: state.guestsExpired })
  }
  return { refused, position: state.position }
}
