// Records of what an identity does with its feed: it subscribes to a thread or a tag, unsubscribes,
// or marks what it has read.

import { kind, type Timed } from '../../kernel/record.ts'
import { feedTopic, tagTopic, threadTopic } from '../../kernel/topics.ts'
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

export interface TagSubscribed extends Timed {
  type: 'tag.subscribed'
  by: number
  tag: string
}

export interface TagUnsubscribed extends Timed {
  type: 'tag.unsubscribed'
  by: number
  tag: string
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
    fields: { by: true, thread: true },
    apply(state, position, { at, by, thread }) {
      state.quotas.count('changes', { by, client: '', at })
      addSubscription(state, by, thread, position)
    },
  }),

  'thread.unsubscribed': kind<ThreadUnsubscribed>({
    code: 6,
    version: 1,
    fields: { by: true, thread: true },
    apply(state, position, { at, by, thread }) {
      state.quotas.count('changes', { by, client: '', at })
      endSubscription(state, by, thread, position)
    },
  }),

  'tag.subscribed': kind<TagSubscribed>({
    code: 80,
    version: 1,
    fields: { by: true, tag: true },
    apply(state, position, { at, by, tag }) {
      state.quotas.count('changes', { by, client: '', at })
      addTagSubscription(state, by, { tag, from: state.threads.count }, position)
    },
  }),

  'tag.unsubscribed': kind<TagUnsubscribed>({
    code: 81,
    version: 1,
    fields: { by: true, tag: true },
    apply(state, position, { at, by, tag }) {
      state.quotas.count('changes', { by, client: '', at })
      const number = state.tags.find(tag)
      state.feeds.unfollowTag(by, number, position)
      state.webhooks.unfollow(by, tagTopic(number))
    },
  }),

  'feed.read': kind<FeedRead>({
    code: 7,
    version: 1,
    fields: { by: true, through: true },
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
  state.webhooks.follow(identity, threadTopic(thread))
  state.onNews(feedTopic(identity))
}

/** Ends the identity's subscription to the thread, unless there is none or its feed has ended. */
export function endSubscription(
  state: State,
  identity: number,
  thread: number,
  position: number,
): void {
  if (!state.subscriptions.mayUnfollow(identity, thread)) return
  state.subscriptions.unfollow(identity, thread, position)
  state.webhooks.unfollow(identity, threadTopic(thread))
}

/** Subscribes the identity to the tag, for public threads from number `from` on. */
export function addTagSubscription(
  state: State,
  identity: number,
  { tag, from }: { tag: string; from: number },
  position: number,
): void {
  const number = state.tags.number(tag)
  state.feeds.followTag(identity, { tag: number, from }, position)
  state.webhooks.follow(identity, tagTopic(number))
  state.onNews(feedTopic(identity))
}
