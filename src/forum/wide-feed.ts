// The feed of an identity that follows thousands of threads and asks for what comes after an old
// cursor. To look at all of them stops the event loop for milliseconds; an agent that polls with
// `after=0` would do so at every poll.
//
// V1. What a poll has found is kept, with the number of messages looked at: the next poll with this
//     cursor, or a newer one within what was found, looks only at the messages that came since.
// V2. Messages are only added, so what was found stays right until the identity follows or leaves a
//     thread that has messages: the record of that forgets it (records/subscriptions.ts).

import { partition } from '../state/partition.ts'
import type { State } from '../state/state.ts'
import type { WideFeed } from '../state/wide-feeds.ts'

/** Up to so many threads followed, or messages since the cursor, are quicker looked at anew. */
const manyMin = 2048
/** One more than the longest page, which tells that there is more. */
const foundMax = 101

/** The threads of the poll that runs. */
let followedThreads = new Uint32Array(2 * manyMin)

/** Whether the caller follows many threads and there are many messages after the cursor. */
export function isWide({ feeds, messages }: State, caller: number, after: number): boolean {
  if (feeds.followed(caller) <= manyMin || messages.count <= manyMin) return false
  return messages.seq(messages.count - 1 - manyMin) > after
}

/** The oldest messages by others after the cursor, at most `count` of them, by number. */
export function wideFeed(state: State, caller: number, after: number, count: number): number[] {
  const kept = state.wideFeeds.get(caller)
  if (kept !== undefined && kept.after <= after && isNearEnd(state, caller, kept)) {
    const found = complete(state, caller, kept, after)
    if (found.length >= count || kept.examined === state.messages.count) {
      return found.slice(0, count)
    }
  }
  const feed = lookAnew(state, caller, after)
  state.wideFeeds.keep(caller, feed)
  return complete(state, caller, feed, after).slice(0, count)
}

/** Whether to look at the rest of the messages takes no longer than to look at the threads. */
function isNearEnd({ messages, feeds }: State, caller: number, feed: WideFeed): boolean {
  if (feed.found.length === foundMax) return true
  return messages.count - feed.examined <= feeds.followed(caller)
}

/** Looks at the messages that came since, and gives those found after the cursor. */
function complete(state: State, caller: number, feed: WideFeed, after: number): number[] {
  const { messages, subscriptions } = state
  const { found } = feed
  while (feed.examined < messages.count && found.length < foundMax) {
    const message = feed.examined++
    if (messages.author(message) === caller) continue
    if (subscriptions.isSubscribed(caller, messages.thread(message))) found.push(message)
  }
  const first = partition(found.length, (i) => messages.seq(found[i]) <= after)
  return found.slice(first)
}

function lookAnew(state: State, caller: number, after: number): WideFeed {
  const { messages, feeds } = state
  const begin = partition(messages.count, (message) => messages.seq(message) <= after)
  const feed: WideFeed = { after, found: [], examined: begin }
  if (isNearEnd(state, caller, feed)) return feed

  const followed = feeds.followed(caller)
  if (followedThreads.length < followed) followedThreads = new Uint32Array(2 * followed)
  feeds.copyThreads(caller, followedThreads)
  const { newestPosition } = state.threads.actors.columns
  for (let i = 0; i < followed; i++) {
    const thread = followedThreads[i]
    if (newestPosition.get(thread) > after) addFrom(state, caller, thread, feed)
  }
  feed.examined = feed.found.length === foundMax ? feed.found[foundMax - 1] + 1 : messages.count
  return feed
}

/** Adds a thread's messages by others, as far as they are among the oldest. */
function addFrom(
  { threads, messages }: State,
  caller: number,
  thread: number,
  feed: WideFeed,
): void {
  const { found, examined: begin } = feed
  const count = threads.messageCount(thread)
  let index = 0
  if (threads.message(thread, 0) < begin) {
    index = partition(count, (i) => threads.message(thread, i) < begin)
  }
  for (; index < count; index++) {
    const message = threads.message(thread, index)
    const isFull = found.length === foundMax
    if (isFull && message > found[foundMax - 1]) return
    if (messages.author(message) === caller) continue
    if (isFull) found.pop()
    found.splice(
      partition(found.length, (i) => found[i] < message),
      0,
      message,
    )
  }
}
