// Subscribing to a thread and unsubscribing. Both are idempotent, and unsubscribing reveals nothing
// about threads that the caller cannot see. docs/interface.md, "Subscriptions and the feed".

import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { admit, commit } from '../write.ts'

export interface Subscription {
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
