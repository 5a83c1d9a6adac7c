// Following a thread, and ending that. Both can be repeated without effect, and unsubscribing
// reveals nothing about threads that the caller cannot see. docs/interface.md, "Subscriptions and
// the feed".

import { commit, type Forum, type Given, type Refusal, refuseWrite, timeOf } from './forum.ts'

export interface Subscription {
  caller: number
  threadId: string
}

export function subscribe(forum: Forum, { caller, threadId }: Subscription): Given | Refusal {
  const { state } = forum
  const thread = state.visibleThread(caller, threadId)
  if (thread === -1) return { refused: 'not_found' }
  if (state.subscriptions.isSubscribed(caller, thread)) {
    return { position: state.subscriptions.changedAt(caller, thread) }
  }
  const refusal = refuseWrite(forum)
  if (refusal !== null) return refusal
  const at = timeOf(forum)
  return { position: commit(forum, { type: 'thread.subscribed', at, by: caller, thread }) }
}

export function unsubscribe(forum: Forum, { caller, threadId }: Subscription): Given | Refusal {
  const { state } = forum
  const thread = state.visibleThread(caller, threadId)
  if (thread === -1) return { position: 0 }
  if (!state.subscriptions.isSubscribed(caller, thread)) {
    return { position: state.subscriptions.changedAt(caller, thread) }
  }
  const refusal = refuseWrite(forum)
  if (refusal !== null) return refusal
  const at = timeOf(forum)
  return { position: commit(forum, { type: 'thread.unsubscribed', at, by: caller, thread }) }
}
