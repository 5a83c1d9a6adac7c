// How far an identity has read its feed: a position that the server keeps for it.
// docs/interface.md, "What you have read".

import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { admit, commit } from '../write.ts'

export interface Reading {
  caller: number
  /** The position up to which the feed is read. */
  through: number
}

export interface ReadPlace extends Positioned {
  /** Everything up to this position is read; 0 if nothing was ever marked as read. */
  through: number
}

/** Moves the caller's place forward; does nothing if it is there already, or further. */
export function markRead(forum: Forum, { caller, through }: Reading): ReadPlace | Rejection {
  const { state } = forum
  if (through > state.position) {
    const detail = 'through is beyond the newest seq.'
    return { rejected: 'invalid_field', detail }
  }
  const isAhead = state.feeds.actors.may(caller, { type: 'read', position: 0, through })
  if (!isAhead) return readPlace(forum, { caller })
  const permit = admit(forum, 'changes', { caller, address: '' })
  if (isRejection(permit)) return permit
  const record = { type: 'feed.read', at: permit.at, by: caller, through } as const
  return { position: commit(forum, permit, record), through }
}

export function readPlace({ state }: Forum, { caller }: Pick<Reading, 'caller'>): ReadPlace {
  const { readThrough, readPosition } = state.feeds.actors.columns
  return { position: readPosition.get(caller), through: readThrough.get(caller) }
}
