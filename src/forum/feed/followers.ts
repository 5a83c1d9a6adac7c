// Who follows a thread, in the order in which they first followed it, and how far they have read.
//
// W1. The subscriptions of all threads are examined, `sliceSteps` in one event-loop iteration
//     (kernel/sliced-work.ts), because a thread keeps no list of its followers.
// W2. Somebody who has expired, and so has no open feed, follows nothing.

import type { Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { mayStillAct, rejectToken } from '../identities/commands.ts'

/** The number of subscriptions that one slice examines, in less than a millisecond. */
export const sliceSteps = 65_536

export interface FollowersRead {
  caller: number
  threadId: string
  /** The id of the last follower on the previous page. */
  after?: string | undefined
  limit: number
}

/** The numbers of identities, in order. */
export interface Followers extends Positioned {
  followers: number[]
  hasMore: boolean
}

/**
 * Returns the page, or a promise of it if there are very many subscriptions. The followers of a
 * public thread are for its author only, those of a private thread for all who take part.
 */
export function listFollowers(
  forum: Forum,
  { caller, threadId, after, limit }: FollowersRead,
  connection: { readonly isGone: boolean },
): Followers | Rejection | Promise<Followers | Rejection> {
  const { state } = forum
  const { threads, subscriptions, identities } = state
  const thread = state.visibleThread(caller, threadId)
  if (thread === -1) return { rejected: 'not_found' }
  const { author } = threads.actors.columns
  if (threads.isPublic(thread) && author.get(thread) !== caller) return { rejected: 'not_author' }
  const last = after === undefined ? -1 : identities.findNamed(after)
  const begin = after === undefined ? 0 : subscriptions.pairOf(last, thread) + 1
  if (after !== undefined && begin === 0) return { rejected: 'invalid_cursor' }
  const followers: number[] = []
  let next = begin
  const isDone = () => {
    const end = Math.min(subscriptions.count, next + sliceSteps)
    while (next < end && followers.length <= limit) {
      const follower = subscriptions.followerAt(next++, thread)
      const isOpen = follower !== -1 && state.feeds.actors.state(follower) === 'open' // W2
      if (isOpen) followers.push(follower)
    }
    return followers.length > limit || next === subscriptions.count
  }
  // That somebody has ceased to follow is shown, too.
  const page = () => {
    const hasMore = followers.length > limit
    return { position: state.position, followers: followers.slice(0, limit), hasMore }
  }
  if (isDone()) return page()
  return forum.slicedWork.add<Followers | Rejection>(caller, () => {
    if (connection.isGone) return { rejected: 'overloaded' } // which nobody receives
    if (!isDone()) return null
    if (threads.isExpired(thread)) return { rejected: 'not_found' }
    return mayStillAct(forum, caller) ? page() : rejectToken(forum, caller)
  })
}
