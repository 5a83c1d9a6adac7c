// The feed of an identity: how many threads it follows, and when that set changed last.
//
//   absent ──opened──▶ open ──closed──▶ closed
//
//   open: followed, unfollowed [followsAny] ──▶ open
//
// F1. An identity that can act has an open feed from its creation until it expires. The feed of an
//     author of a message published by GET stays absent.
// F2. `following` is never negative; it is the number of active subscriptions.
// F3. changedPosition is the position of the last record that changed the set of followed threads:
//     a page of the feed read at or after that position covers the right threads.

import { assign, setup } from 'xstate'
import { actor, type ContextOf, type EventOf } from './actor.ts'

const layout = { following: 'u32', changedPosition: 'f64' } as const

const events = {
  opened: { position: 'f64' },
  followed: { position: 'f64' },
  unfollowed: { position: 'f64' },
  closed: { position: 'f64' },
} as const

const machine = setup({
  types: { context: {} as ContextOf<typeof layout>, events: {} as EventOf<typeof events> },
  guards: { followsAny: ({ context }) => context.following > 0 },
  actions: {
    follow: assign({ following: ({ context }) => context.following + 1 }),
    unfollow: assign({ following: ({ context }) => context.following - 1 }),
    noteChange: assign({ changedPosition: ({ event }) => event.position }),
  },
}).createMachine({
  id: 'feed',
  description: 'The threads that an identity follows; its feed shows new messages in them.',
  context: { following: 0, changedPosition: 0 },
  initial: 'absent',
  states: {
    absent: { on: { opened: { target: 'open', actions: 'noteChange' } } },
    open: {
      on: {
        followed: { actions: ['follow', 'noteChange'] },
        unfollowed: { guard: 'followsAny', actions: ['unfollow', 'noteChange'] },
        closed: { target: 'closed', actions: 'noteChange' },
      },
    },
    closed: { type: 'final' },
  },
})

export const feed = actor({ machine, codes: { absent: 0, open: 1, closed: 2 }, layout, events })
