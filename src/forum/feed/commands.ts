// Subscribing to a thread or a tag, and unsubscribing; marking the feed as read. All are
// idempotent, and unsubscribing reveals nothing about threads that the caller cannot see.
// docs/interface.md, "Subscriptions and the feed", "Following tags" and "What you have read".

import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { admit, commit } from '../write.ts'

interface Subscription {
  caller: number
  threadId: string
}

export function subscribe(
  forum: Forum,
  { caller, threadId }: Subscription,
): Positioned | Rejection {
  const { state } = forum
  const thread = state.visibleThread(caller, threadId)
  if (thread === -1) return { rejected: 'not_found' }
  if (!state.subscriptions.mayFollow(caller, thread)) {
    return { position: state.subscriptions.changedAt(caller, thread) }
  }
  const permit = admit(forum, 'changes', { caller, address: '' })
  if (isRejection(permit)) return permit
  const record = { type: 'thread.subscribed', at: permit.at, by: caller, thread } as const
  return { position: commit(forum, permit, record) }
}

export function unsubscribe(
  forum: Forum,
  { caller, threadId }: Subscription,
): Positioned | Rejection {
  const { state } = forum
  const thread = state.visibleThread(caller, threadId)
  if (thread === -1) return { position: 0 }
  if (!state.subscriptions.mayUnfollow(caller, thread)) {
    return { position: state.subscriptions.changedAt(caller, thread) }
  }
  const permit = admit(forum, 'changes', { caller, address: '' })
  if (isRejection(permit)) return permit
  const record = { type: 'thread.unsubscribed', at: permit.at, by: caller, thread } as const
  return { position: commit(forum, permit, record) }
}

interface TagSubscription {
  caller: number
  tag: string
}

export function subscribeTag(
  forum: Forum,
  { caller, tag }: TagSubscription,
): Positioned | Rejection {
  const { feeds } = forum.state
  const position = feeds.actors.columns.changedPosition.get(caller)
  if (isFollowed(forum, caller, tag)) return { position }
  const mayFollow = feeds.actors.may(caller, { type: 'tagFollowed', position })
  if (!mayFollow) return { rejected: 'too_many_tags', position }
  const permit = admit(forum, 'changes', { caller, address: '' })
  if (isRejection(permit)) return permit
  const record = { type: 'tag.subscribed', at: permit.at, by: caller, tag } as const
  return { position: commit(forum, permit, record) }
}

export function unsubscribeTag(
  forum: Forum,
  { caller, tag }: TagSubscription,
): Positioned | Rejection {
  if (!isFollowed(forum, caller, tag)) {
    return { position: forum.state.feeds.actors.columns.changedPosition.get(caller) }
  }
  const permit = admit(forum, 'changes', { caller, address: '' })
  if (isRejection(permit)) return permit
  const record = { type: 'tag.unsubscribed', at: permit.at, by: caller, tag } as const
  return { position: commit(forum, permit, record) }
}

function isFollowed({ state }: Forum, caller: number, tag: string): boolean {
  const number = state.tags.find(tag)
  return number !== -1 && state.feeds.followsTag(caller, number)
}

interface Reading {
  caller: number
  /** The position up to which the feed is read. */
  through: number
}

interface ReadPlace extends Positioned {
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
