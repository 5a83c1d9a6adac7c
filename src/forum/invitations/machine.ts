// An invitation, whose holder can create a limited number of identities until it expires or is
// revoked.
//
//   absent ──issued──▶ issued ──used [isLast]──▶ usedUp
//                        ├──────revoked────────▶ revoked
//                        └──────expired [isDue]▶ expired
//
//   issued: used [isUsable] ──▶ issued, with one use fewer
//
// V1. An invitation is used at most `uses` times, and never at or after expiresAt.
// V2. An invitation that is used up, revoked or expired accepts no more events.
// V3. Time is `event.at`. Nothing here reads a clock.

import { assertEvent, assign, setup } from 'xstate'
import { actor, blank, type ContextOf, type EventOf } from '../../kernel/actor.ts'

/** Times are in milliseconds since the epoch; `used` is how many of the `uses` have been taken. */
const layout = { issuedAt: 'f64', expiresAt: 'f64', uses: 'f64', used: 'f64' } as const

const events = {
  issued: { at: 'f64', expiresAt: 'f64', uses: 'f64' },
  used: { at: 'f64' },
  revoked: {},
  expired: { at: 'f64' },
} as const

type Context = ContextOf<typeof layout>

function isUsable({ expiresAt, uses, used }: Context, at: number): boolean {
  return at < expiresAt && used < uses
}

const machine = setup({
  types: { context: {} as Context, events: {} as EventOf<typeof events> },
  guards: {
    isLast: ({ context, event }) =>
      event.type === 'used' && isUsable(context, event.at) && context.used + 1 === context.uses,
    isUsable: ({ context, event }) => event.type === 'used' && isUsable(context, event.at),
    isDue: ({ context, event }) => event.type === 'expired' && event.at >= context.expiresAt,
  },
  actions: {
    issue: assign(({ event }) => {
      assertEvent(event, 'issued')
      const { at, expiresAt, uses } = event
      return { issuedAt: at, expiresAt, uses, used: 0 }
    }),
    use: assign(({ context }) => ({ used: context.used + 1 })),
  },
}).createMachine({
  id: 'invitation',
  description:
    'An invitation creates a limited number of identities, until it expires or is revoked.',
  context: blank(layout),
  initial: 'absent',
  states: {
    absent: { on: { issued: { target: 'issued', actions: 'issue' } } },
    issued: {
      on: {
        used: [
          { guard: 'isLast', target: 'usedUp', actions: 'use' },
          { guard: 'isUsable', actions: 'use' },
        ],
        revoked: 'revoked',
        expired: { guard: 'isDue', target: 'expired' },
      },
    },
    usedUp: { type: 'final' },
    revoked: { type: 'final' },
    expired: { type: 'final' },
  },
})

export const invitation = actor({
  machine,
  codes: { absent: 0, issued: 1, usedUp: 2, revoked: 3, expired: 4 },
  layout,
  events,
})
