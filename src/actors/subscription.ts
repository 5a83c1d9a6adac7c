// A subscription of one identity to one thread.
//
//   none ──subscribed──▶ subscribed ──unsubscribed──▶ none
//
// S1. Subscribing twice is subscribing once; so is unsubscribing.
// S2. since is the position of the last change.

import { assign, setup } from 'xstate'

import type { Layout } from './actor-table.ts'

export type SubscriptionContext = { since: number }

export type SubscriptionEvent =
  | { type: 'subscribed'; position: number }
  | { type: 'unsubscribed'; position: number }

export const subscriptionLayout: Layout<SubscriptionContext> = { since: 'f64' }

export const subscriptionMachine = setup({
  types: { context: {} as SubscriptionContext, events: {} as SubscriptionEvent },
  actions: { change: assign({ since: ({ event }) => event.position }) },
}).createMachine({
  id: 'subscription',
  description: 'Whether one identity follows one thread.',
  context: { since: 0 },
  initial: 'none',
  states: {
    none: { on: { subscribed: { target: 'subscribed', actions: 'change' } } },
    subscribed: { on: { unsubscribed: { target: 'none', actions: 'change' } } },
  },
})
