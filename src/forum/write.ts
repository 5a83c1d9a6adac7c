// How a command writes: it obtains a permit, then commits one record. Also: what a repeated request
// is answered, and how forum time is recorded.
//
//   admit ──▶ quota ──▶ health of the log ──▶ room ──▶ Permit ──▶ commit ──▶ log, then state
//
// W1. `commit` takes a permit, and only `admit` and `admitOwn` make one: no record is committed
//     without these checks. They come after the check of the idempotency receipt, so that a replay
//     is answered regardless of limits, and never counts against them.
// W2. A permit is valid only for the command that obtained it: nothing awaits before `commit`.
// W3. A command that has noted missing text returns before `commit`, because it will run again
//     (kernel/text/cold-reads.ts).

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { notableMs, timeOf } from '../kernel/clock.ts'
import { networkOf, nobody } from '../kernel/network.ts'
import type { Action } from '../kernel/quotas.ts'
import type { ReceiptOperation } from '../kernel/receipts.ts'
import { type ErrorCode, isRejection, type Rejection } from '../kernel/rejection.ts'
import { applyServing } from './apply.ts'
import type { Forum } from './forum.ts'
import { encode, type ForumRecord } from './records.ts'
import type { State } from './state.ts'

const clientHexLength = 16

class Admitted {
  /** The time of the record, in milliseconds since the epoch. */
  readonly at: number
  /**
   * What the record keeps of the caller's address: a hash of its network with this node's own key
   * if a limit needs it; otherwise an empty string.
   */
  readonly client: string
  /** Makes the type nominal, so that no other object passes for a permit. */
  private declare readonly isPermit: true

  constructor(at: number, client: string) {
    this.at = at
    this.client = client
  }
}

/** The permission to commit one record now. */
export type Permit = Admitted

interface Requester {
  /** The number of an identity, or `nobody`. */
  caller: number
  /** The caller's address, or '' if no limit needs it. */
  address: string
}

/**
 * Returns a permit for a caller's write, or a rejection: `rate_limited`, or the reason why the log
 * or the node cannot accept more. `action` selects the rate limits that apply, together with those
 * on mentions if the record has any; null: no rate limit applies.
 */
export function admit(
  forum: Forum,
  action: Action | null,
  requester: Requester,
  mentions = 0,
): Permit | Rejection {
  const at = timeOf(forum)
  let client = ''
  if (action !== null) {
    const { quotas, position } = forum.state
    if (quotas.needsClient(action)) client = clientOf(forum, requester.address)
    const event = { by: requester.caller, client, at }
    const mentionsMs = mentions === 0 ? 0 : quotas.waitMs('mentions', event, mentions)
    const waitMs = Math.max(quotas.waitMs(action, event), mentionsMs)
    // The rejection reveals records that may not be durable yet.
    if (waitMs > 0) {
      if (requester.caller !== nobody) forum.refusedCallers.count(requester.caller)
      return { rejected: 'rate_limited', position, retryAfter: Math.ceil(waitMs / 1000) }
    }
  }
  return logRejection(forum) ?? forum.admission?.refusal() ?? new Admitted(at, client)
}

/**
 * Returns a permit for a record that no caller requested, or a rejection: only the health of the
 * log matters.
 */
export function admitOwn(forum: Forum): Permit | Rejection {
  return logRejection(forum) ?? new Admitted(timeOf(forum), '')
}

/**
 * Appends the record to the log, which assigns its position, and applies it. Returns the position.
 */
export function commit(forum: Forum, permit: Permit, record: ForumRecord): number {
  const { journal, coldReads } = forum
  assert(permit.at === record.at, 'W2: a permit is for a record of its own time')
  assert(!coldReads.isNeeded, 'W3: a decision is made with all the text that it needs')
  const position = journal.append(encode(record))
  applyServing(forum, position, record) // it cannot reject
  return position
}

function logRejection({ journal }: Forum): Rejection | null {
  return journal.health === 'ok' ? null : { rejected: journal.health }
}

function clientOf({ addressKey }: Forum, address: string): string {
  const network = networkOf(address)
  return createHmac('sha256', addressKey).update(network).digest('hex').slice(0, clientHexLength)
}

const positionOf: Record<ReceiptOperation, (state: State, subject: number) => number> = {
  thread: ({ messages }, message) => messages.seq(message),
  reply: ({ messages }, message) => messages.seq(message),
  // The webhook may have been removed. The newest record is at least as new as any registration.
  webhook: ({ position }) => position,
  proposal: ({ proposals }, proposal) => proposals.seq(proposal),
  review: ({ reviews }, review) => reviews.seq(review),
  // The claim may have ended.
  claim: ({ position }) => position,
}

/** Returns the position of the record that the receipt's key was used for. */
export function usedAt(state: State, receipt: number): number {
  return positionOf[state.receipts.operation(receipt)](state, state.receipts.subject(receipt))
}

/** Returns what the key made before, or a conflict unless the request is the same. */
export function replayOf<Made extends object>(
  state: State,
  receipt: number,
  isSame: boolean,
  made: Made,
): (Made & { position: number; replayed: true }) | Rejection {
  const position = usedAt(state, receipt)
  return isSame
    ? { ...made, position, replayed: true }
    : { rejected: 'idempotency_conflict', position }
}

/**
 * Rejects a request because something expired at `expiresAt`. The answer waits until a record of
 * that time or later is durable: forum time never goes back behind a record, not even after a
 * restart, so what was reported as expired stays expired. One record covers everything that expired
 * before it, so callers cannot cause many.
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
