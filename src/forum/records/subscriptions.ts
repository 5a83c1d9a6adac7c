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
      if (!state.subscriptions.unsubscribe(by, thread, position)) return
      state.identities.actors.step(by, { type: 'unfollowed', position })
      state.webhooks.unfollow(by, thread)
    },
  }),
}

/** Tells both actors, the pair's and the identity's, unless the pair was subscribed already. */
export function subscribe(state: State, identity: number, thread: number, position: number): void {
  if (!state.subscriptions.subscribe(identity, thread, position)) return
  state.identities.actors.step(identity, { type: 'followed', position })
  state.webhooks.follow(identity, thread)
}
