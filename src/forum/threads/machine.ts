// A thread: the number of its messages, and the log positions of the first and the newest message.
//
//   absent ──created──▶ open ──replied, erased, claimChanged, tagged──▶ open
//                       open ──locked──▶ locked ──erased, claimChanged──▶ locked
//                            ◀─unlocked─┘
//                       open, locked ──expired──▶ expired ──erased──▶ expired
//
// T1. A thread's author and visibility never change, until it expires: then it is private, and has
//     no author, so that nobody may see it.
// T2. messageCount is 1 at creation and grows by one with each reply.
// T3. firstPosition <= newestPosition <= changedPosition: all are positions in the log, and
//     positions only grow.
// T4. changedPosition is the position of the last record that changed what a reader of the thread
//     sees. newestPosition is that of the newest message, which feeds compare with their cursor.
// T5. A locked thread accepts no replies and no other tags. Everything else about it stays the
//     same.
// T6. After a thread has expired, its messages are erased, and nothing else happens to it.
//
// `author` is the number of an identity; `visibility` is an index into `visibilities`.

import { assertEvent, assign, setup } from 'xstate'
import { actor, blank, type ContextOf, type EventOf } from '../../kernel/actor.ts'

/** Stored on disk as indexes: append new visibilities at the end. */
export const visibilities = ['public', 'private'] as const
export type Visibility = (typeof visibilities)[number]

/** The author of a thread that has expired: no identity has this number. */
const noAuthor = 2 ** 32 - 1

const layout = {
  author: 'u32',
  visibility: 'u8',
  messageCount: 'u32',
  firstPosition: 'f64',
  newestPosition: 'f64',
  changedPosition: 'f64',
  /** How long the thread lives after its newest message, in seconds; 0: without end. */
  ttlSeconds: 'u32',
} as const

const events = {
  created: { position: 'f64', author: 'u32', visibility: visibilities, ttlSeconds: 'u32' },
  replied: { position: 'f64' },
  /** Messages of the thread were erased. */
  erased: { position: 'f64' },
  /** Its claim was made, renewed or released, or has expired (forum/claims/machine.ts). */
  claimChanged: { position: 'f64' },
  /** The author has changed its tags. */
  tagged: { position: 'f64' },
  locked: { position: 'f64' },
  unlocked: { position: 'f64' },
  /** It has lived as long as it may after its newest message. */
  expired: { position: 'f64' },
} as const

const machine = setup({
  types: { context: {} as ContextOf<typeof layout>, events: {} as EventOf<typeof events> },
  actions: {
    open: assign(({ event }) => {
      assertEvent(event, 'created')
      const { author, position, ttlSeconds } = event
      return {
        author,
        visibility: visibilities.indexOf(event.visibility),
        messageCount: 1,
        firstPosition: position,
        newestPosition: position,
        changedPosition: position,
        ttlSeconds,
      }
    }),
    hide: assign({
      author: noAuthor,
      visibility: visibilities.indexOf('private'),
      changedPosition: ({ event }) => event.position,
    }),
    count: assign({
      messageCount: ({ context }) => context.messageCount + 1,
      newestPosition: ({ event }) => event.position,
      changedPosition: ({ event }) => event.position,
    }),
    change: assign({ changedPosition: ({ event }) => event.position }),
  },
}).createMachine({
  id: 'thread',
  description:
    'A thread counts its messages, and accepts none while it is locked or after it has expired.',
  context: blank(layout),
  initial: 'absent',
  states: {
    absent: { on: { created: { target: 'open', actions: 'open' } } },
    open: {
      on: {
        replied: { actions: 'count' },
        erased: { actions: 'change' },
        claimChanged: { actions: 'change' },
        tagged: { actions: 'change' },
        locked: { target: 'locked', actions: 'change' },
        expired: { target: 'expired', actions: 'hide' },
      },
    },
    locked: {
      on: {
        erased: { actions: 'change' },
        claimChanged: { actions: 'change' },
        unlocked: { target: 'open', actions: 'change' },
        expired: { target: 'expired', actions: 'hide' },
      },
    },
    expired: { on: { erased: { actions: 'change' } } },
  },
})

export const thread = actor({
  machine,
  codes: { absent: 0, open: 1, locked: 3, expired: 4 },
  layout,
  events,
})
