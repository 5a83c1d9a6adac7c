// Records of what an identity does with its feed: it subscribes to a thread, unsubscribes, or marks
// what it has read.

import { kind, type Timed } from '../../kernel/record.ts'
import { feedTopic } from '../../kernel/topics.ts'
import type { State } from '../state.ts'

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

/** The identity has read its feed up to this position. */
export interface FeedRead extends Timed {
  type: 'feed.read'
  by: number
  through: number
}

export const subscriptionRecords = {
  'thread.subscribed': kind<ThreadSubscribed>({
    code: 5,
    version: 1,
    fields: ['by', 'thread'],
    apply(state, position, { at, by, thread }) {
      state.quotas.count('changes', { by, client: '', at })
      addSubscription(state, by, thread, position)
    },
  }),

  'thread.unsubscribed': kind<ThreadUnsubscribed>({
    code: 6,
    version: 1,
    fields: ['by', 'thread'],
    apply(state, position, { at, by, thread }) {
      state.quotas.count('changes', { by, client: '', at })
      state.subscriptions.unfollow(by, thread, position)
      state.webhooks.unfollow(by, thread)
    },
  }),

  'feed.read': kind<FeedRead>({
    code: 7,
    version: 1,
    fields: ['by', 'through'],
    apply(state, position, { at, by, through }) {
      state.quotas.count('changes', { by, client: '', at })
      state.feeds.actors.tell(by, { type: 'read', position, through })
    },
  }),
}

/** Subscribes the identity to the thread, unless it is subscribed already or has no open feed. */
export function addSubscription(
  state: State,
  identity: number,
  thread: number,
  position: number,
): void {
  if (!state.subscriptions.mayFollow(identity, thread)) return
  state.subscriptions.follow(identity, thread, position)
  state.webhooks.follow(identity, thread)
  state.onNews(feedTopic(identity))
}
