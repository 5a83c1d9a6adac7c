// A subscription of one identity to one thread.
//
//   none ──subscribed──▶ subscribed ──unsubscribed──▶ none
//
// S1. Subscribing and unsubscribing are idempotent.
// S2. `since` is the position of the record that last changed the state.

import { assign, setup } from 'xstate'
import { actor, blank, type ContextOf, type EventOf } from '../../kernel/actor.ts'

const layout = { since: 'f64' } as const
const events = { subscribed: { position: 'f64' }, unsubscribed: { position: 'f64' } } as const

const machine = setup({
  types: { context: {} as ContextOf<typeof layout>, events: {} as EventOf<typeof events> },
  actions: { change: assign({ since: ({ event }) => event.position }) },
}).createMachine({
  id: 'subscription',
  description: 'Whether one identity follows one thread.',
  context: blank(layout),
  initial: 'none',
  states: {
    none: { on: { subscribed: { target: 'subscribed', actions: 'change' } } },
    subscribed: { on: { unsubscribed: { target: 'none', actions: 'change' } } },
  },
})

export const subscription = actor({
  machine,
  codes: { none: 0, subscribed: 1 },
  layout,
  events,
})
