// Records of following a thread, and no longer.

import type { State } from '../../state/state.ts'
import { kind, type Timed } from './kind.ts'

export interface ThreadSubscribed extends Timed {
  type: 'thread.subscribed'
  by: number
  thread: number
}

export interface ThreadUnsubscribed extends Timed {
  type: 'thread.unsubscribed'
  by: number
  thread: number
}

export const subscriptionRecords = {
  'thread.subscribed': kind<ThreadSubscribed>({
    code: 5,
    version: 1,
    fields: ['by', 'thread'],
    apply: (state, position, { by, thread }) => subscribe(state, by, thread, position),
  }),

  'thread.unsubscribed': kind<ThreadUnsubscribed>({
    code: 6,
    version: 1,
    fields: ['by', 'thread'],
    apply(state, position, { by, thread }) {
      if (!state.subscriptions.mayUnfollow(by, thread)) return
      state.subscriptions.unfollow(by, thread, position)
      state.wideFeeds.forget(by)
      state.webhooks.unfollow(by, thread)
    },
  }),
}

/** Has the identity follow the thread, unless it does already or has no feed (any more). */
export function subscribe(state: State, identity: number, thread: number, position: number): void {
  if (!state.subscriptions.mayFollow(identity, thread)) return
  state.subscriptions.follow(identity, thread, position)
  // The messages of a thread that begins now are newer than all that was looked at.
  if (state.threads.messageCount(thread) > 0) state.wideFeeds.forget(identity)
  state.webhooks.follow(identity, thread)
}
