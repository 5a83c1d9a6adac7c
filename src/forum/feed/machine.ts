// The feed of an identity: the number of threads it follows, the last change to that set, and the
// position up to which its owner has marked it as read.
//
//   absent ──opened──▶ open ──closed──▶ closed
//
//   open: followed, unfollowed [followsAny], read [isAhead],
//         tagFollowed [mayFollowTag], tagUnfollowed [followsAnyTag] ──▶ open
//
// F1. An identity that can act has an open feed from its creation until it expires. The author of a
//     message published by GET cannot act, so that feed stays absent.
// F2. `following` is never negative; it is the number of active subscriptions.
// F3. changedPosition is the position of the last record that changed the sets of followed threads
//     and tags. A page of the feed that is read at or after that position covers the right threads.
// F4. `readThrough` only grows, and only `read` changes it; 0 means that nothing was ever marked.
//     `readPosition` is the position of the record that changed it last.
// F5. `followingTags` is the number of followed tags, at most `followedTagsMax`.

import { assertEvent, assign, setup } from 'xstate'
import { actor, blank, type ContextOf, type EventOf } from '../../kernel/actor.ts'

/** The maximum number of tags that an identity follows. */
export const followedTagsMax = 64

const layout = {
  following: 'u32',
  changedPosition: 'f64',
  readThrough: 'f64',
  readPosition: 'f64',
  followingTags: 'u32',
} as const

const events = {
  opened: { position: 'f64' },
  followed: { position: 'f64' },
  unfollowed: { position: 'f64' },
  tagFollowed: { position: 'f64' },
  tagUnfollowed: { position: 'f64' },
  /** Everything up to `through`, the position of a message or other record, is marked as read. */
  read: { position: 'f64', through: 'f64' },
  closed: { position: 'f64' },
} as const

const machine = setup({
  types: { context: {} as ContextOf<typeof layout>, events: {} as EventOf<typeof events> },
  guards: {
    followsAny: ({ context }) => context.following > 0,
    mayFollowTag: ({ context }) => context.followingTags < followedTagsMax,
    followsAnyTag: ({ context }) => context.followingTags > 0,
    isAhead: ({ context, event }) => event.type === 'read' && event.through > context.readThrough,
  },
  actions: {
    follow: assign({ following: ({ context }) => context.following + 1 }),
    unfollow: assign({ following: ({ context }) => context.following - 1 }),
    followTag: assign({ followingTags: ({ context }) => context.followingTags + 1 }),
    unfollowTag: assign({ followingTags: ({ context }) => context.followingTags - 1 }),
    noteChange: assign({ changedPosition: ({ event }) => event.position }),
    mark: assign(({ event }) => {
      assertEvent(event, 'read')
      return { readThrough: event.through, readPosition: event.position }
    }),
  },
}).createMachine({
  id: 'feed',
  description:
    'The threads and tags that an identity follows and its feed shows, and how far it is read.',
  context: blank(layout),
  initial: 'absent',
  states: {
    absent: { on: { opened: { target: 'open', actions: 'noteChange' } } },
    open: {
      on: {
        followed: { actions: ['follow', 'noteChange'] },
        unfollowed: { guard: 'followsAny', actions: ['unfollow', 'noteChange'] },
        tagFollowed: { guard: 'mayFollowTag', actions: ['followTag', 'noteChange'] },
        tagUnfollowed: { guard: 'followsAnyTag', actions: ['unfollowTag', 'noteChange'] },
        read: { guard: 'isAhead', actions: 'mark' },
        closed: { target: 'closed', actions: 'noteChange' },
      },
    },
    closed: { type: 'final' },
  },
})

export const feed = actor({ machine, codes: { absent: 0, open: 1, closed: 2 }, layout, events })
