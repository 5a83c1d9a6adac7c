// A publishing ticket permits its holder to publish one message within its lifetime.
//
//   absent ──issued──▶ issued ──published [inTime]──▶ used ──expired [due]──▶ expired
//                         └────────────expired [due]─────────────▶
//
// T1. At most one message per ticket: `message` is set once and never changes.
// T2. Nothing is published with a ticket at or after its expiresAt, and a ticket does not expire
//     before that time.
// T3. Time is `event.at`. Nothing here reads a clock.

import { assertEvent, assign, setup } from 'xstate'
import { actor, blank, type ContextOf, type EventOf } from '../../kernel/actor.ts'

export const ticketLifetimeMs = 120_000

/** The value of `message` until a message has been published with the ticket. */
export const noMessage = -1

/** `message` is a message's number, or `noMessage`. Times are in milliseconds since the epoch. */
const layout = { expiresAt: 'f64', message: 'f64' } as const

const events = {
  issued: { expiresAt: 'f64' },
  published: { message: 'f64', at: 'f64' },
  expired: { at: 'f64' },
} as const

const machine = setup({
  types: { context: {} as ContextOf<typeof layout>, events: {} as EventOf<typeof events> },
  guards: {
    inTime: ({ context, event }) => event.type === 'published' && event.at < context.expiresAt,
    due: ({ context, event }) => event.type === 'expired' && event.at >= context.expiresAt,
  },
  actions: {
    issue: assign(({ event }) => {
      assertEvent(event, 'issued')
      return { expiresAt: event.expiresAt, message: noMessage }
    }),
    use: assign(({ event }) => {
      assertEvent(event, 'published')
      return { message: event.message }
    }),
  },
}).createMachine({
  id: 'ticket',
  description: 'A ticket for one message by GET: used at most once, and only before it expires.',
  context: { ...blank(layout), message: noMessage },
  initial: 'absent',
  states: {
    absent: { on: { issued: { target: 'issued', actions: 'issue' } } },
    issued: {
      on: {
        published: { guard: 'inTime', target: 'used', actions: 'use' },
        expired: { guard: 'due', target: 'expired' },
      },
    },
    used: { on: { expired: { guard: 'due', target: 'expired' } } },
    expired: { type: 'final' },
  },
})

export const ticket = actor({
  machine,
  codes: { absent: 0, issued: 1, used: 2, expired: 3 },
  layout,
  events,
})
