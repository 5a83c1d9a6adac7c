// A delivery: one wakeup for a webhook, and its outcome. Messages that arrive while it is pending
// are merged into it.
//
//   none ──queued──▶ pending ──started──▶ sending ──delivered──▶ delivered
//                    │ ▲ merged           │  ├──retried──▶ pending (again at nextAttemptAt)
//                    │ └──┘               │  ├──failed──▶ failed
//                    └──cancelled──▶ cancelled ◀──┘ cancelled
//
//   sending ──started──▶ sending: a crash interrupted the attempt, which is repeated
//
// D1. A message is merged only into a delivery that is pending, never into one that is being sent,
//     so an attempt in flight keeps its content. A merge after a failed attempt changes the event
//     id (forum/deliveries.ts). first <= through.
// D2. attempts counts every start, including the starts of attempts that a crash interrupted.
// D3. nextAttemptAt is 0 unless the delivery is pending. lastHttpStatus 0 and lastError '' mean
//     that there is none.
// D4. A delivery that is delivered, failed or cancelled never changes again.
// D5. Time is `event.at`. Nothing here reads a clock.

import { assertEvent, assign, setup } from 'xstate'
import { actor, type ContextOf, type EventOf } from './actor.ts'

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
  queued: { position: 'f64', at: 'f64' },
  merged: { position: 'f64' },
  started: {},
  delivered: { at: 'f64', status: 'u32' },
  retried: { status: 'u32', error: 'text', nextAttemptAt: 'f64' },
  failed: { status: 'u32', error: 'text' },
  cancelled: {},
} as const

const machine = setup({
  types: { context: {} as ContextOf<typeof layout>, events: {} as EventOf<typeof events> },
  actions: {
    queue: assign(({ event }) => {
      assertEvent(event, 'queued')
      const { position, at } = event
      return { first: position, through: position, createdAt: at, nextAttemptAt: at }
    }),
    merge: assign({
      through: ({ event }) => {
        assertEvent(event, 'merged')
        return event.position
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
  context: {
    first: 0,
    through: 0,
    createdAt: 0,
    attempts: 0,
    nextAttemptAt: 0,
    deliveredAt: 0,
    lastHttpStatus: 0,
    lastError: '',
  },
  initial: 'none',
  states: {
    none: { on: { queued: { target: 'pending', actions: 'queue' } } },
    pending: {
      on: {
        merged: { actions: 'merge' },
        started: { target: 'sending', actions: 'count' },
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
