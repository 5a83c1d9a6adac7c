// Records of what an identity does with its feed: it subscribes to a thread or a tag, unsubscribes,
// or marks what it has read.

import { kind, number, text } from '../../kernel/record.ts'
import { feedTopic, tagTopic, threadTopic } from '../../kernel/topics.ts'
import type { State } from '../state.ts'

/** How many followed threads are examined for expiry when another thread is followed. */
const looksPerFollow = 8

export const subscriptionRecords = {
  'thread.subscribed': kind({
    code: 5,
    version: 1,
    fields: { by: number, thread: number },
    apply(state, position, { at, by, thread }) {
      state.quotas.count('changes', { by, client: '', at })
      addSubscription(state, by, thread, position)
    },
  }),

  'thread.unsubscribed': kind({
    code: 6,
    version: 1,
    fields: { by: number, thread: number },
    apply(state, position, { at, by, thread }) {
      state.quotas.count('changes', { by, client: '', at })
      endSubscription(state, by, thread, position)
    },
  }),

  'tag.subscribed': kind({
    code: 80,
    version: 1,
    fields: { by: number, tag: text },
    apply(state, position, { at, by, tag }) {
      state.quotas.count('changes', { by, client: '', at })
      addTagSubscription(state, by, { tag, from: state.threads.count }, position)
    },
  }),

  'tag.unsubscribed': kind({
    code: 81,
    version: 1,
    fields: { by: number, tag: text },
    apply(state, position, { at, by, tag }) {
      state.quotas.count('changes', { by, client: '', at })
      const number = state.tags.find(tag)
      state.feeds.unfollowTag(by, number, position)
      state.webhooks.unfollow(by, tagTopic(number))
    },
  }),

  /** The identity has read its feed up to this position. */
  'feed.read': kind({
    code: 7,
    version: 1,
    fields: { by: number, through: number },
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
  if (state.expiredPosition > 0) endExpired(state, identity, position)
  state.subscriptions.follow(identity, thread, position)
  state.webhooks.follow(identity, threadTopic(thread))
  state.onNews(feedTopic(identity))
}

/**
 * Ends some of the identity's subscriptions to threads that have expired, so that these stay a
 * small part of those that it follows. Nothing shows them. They do not end with their threads,
 * because a search of the feed begins anew when one ends (queries.ts, F2).
 */
function endExpired(state: State, identity: number, position: number): void {
  const begin = Math.imul(position, 0x9e3779b1) >>> 0 // anywhere, and the same in a replay
  for (let i = 0; i < looksPerFollow; i++) {
    const followed = state.feeds.followed(identity)
    if (followed === 0) return
    const thread = state.feeds.threadAt(identity, (begin + i) % followed)
    if (state.threads.isExpired(thread)) endSubscription(state, identity, thread, position)
  }
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
