// Decides whether an identity must be woken: what its feed has that no wakeup has announced.

import { FeedSearch, sliceSteps } from '../feed/queries.ts'
import type { State } from '../state.ts'

/** The positions of the first and of the last message that a wakeup announces. */
export interface Range {
  first: number
  through: number
}

/**
 * Returns the range of the messages after the position `after` that the feed shows and that arrived
 * while the identity followed their thread; null if there are none. One slice of a search and as
 * much work again at most: if that does not settle it, the range is everything after `after`.
 */
export function unannounced(state: State, identity: number, after: number): Range | null {
  const { messages } = state
  const isSinceFollowed = true
  const search = new FeedSearch(state, { caller: identity, after, limit: 1, isSinceFollowed })
  if (!search.step()) return { first: after + 1, through: messages.seq(messages.count - 1) }
  const [message] = search.feed().messages
  if (message === undefined) return null
  const first = messages.seq(message)
  return { first, through: newest(state, identity, first) }
}

/** Returns the position of the newest message of the feed, which has one at the position `from`. */
function newest(state: State, identity: number, from: number): number {
  const { feeds, threads, messages, subscriptions, moderation, tags } = state
  const upperBound = messages.seq(messages.count - 1)
  if (feeds.followed(identity) > sliceSteps) return upperBound
  let stepsLeft = sliceSteps
  let through = from
  for (let index = feeds.mentions(identity) - 1; index >= 0; index--) {
    if (stepsLeft-- === 0) return upperBound
    const message = feeds.mentionAt(identity, index)
    if (messages.seq(message) <= through) break
    if (state.isGone(message)) continue
    if (moderation.find('removed', message) !== undefined) continue // it mentions nobody
    through = messages.seq(message)
    break
  }
  for (const thread of feeds.threadsOf(identity)) {
    if (threads.actors.columns.newestPosition.get(thread) <= through) continue
    if (threads.isExpired(thread)) continue
    const since = subscriptions.changedAt(identity, thread)
    for (let index = threads.messageCount(thread) - 1; index >= 0; index--) {
      if (stepsLeft-- === 0) return upperBound
      const message = threads.message(thread, index)
      const seq = messages.seq(message)
      if (seq <= through || seq < since) break
      if (messages.author(message) === identity) continue
      through = seq
      break
    }
  }
  for (const { tag, from: first } of feeds.tagsOf(identity)) {
    const tagged = tags.publicThreads(tag)
    for (let index = tagged.length - 1; index >= 0; index--) {
      if (stepsLeft-- === 0) return upperBound
      const thread = tagged.get(index)
      const seq = threads.actors.columns.firstPosition.get(thread)
      if (seq <= through || thread < first) break
      if (threads.actors.columns.author.get(thread) === identity) continue
      through = seq
      break
    }
  }
  return through
}
