// Reads the feed: runs a search (queries.ts), in slices if it takes long, and cuts its page.
//
// R1. A page that is shown with its texts ends before these exceed `contentBytesMax`, but has at
//     least one message.

import type { Rejection } from '../../kernel/rejection.ts'
import type { Forum } from '../forum.ts'
import { mayStillAct, rejectToken } from '../identities/commands.ts'
import type { State } from '../state.ts'
import { type Feed, type FeedRead, FeedSearch } from './queries.ts'

const restartsMax = 3
/** The limit for the bytes of the texts on one page. */
const contentBytesMax = 256 << 10

/**
 * Returns the feed, or a promise of it if finding it is too much work for one event-loop iteration.
 * The promise resolves to a rejection if there are too many such reads, or if the caller keeps
 * changing what it follows, or may no longer act. The work ends when the caller's connection does.
 */
export function readFeed(
  forum: Forum,
  read: FeedRead,
  connection: { readonly isGone: boolean },
): Feed | Promise<Feed | Rejection> {
  const empty = emptyFeed(forum.state, read)
  if (empty !== null) return empty
  let search = new FeedSearch(forum.state, read)
  if (!search.isLong && search.step()) return search.feed()
  let restarts = 0
  return forum.slicedWork.add<Feed | Rejection>(read.caller, () => {
    if (connection.isGone) return { rejected: 'overloaded' } // which nobody receives
    if (search.isStale) {
      if (restarts === restartsMax) return { rejected: 'overloaded' }
      restarts += 1
      search = new FeedSearch(forum.state, read)
    }
    if (!search.step()) return null
    return mayStillAct(forum, read.caller) ? search.feed() : rejectToken(forum, read.caller)
  })
}

/**
 * Returns what a search would find for most polls: nothing has been published since, and there is
 * nothing by which the caller chooses messages. Returns null for all others.
 */
function emptyFeed(state: State, { caller, after, type, tags }: FeedRead): Feed | null {
  const { messages, feeds, expiredPosition } = state
  const hasNewer = messages.count > 0 && messages.seq(messages.count - 1) > after
  if (hasNewer || type !== undefined || tags !== undefined) return null
  if (feeds.mentions(caller) > 0 || feeds.tagsOf(caller).length > 0) return null
  const changed = feeds.actors.columns.changedPosition.get(caller)
  return {
    position: Math.max(changed, expiredPosition),
    messages: [],
    mentions: [],
    tagged: new Map(),
    nextAfter: after,
    hasMore: false,
    mayLose: false,
    changed,
  }
}

/** Returns as much of the page as may be shown with its texts (R1). */
export function contentPage({ messages, erasedPosition }: State, feed: Feed): Feed {
  const position = Math.max(feed.position, erasedPosition) // a tombstone reveals its erasure
  let bytes = 0
  const end = feed.messages.findIndex((message) => {
    bytes += messages.bytes(message)
    return bytes > contentBytesMax
  })
  if (end === -1 || feed.messages.length === 1) return { ...feed, position }
  const shown = feed.messages.slice(0, Math.max(1, end))
  const nextAfter = messages.seq(shown.at(-1)!)
  return { ...feed, messages: shown, position, nextAfter, hasMore: true }
}

/**
 * Returns whether a page that was found earlier is still right: the caller follows the same
 * threads, and no message that is on the page because of what it said, or of the tags of its
 * thread, can have left it.
 */
export function isCurrent({ state }: Forum, caller: number, feed: Feed): boolean {
  const { changedPosition } = state.feeds.actors.columns
  const lossPosition = Math.max(state.erasedPosition, state.tags.changedPosition)
  const hasFewer = feed.mayLose && lossPosition > feed.position
  const hasExpired = state.expiredPosition > feed.position
  return changedPosition.get(caller) === feed.changed && !hasFewer && !hasExpired
}
