// An identity, and how many threads its feed follows.
//
//            ┌──created [guest]───────▶ guest ──expired [due]──▶ expired
//   absent ──┼──created [persistent]──▶ persistent
//            └──created [compat]──────▶ compat
//
//   guest and persistent: followed, unfollowed
//
// I1. Only guests expire, and not before their time; an expired identity accepts nothing more.
// I2. A compat identity, the author of one message published by GET, follows nothing.
// I3. following is never negative, and counts the subscriptions that are subscribed now.
// I4. followingChanged is the position of the last change of following; a feed built at or after
//     that position follows the right threads.
// I5. Time is `event.at`. Nothing here reads a clock.

import { assertEvent, assign, setup } from 'xstate'

import type { Layout } from './actor-table.ts'

/** Times in milliseconds since the epoch; expiresAt 0 is never. */
export type IdentityContext = {
  createdAt: number
  expiresAt: number
  following: number
  followingChanged: number
}

export type IdentityKind = 'guest' | 'persistent' | 'compat'

export type IdentityEvent =
  | { type: 'created'; kind: IdentityKind; at: number; expiresAt: number; position: number }
  | { type: 'expired'; at: number }
  | { type: 'followed'; position: number }
  | { type: 'unfollowed'; position: number }

export const identityLayout: Layout<IdentityContext> = {
  createdAt: 'f64',
  expiresAt: 'f64',
  following: 'u32',
  followingChanged: 'f64',
}

export const identityMachine = setup({
  types: { context: {} as IdentityContext, events: {} as IdentityEvent },
  guards: {
    isGuest: ({ event }) => event.type === 'created' && event.kind === 'guest',
    isPersistent: ({ event }) => event.type === 'created' && event.kind === 'persistent',
    isCompat: ({ event }) => event.type === 'created' && event.kind === 'compat',
    isDue: ({ context: { expiresAt }, event }) =>
      event.type === 'expired' && expiresAt !== 0 && event.at >= expiresAt,
    followsAny: ({ context }) => context.following > 0,
  },
  actions: {
    create: assign(({ event }) => {
      assertEvent(event, 'created')
      const { at, expiresAt, position } = event
      return { createdAt: at, expiresAt, following: 0, followingChanged: position }
    }),
    follow: assign({
      following: ({ context }) => context.following + 1,
    }),
    unfollow: assign({
      following: ({ context }) => context.following - 1,
    }),
    noteChange: assign({
      followingChanged: ({ context, event }) =>
        event.type === 'expired' ? context.followingChanged : event.position,
    }),
  },
}).createMachine({
  id: 'identity',
  description:
    'An identity and its feed: who it is lasts until it expires, what it follows changes.',
  context: { createdAt: 0, expiresAt: 0, following: 0, followingChanged: 0 },
  initial: 'absent',
  states: {
    absent: {
      on: {
        created: [
          { guard: 'isGuest', target: 'guest', actions: 'create' },
          { guard: 'isPersistent', target: 'persistent', actions: 'create' },
          { guard: 'isCompat', target: 'compat', actions: 'create' },
        ],
      },
    },
    guest: {
      on: {
        expired: { guard: 'isDue', target: 'expired' },
        followed: { actions: ['follow', 'noteChange'] },
        unfollowed: { guard: 'followsAny', actions: ['unfollow', 'noteChange'] },
      },
    },
    persistent: {
      on: {
        followed: { actions: ['follow', 'noteChange'] },
        unfollowed: { guard: 'followsAny', actions: ['unfollow', 'noteChange'] },
      },
    },
    compat: {},
    expired: { type: 'final' },
  },
})
