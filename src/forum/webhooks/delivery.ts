// A delivery: one wakeup for a webhook, and its outcome. It begins with its first attempt; the
// messages before that need no delivery, because the feed has them
// (forum/webhooks/due-webhooks.ts).
//
//   none ──started──▶ sending ──delivered──▶ delivered
//                     ▲  │ │└──failed──▶ failed
//              started│  │ └──cancelled──▶ cancelled ◀──┐
//                     │  └──retried──▶ pending ──cancelled
//                     └────────────────┘ (at nextAttemptAt)
//
//   sending ──started──▶ sending: a crash interrupted the attempt, which is repeated
//
// D1. Messages that arrive while it is pending are merged into it by its next attempt; an attempt
//     in flight keeps its content. A merge changes the event id (forum/webhooks/deliveries.ts).
//     first <= through.
// D2. attempts counts every start, including the starts of attempts that a crash interrupted.
// D3. nextAttemptAt is 0 unless the delivery is pending. lastHttpStatus 0 and lastError '' mean
//     that there is none.
// D4. A delivery that is delivered, failed or cancelled never changes again.
// D5. Time is `event.at`. Nothing here reads a clock.

import { assertEvent, assign, setup } from 'xstate'
import { actor, blank, type ContextOf, type EventOf } from '../../kernel/actor.ts'

/** Times are in milliseconds since the epoch; `first` and `through` are positions of messages. */
const layout = {
  first: 'f64',
  through: 'f64',
  createdAt: 'f64',
  attempts: 'u32',
  nextAttemptAt: 'f64',
  deliveredAt: 'f64',
  lastHttpStatus: 'u32',
  lastError: 'text',
} as const

const events = {
  started: { first: 'f64', through: 'f64', at: 'f64' },
  delivered: { at: 'f64', status: 'u32' },
  retried: { status: 'u32', error: 'text', nextAttemptAt: 'f64' },
  failed: { status: 'u32', error: 'text' },
  cancelled: {},
} as const

const machine = setup({
  types: { context: {} as ContextOf<typeof layout>, events: {} as EventOf<typeof events> },
  actions: {
    begin: assign(({ event }) => {
      assertEvent(event, 'started')
      const { first, through, at } = event
      return { first, through, createdAt: at }
    }),
    merge: assign({
      through: ({ event }) => {
        assertEvent(event, 'started')
        return event.through
      },
    }),
    count: assign({ attempts: ({ context }) => context.attempts + 1, nextAttemptAt: 0 }),
    deliver: assign(({ event }) => {
      assertEvent(event, 'delivered')
      return { deliveredAt: event.at, lastHttpStatus: event.status, lastError: '' }
    }),
    noteFailure: assign(({ event }) => {
      assertEvent(event, ['retried', 'failed'])
      return { lastHttpStatus: event.status, lastError: event.error }
    }),
    wait: assign({
      nextAttemptAt: ({ event }) => {
        assertEvent(event, 'retried')
        return event.nextAttemptAt
      },
    }),
    stop: assign({ nextAttemptAt: 0 }),
  },
}).createMachine({
  id: 'delivery',
  description: 'A wakeup is attempted until its receiver accepts it or no attempt is left.',
  context: blank(layout),
  initial: 'none',
  states: {
    none: { on: { started: { target: 'sending', actions: ['begin', 'count'] } } },
    pending: {
      on: {
        started: { target: 'sending', actions: ['merge', 'count'] },
        cancelled: { target: 'cancelled', actions: 'stop' },
      },
    },
    sending: {
      on: {
        started: { actions: 'count' },
        delivered: { target: 'delivered', actions: 'deliver' },
        retried: { target: 'pending', actions: ['noteFailure', 'wait'] },
        failed: { target: 'failed', actions: 'noteFailure' },
        cancelled: 'cancelled',
      },
    },
    delivered: { type: 'final' },
    failed: { type: 'final' },
    cancelled: { type: 'final' },
  },
})

export const delivery = actor({
  machine,
  codes: { none: 0, pending: 1, sending: 2, delivered: 3, failed: 4, cancelled: 5 },
  layout,
  events,
})
