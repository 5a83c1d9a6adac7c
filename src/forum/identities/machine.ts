// An identity, which can act from its creation until it expires, except while it is blocked.
//
//   absent ──created──▶ active ──expired [isDue]──▶ expired
//                       active ──blocked [hasToken]──▶ blocked ──expired [isDue]──▶ expired
//                              ◀──────unblocked──────┘
//
//   active: acted [mayAct], nominated [mayServe] ──▶ active; nothing changes
//   active: listed [hasToken], unlisted ──▶ active
//   active, blocked: rotated [isHeld] ──▶ the same state, with another token
//
// I1. Only guests expire, and not before their time. An expired identity accepts no more events.
// I2. A compat identity is the author of one message published by GET. Nobody can act as it, and
//     nobody can name it as a participant.
// I3. Only persistent identities can be nominated as maintainers.
// I4. Until it is unblocked, a blocked identity cannot act, be named as a participant or be
//     nominated. A compat identity cannot be blocked: nobody can act as it anyway.
// I5. Time is `event.at`, in milliseconds since the epoch. Nothing here reads a clock.
// I6. A token can be replaced only while the identity has one that may be accepted: not after the
//     identity has expired, and never for a compat identity, which has no token. Tokens are counted
//     from 0, and `tokenNumber` is the number of the current one.
// I7. A listed identity is found by its name before it has published anything. Its holder decides.
//
// `kind` is an index into `identityKinds`; expiresAt 0 means never.

import { assertEvent, assign, setup } from 'xstate'
import { actor, blank, type ContextOf, type EventOf } from '../../kernel/actor.ts'

/** Stored on disk as indexes: append new kinds at the end. */
export const identityKinds = ['guest', 'persistent', 'compat'] as const
export type IdentityKind = (typeof identityKinds)[number]

const [guest, persistent, compat] = [0, 1, 2]

const layout = {
  kind: 'u8',
  createdAt: 'f64',
  expiresAt: 'f64',
  tokenNumber: 'u32',
  listed: 'u8',
} as const

const events = {
  created: { kind: identityKinds, at: 'f64', expiresAt: 'f64' },
  /** Passed to `may` for every request with a token, and for participants that a caller names. */
  acted: { at: 'f64' },
  /** Passed to `may` for the candidate of a maintainer proposal. */
  nominated: { at: 'f64' },
  expired: { at: 'f64' },
  blocked: {},
  unblocked: {},
  rotated: { at: 'f64' },
  listed: {},
  unlisted: {},
} as const

type Context = ContextOf<typeof layout>

function isInTime({ expiresAt }: Context, at: number): boolean {
  return expiresAt === 0 || at < expiresAt
}

const machine = setup({
  types: { context: {} as Context, events: {} as EventOf<typeof events> },
  guards: {
    mayAct: ({ context, event }) =>
      event.type === 'acted' && context.kind !== compat && isInTime(context, event.at),
    mayServe: ({ context, event }) =>
      event.type === 'nominated' && context.kind === persistent && isInTime(context, event.at),
    isDue: ({ context, event }) =>
      event.type === 'expired' && context.kind === guest && !isInTime(context, event.at),
    hasToken: ({ context }) => context.kind !== compat,
    isHeld: ({ context, event }) =>
      event.type === 'rotated' && context.kind !== compat && isInTime(context, event.at),
  },
  actions: {
    create: assign(({ event }) => {
      assertEvent(event, 'created')
      const { at, expiresAt } = event
      return { kind: identityKinds.indexOf(event.kind), createdAt: at, expiresAt }
    }),
    rotate: assign(({ context }) => ({ tokenNumber: context.tokenNumber + 1 })),
    list: assign({ listed: 1 }),
    unlist: assign({ listed: 0 }),
  },
}).createMachine({
  id: 'identity',
  description:
    'An identity can act until it expires, and not while it is blocked; only guests expire.',
  context: blank(layout),
  initial: 'absent',
  states: {
    absent: { on: { created: { target: 'active', actions: 'create' } } },
    active: {
      on: {
        acted: { guard: 'mayAct' },
        nominated: { guard: 'mayServe' },
        expired: { guard: 'isDue', target: 'expired' },
        blocked: { guard: 'hasToken', target: 'blocked' },
        rotated: { guard: 'isHeld', actions: 'rotate' },
        listed: { guard: 'hasToken', actions: 'list' },
        unlisted: { actions: 'unlist' },
      },
    },
    blocked: {
      on: {
        expired: { guard: 'isDue', target: 'expired' },
        unblocked: 'active',
        rotated: { guard: 'isHeld', actions: 'rotate' },
      },
    },
    expired: { type: 'final' },
  },
})

export const identity = actor({
  machine,
  codes: { absent: 0, active: 1, expired: 4, blocked: 5 },
  layout,
  events,
})
