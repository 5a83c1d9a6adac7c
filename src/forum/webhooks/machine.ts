// A webhook: an endpoint that an identity registered, and whether the endpoint has been verified.
//
//   none ──registered──▶ pending ──verified──▶ active ◀──verified──┐
//                        │  ▲  │                 │  └──────────────┘
//                        │  └──verifyFailed      └──verifyFailed──▶ active
//                        └──lapsed [due]──▶ lapsed
//
//   pending, active ──replaced──▶ replaced
//   pending, active ──removed──▶ removed
//
// W1. Only an active webhook receives wakeups, and only `verified` makes a webhook active.
// W2. A failed verification changes only lastError; a successful one clears it.
// W3. Only a pending webhook lapses, and not before lapsesAt.
// W4. A webhook that is replaced, removed or lapsed accepts no more events.
// W5. Time is `event.at`. Nothing here reads a clock.

import { assertEvent, assign, setup } from 'xstate'
import { actor, blank, type ContextOf, type EventOf } from '../../kernel/actor.ts'

/** Times are in milliseconds since the epoch. verifiedAt 0 means never; lastError '' means none. */
const layout = { createdAt: 'f64', lapsesAt: 'f64', verifiedAt: 'f64', lastError: 'text' } as const

const events = {
  registered: { at: 'f64', lapsesAt: 'f64' },
  verified: { at: 'f64' },
  verifyFailed: { error: 'text' },
  lapsed: { at: 'f64' },
  replaced: {},
  removed: {},
} as const

const machine = setup({
  types: { context: {} as ContextOf<typeof layout>, events: {} as EventOf<typeof events> },
  guards: {
    isDue: ({ context, event }) => event.type === 'lapsed' && event.at >= context.lapsesAt,
  },
  actions: {
    register: assign(({ event }) => {
      assertEvent(event, 'registered')
      return { createdAt: event.at, lapsesAt: event.lapsesAt, verifiedAt: 0, lastError: '' }
    }),
    verify: assign(({ event }) => {
      assertEvent(event, 'verified')
      return { verifiedAt: event.at, lastError: '' }
    }),
    noteError: assign({
      lastError: ({ event }) => {
        assertEvent(event, 'verifyFailed')
        return event.error
      },
    }),
  },
}).createMachine({
  id: 'webhook',
  description: 'An endpoint is woken after its verification, until it is replaced or removed.',
  context: blank(layout),
  initial: 'none',
  states: {
    none: { on: { registered: { target: 'pending', actions: 'register' } } },
    pending: {
      on: {
        verified: { target: 'active', actions: 'verify' },
        verifyFailed: { actions: 'noteError' },
        lapsed: { guard: 'isDue', target: 'lapsed' },
        replaced: 'replaced',
        removed: 'removed',
      },
    },
    active: {
      on: {
        verified: { actions: 'verify' },
        verifyFailed: { actions: 'noteError' },
        replaced: 'replaced',
        removed: 'removed',
      },
    },
    replaced: { type: 'final' },
    removed: { type: 'final' },
    lapsed: { type: 'final' },
  },
})

export const webhook = actor({
  machine,
  codes: { none: 0, pending: 1, active: 2, replaced: 3, removed: 4, lapsed: 5 },
  layout,
  events,
})
