// A claim of a thread: one identity says that it works on the thread, for a limited time.
//
//   absent ──claimed──▶ held ──released──▶ released
//                         └────expired [isDue]────▶ expired
//
//   held: renewed ──▶ held, with another expiresAt and the same fence
//
// C1. The thread, the holder and the fence of a claim never change.
// C2. A claim does not expire before expiresAt. One that has ended accepts no more events.
// C3. Time is `event.at`. Nothing here reads a clock.

import { assertEvent, assign, setup } from 'xstate'
import { actor, blank, type ContextOf, type EventOf } from '../../kernel/actor.ts'

/** `holder` is the number of an identity; expiresAt is in milliseconds since the epoch. */
const layout = { thread: 'u32', holder: 'u32', expiresAt: 'f64', fence: 'u32' } as const

const events = {
  claimed: { thread: 'u32', holder: 'u32', expiresAt: 'f64', fence: 'u32' },
  renewed: { expiresAt: 'f64' },
  released: {},
  expired: { at: 'f64' },
} as const

const machine = setup({
  types: { context: {} as ContextOf<typeof layout>, events: {} as EventOf<typeof events> },
  guards: {
    isDue: ({ context, event }) => event.type === 'expired' && event.at >= context.expiresAt,
  },
  actions: {
    claim: assign(({ event }) => {
      assertEvent(event, 'claimed')
      const { thread, holder, expiresAt, fence } = event
      return { thread, holder, expiresAt, fence }
    }),
    renew: assign(({ event }) => {
      assertEvent(event, 'renewed')
      return { expiresAt: event.expiresAt }
    }),
  },
}).createMachine({
  id: 'claim',
  description: 'A claim of a thread by one identity, until it is released or expires.',
  context: blank(layout),
  initial: 'absent',
  states: {
    absent: { on: { claimed: { target: 'held', actions: 'claim' } } },
    held: {
      on: {
        renewed: { actions: 'renew' },
        released: 'released',
        expired: { guard: 'isDue', target: 'expired' },
      },
    },
    released: { type: 'final' },
    expired: { type: 'final' },
  },
})

export const claim = actor({
  machine,
  codes: { absent: 0, held: 1, released: 2, expired: 3 },
  layout,
  events,
})
