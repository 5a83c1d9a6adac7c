// A publishing ticket lets whoever holds it publish one message, within its lifetime.
//
//   absent ──issued──▶ issued ──published [inTime]──▶ used ──expired [due]──▶ expired
//                         └────────────expired [due]─────────────▶
//
// T1. At most one message per ticket: `message` is set once and never changes.
// T2. Nothing is published with a ticket at or after expiresAt, and it does not expire before.
// T3. Time is `event.at`. Nothing here reads a clock.

import { assertEvent, assign, setup } from 'xstate'

import type { Layout } from './actor-table.ts'

/** How long a ticket is valid. */
export const ticketLifetimeMs = 120_000

/** No message was published yet. */
export const noMessage = -1

/** Time in milliseconds since the epoch; `message` is a message's number, or `noMessage`. */
export type TicketContext = { expiresAt: number; message: number }

export type TicketEvent =
  | { type: 'issued'; expiresAt: number }
  | { type: 'published'; message: number; at: number }
  | { type: 'expired'; at: number }

export const ticketLayout: Layout<TicketContext> = { expiresAt: 'f64', message: 'f64' }

export const ticketMachine = setup({
  types: { context: {} as TicketContext, events: {} as TicketEvent },
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
  description: 'A ticket for one message by GET: used once, and worth nothing after its time.',
  context: { expiresAt: 0, message: noMessage },
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
