// A thread counts its messages and remembers where in the log the first and the last one are.
//
//            ┌──created [public]──▶ public ──replied──▶ public
//   absent ──┤
//            └──created [private]─▶ private ──replied──▶ private
//
// T1. A thread's visibility never changes.
// T2. messageCount is 1 for the message that comes with the thread, and one more for every reply.
// T3. firstPosition <= lastPosition: positions are those of the log, and the log only grows.
//
// Words: position, a place in the log (shown as `seq`); author, the number of an identity.

import { assertEvent, assign, setup } from 'xstate'

import type { Layout } from './actor-table.ts'

/** Times in milliseconds since the epoch. */
export type ThreadContext = {
  author: number
  createdAt: number
  messageCount: number
  firstPosition: number
  lastPosition: number
}

export type ThreadEvent =
  | {
      type: 'created'
      at: number
      position: number
      author: number
      visibility: 'public' | 'private'
    }
  | { type: 'replied'; position: number }

export const threadLayout: Layout<ThreadContext> = {
  author: 'u32',
  createdAt: 'f64',
  messageCount: 'u32',
  firstPosition: 'f64',
  lastPosition: 'f64',
}

export const threadMachine = setup({
  types: { context: {} as ThreadContext, events: {} as ThreadEvent },
  guards: {
    isPublic: ({ event }) => event.type === 'created' && event.visibility === 'public',
    isPrivate: ({ event }) => event.type === 'created' && event.visibility === 'private',
  },
  actions: {
    open: assign(({ event }) => {
      assertEvent(event, 'created')
      const { author, at, position } = event
      return {
        author,
        createdAt: at,
        messageCount: 1,
        firstPosition: position,
        lastPosition: position,
      }
    }),
    count: assign({
      messageCount: ({ context }) => context.messageCount + 1,
      lastPosition: ({ event }) => event.position,
    }),
  },
}).createMachine({
  id: 'thread',
  description: 'A thread counts its messages; who may see it is decided once, when it is created.',
  context: { author: 0, createdAt: 0, messageCount: 0, firstPosition: 0, lastPosition: 0 },
  initial: 'absent',
  states: {
    absent: {
      on: {
        created: [
          { guard: 'isPublic', target: 'public', actions: 'open' },
          { guard: 'isPrivate', target: 'private', actions: 'open' },
        ],
      },
    },
    public: { on: { replied: { actions: 'count' } } },
    private: { on: { replied: { actions: 'count' } } },
  },
})
