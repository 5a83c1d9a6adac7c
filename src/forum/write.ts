// How a command writes: it asks for a permit, then commits one record.
//
//   admit ──▶ quota ──▶ health of the log ──▶ room ──▶ Permit ──▶ commit ──▶ log, then state
//
// W1. `commit` takes a permit, and only `admit` and `admitOwn` make one: no record is made without
//     these questions. They are asked after the receipt of an idempotency key, so that a replay is
//     answered whatever they would say, and never counts.
// W2. A permit holds for the command that asked for it: nothing awaits between the two.

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { Action } from '../state/quotas.ts'
import { apply } from './apply.ts'
import { type Forum, type Rejection, timeOf } from './forum.ts'
import { networkOf } from './network.ts'
import { encode, type ForumRecord } from './records.ts'

const clientHexLength = 16

class Leave {
  /** The time of the record, in milliseconds since the epoch. */
  readonly at: number
  /**
   * What the record says of the caller's address: a hash of its network with this node's own key,
   * and only while a limit needs it; otherwise an empty string.
   */
  readonly client: string
  /** Keeps other objects from being taken for a permit. */
  private declare readonly isPermit: true

  constructor(at: number, client: string) {
    this.at = at
    this.client = client
  }
}

/** Leave to commit one record now. */
export type Permit = Leave

/** Who wants to write. */
export interface Writer {
  /** The number of an identity, or `nobody`. */
  caller: number
  /** The caller's address; '' where no limit needs it. */
  address: string
}

/**
 * Whether a caller can write now. `action` names the limits that apply; null: none does. Rejects
 * with `rate_limited`, or says that the log or the node cannot take more.
 */
export function admit(forum: Forum, action: Action | null, writer: Writer): Permit | Rejection {
  const at = timeOf(forum)
  let client = ''
  if (action !== null) {
    const { quotas, position } = forum.state
    if (quotas.needsClient(action)) client = clientOf(forum, writer.address)
    const waitMs = quotas.waitMs(action, { by: writer.caller, client, at })
    // It tells of records that may not be durable yet.
    if (waitMs > 0) {
      return { rejected: 'rate_limited', position, retryAfter: Math.ceil(waitMs / 1000) }
    }
  }
  return logRejection(forum) ?? forum.admission?.refusal() ?? new Leave(at, client)
}

/** Whether the node can write what no caller is waiting for: the log alone decides. */
export function admitOwn(forum: Forum): Permit | Rejection {
  return logRejection(forum) ?? new Leave(timeOf(forum), '')
}

/**
 * The one place where state changes while serving. Appends the record to the log, which fixes its
 * position, and applies it. Returns the position.
 */
export function commit({ journal, state }: Forum, permit: Permit, record: ForumRecord): number {
  assert(permit.at === record.at, 'W2: a permit is for a record of its own time')
  const position = journal.append(encode(record))
  apply(state, position, record) // recovery calls this too; it cannot reject
  assert(state.position === position, 'state and log advance together')
  return position
}

function logRejection({ journal }: Forum): Rejection | null {
  return journal.health === 'ok' ? null : { rejected: journal.health }
}

function clientOf({ addressKey }: Forum, address: string): string {
  const network = networkOf(address)
  return createHmac('sha256', addressKey).update(network).digest('hex').slice(0, clientHexLength)
}
