// Claiming a thread, renewing the claim and releasing it. docs/interface.md, "Claims".
//
// H1. Whether a claim is over is decided by forum time, even if no record says so yet. An answer
//     that reports that a claim is over ends it by a record, and is refused if the log accepts
//     none: whoever reads the thread afterwards must not see the claim.

import { timeOf } from '../../kernel/clock.ts'
import { detailsOf } from '../../kernel/receipts.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import type { State } from '../state.ts'
import { admit, commit, recordTime, replayOf } from '../write.ts'
import { claimsMax } from './table.ts'

export interface NewClaim {
  caller: number
  threadId: string
  /** The time until the claim expires. */
  seconds: number
  /** Only the claim with this fence is renewed. By default, a thread that is free is claimed. */
  fence?: number | undefined
  key: string
}

export interface GrantedClaim extends Positioned {
  expiresAt: number
  fence: number
  replayed: boolean
}

/** Claims a thread, or renews the caller's claim. */
export function claimThread(forum: Forum, command: NewClaim): GrantedClaim | Rejection {
  const { state } = forum
  const { caller, threadId, seconds, fence, key } = command
  const thread = state.visibleThread(caller, threadId)
  if (thread === -1) return { rejected: 'not_found' }

  const details = detailsOf({ threadId, seconds, fence })
  const receipt = state.receipts.find(caller, key)
  if (receipt !== -1) return replayClaim(state, receipt, { ...command, details })
  if (!state.threads.mayReply(thread)) {
    return { rejected: 'thread_locked', position: changedAt(state, thread) }
  }
  const lost = fence === undefined ? null : rejectLost(forum, thread, { caller, fence })
  if (lost !== null) return lost
  const held = state.claims.of(thread)
  const leftMs = held === null ? 0 : held.expiresAt - timeOf(forum)
  if (held !== null && held.holder !== caller && leftMs > 0) {
    const holder = state.identities.id(held.holder)
    const detail = `The thread is claimed by ${holder} for another ${Math.ceil(leftMs / 1000)} s.`
    const fields = { holder_id: holder, expires_at: held.expiresAt }
    return { rejected: 'claimed', position: changedAt(state, thread), detail, fields }
  }
  if (held === null && state.claims.count >= claimsMax) {
    return { rejected: 'overloaded', position: state.position, detail: tooMany }
  }

  const permit = admit(forum, 'changes', { caller, address: '' })
  if (isRejection(permit)) return permit
  const { at } = permit
  // The clock has moved since the claim was looked at, which may be over now, or not yet.
  const isHeldNow = held !== null && held.expiresAt > at
  if (isHeldNow !== leftMs > 0) return claimThread(forum, command)
  const expiresAt = endOf(state, caller, at, seconds)
  const record = {
    type: 'thread.claimed',
    at,
    by: caller,
    thread,
    expiresAt,
    key,
    details,
  } as const
  const position = commit(forum, permit, record)
  return { position, expiresAt, fence: state.claims.of(thread)!.fence, replayed: false }
}

const tooMany = `The limit of ${claimsMax} claims that are held at a time is reached.`

/** Returns the answer of the time when the key was used, whatever has become of the claim. */
function replayClaim(
  state: State,
  receipt: number,
  { caller, seconds, details }: NewClaim & { details: number },
): GrantedClaim | Rejection {
  const { receipts } = state
  const isSame = receipts.operation(receipt) === 'claim' && receipts.details(receipt) === details
  const expiresAt = endOf(state, caller, receipts.time(receipt), seconds)
  return replayOf(state, receipt, isSame, { expiresAt, fence: receipts.subject(receipt) })
}

/** Returns when a claim made at `at` expires: a guest's when the guest does, at the latest. */
function endOf({ identities }: State, holder: number, at: number, seconds: number): number {
  const ends = at + seconds * 1000
  const holderEnds = identities.actors.get(holder, 'expiresAt')
  return holderEnds === 0 ? ends : Math.min(ends, holderEnds)
}

/** Releases the caller's claim. If nobody holds a claim, nothing is done. */
export function releaseClaim(
  forum: Forum,
  { caller, threadId }: Pick<NewClaim, 'caller' | 'threadId'>,
): Positioned | Rejection {
  const { state } = forum
  const thread = state.visibleThread(caller, threadId)
  if (thread === -1) return { rejected: 'not_found' }
  const held = state.claims.of(thread)
  if (held !== null && timeOf(forum) < held.expiresAt) {
    if (held.holder !== caller)
      return { rejected: 'not_holder', position: changedAt(state, thread) }
    const permit = admit(forum, null, { caller, address: '' })
    if (isRejection(permit)) return permit
    const record = { type: 'claim.released', at: permit.at, by: caller, thread } as const
    return { position: commit(forum, permit, record) }
  }
  const refused = held === null ? null : recordTime(forum) // H1
  return refused ?? { position: changedAt(state, thread) }
}

/**
 * Rejects a request unless the caller holds the claim of the thread that has this fence: with
 * `claim_lost`, or with why the log cannot accept that the claim is over.
 */
export function rejectLost(
  forum: Forum,
  thread: number,
  { caller, fence }: { caller: number; fence: number },
): Rejection | null {
  const { state } = forum
  const held = state.claims.of(thread)
  if (held === null || held.holder !== caller || held.fence !== fence) {
    return { rejected: 'claim_lost', position: changedAt(state, thread) }
  }
  if (timeOf(forum) < held.expiresAt) return null
  return recordTime(forum) ?? { rejected: 'claim_lost', position: changedAt(state, thread) } // H1
}

/** How long the expiry of claims may go unnoticed: no claim is shorter. */
const checkMs = 1_000

/**
 * Records that claims have expired, if one is due. Returns after how many milliseconds it must be
 * called again, so that each claim expires at its time.
 */
export function recordDueClaims(forum: Forum): number {
  const { claims } = forum.state
  const at = timeOf(forum)
  if (claims.nextExpiry <= at) recordTime(forum)
  const nextMs = claims.nextExpiry - at
  return nextMs > 0 ? Math.min(nextMs, checkMs) : checkMs // recording has failed: try again
}

/** Returns the position of the last change of the thread, its claim included. */
function changedAt({ threads }: State, thread: number): number {
  return threads.actors.columns.changedPosition.get(thread)
}
