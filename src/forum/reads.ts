// Reading: a thread's messages, the list of threads, an identity's feed. A query says which
// messages and threads to show, by number; api/ writes their bytes.
//
// Q1. `position` is that of the newest thing shown: the answer waits until it is durable, so
//     nothing that was ever shown can be lost.
// Q2. Work follows what is shown. A feed looks besides at every message since its cursor (5 ns) or
//     every thread that is followed (15 ns), whichever is less, and at the reader's own messages
//     after the cursor in threads with news (15 ns). Where both are many, what a poll finds is
//     remembered (wide-feed.ts).

import { Heap, type HeapEntry } from '../state/heap.ts'
import { partition } from '../state/partition.ts'
import type { State } from '../state/state.ts'
import type { Forum, Positioned, Rejection } from './forum.ts'
import { isWide, wideFeed } from './wide-feed.ts'

export interface ThreadRead {
  caller: number
  threadId: string
  /** Messages with a greater seq. */
  after: number
  limit: number
}

export interface ThreadPage extends Positioned {
  thread: number
  /** The messages with index `first` up to `end` of the thread. */
  first: number
  end: number
  nextAfter: number
  hasMore: boolean
}

export function readThread(forum: Forum, read: ThreadRead): ThreadPage | Rejection {
  const { state } = forum
  const thread = state.visibleThread(read.caller, read.threadId)
  if (thread === -1) return { rejected: 'not_found' }

  const count = state.threads.messageCount(thread)
  const first = firstAfter(state, thread, read.after)
  const end = Math.min(first + read.limit, count)
  return {
    position: state.threads.actors.columns.changedPosition.get(thread), // its count is shown too
    thread,
    first,
    end,
    nextAfter:
      end > first ? state.messages.seq(state.threads.message(thread, end - 1)) : read.after,
    hasMore: end < count,
  }
}

export interface ListRead {
  caller: number
  /** Threads created before this position. */
  before: number
  limit: number
}

export interface ThreadList extends Positioned {
  /** Newest first. */
  threads: number[]
  /** For the next page, or null when this is the last. */
  nextBefore: number | null
}

export function listThreads({ state }: Forum, { caller, before, limit }: ListRead): ThreadList {
  const { firstPosition, changedPosition } = state.threads.actors.columns
  const isOlder = (thread: number) => firstPosition.get(thread) < before
  const publics = state.threads.public
  const privateCount = caller === -1 ? 0 : state.privateThreads.length(caller)

  // Both lists are in order of creation, and thread numbers are too: merge them from the end.
  let publicEnd = partition(publics.length, (i) => isOlder(publics.get(i)))
  let privateEnd = partition(privateCount, (i) => isOlder(state.privateThreads.get(caller, i)))
  const threads: number[] = []
  let position = 0
  while (threads.length < limit && publicEnd + privateEnd > 0) {
    const newestPublic = publicEnd > 0 ? publics.get(publicEnd - 1) : -1
    const newestPrivate = privateEnd > 0 ? state.privateThreads.get(caller, privateEnd - 1) : -1
    const thread = Math.max(newestPublic, newestPrivate)
    if (thread === newestPublic) publicEnd -= 1
    else privateEnd -= 1
    threads.push(thread)
    position = Math.max(position, changedPosition.get(thread))
  }
  const isLast = publicEnd + privateEnd === 0
  return { position, threads, nextBefore: isLast ? null : firstPosition.get(threads.at(-1)!) }
}

export interface FeedRead {
  caller: number
  after: number
  limit: number
}

export interface Feed extends Positioned {
  /** Messages by others in threads followed now, oldest first. */
  messages: number[]
  nextAfter: number
  hasMore: boolean
}

export function readFeed({ state }: Forum, { caller, after, limit }: FeedRead): Feed {
  const found = isWide(state, caller, after)
    ? wideFeed(state, caller, after, limit + 1)
    : mergedFeed(state, caller, after, limit + 1)

  // `hasMore` tells of one message more than is shown.
  const newest = found.at(-1) ?? -1
  const hasMore = found.length > limit
  if (hasMore) found.length = limit
  // What the caller follows decides what is shown: a page is not older than its last change.
  const changed = state.feeds.actors.columns.changedPosition.get(caller)
  return {
    position: newest === -1 ? changed : Math.max(state.messages.seq(newest), changed),
    messages: found,
    nextAfter: found.length > 0 ? state.messages.seq(found.at(-1)!) : after,
    hasMore,
  }
}

/** The oldest messages after the cursor, at most `count`. */
function mergedFeed(state: State, caller: number, after: number, count: number): number[] {
  const heap = new Heap<Cursor>()
  for (const thread of threadsWithNews(state, caller, after)) {
    const cursor = { key: 0, place: 0, thread, index: firstAfter(state, thread, after) }
    if (skipOwn(state, caller, cursor)) heap.add(cursor)
  }
  const messages: number[] = []
  while (messages.length < count && heap.size > 0) {
    const cursor = heap.first
    messages.push(cursor.key)
    cursor.index += 1
    if (skipOwn(state, caller, cursor)) heap.moved(cursor)
    else heap.delete(cursor)
  }
  return messages
}

/** A followed thread costs as much to look at as so many messages. */
const messagesPerThread = 3

/** The threads that are looked at for one poll. */
let looked = new Uint32Array(1024)

/** The threads that the caller follows with a message after this position. */
function threadsWithNews(state: State, caller: number, after: number): number[] {
  const { messages, subscriptions, feeds } = state
  const { newestPosition } = state.threads.actors.columns
  const found: number[] = []
  const followed = feeds.followed(caller)
  const tooFarBack = messages.count - 1 - followed * messagesPerThread
  if (tooFarBack < 0 || messages.seq(tooFarBack) <= after) {
    for (let message = messages.count - 1; message >= 0; message--) {
      const seq = messages.seq(message)
      if (seq <= after) break
      const thread = messages.thread(message)
      const isNewest = newestPosition.get(thread) === seq
      if (isNewest && subscriptions.isSubscribed(caller, thread)) found.push(thread)
    }
  } else {
    if (looked.length < followed) looked = new Uint32Array(2 * followed)
    feeds.copyThreads(caller, looked)
    for (let i = 0; i < followed; i++) {
      if (newestPosition.get(looked[i]) > after) found.push(looked[i])
    }
  }
  return found
}

/** A place in a thread; the key is the message there. */
interface Cursor extends HeapEntry {
  thread: number
  index: number
}

/** Moves the cursor to the next message that the reader did not write; false: there is none. */
function skipOwn({ threads, messages }: State, reader: number, cursor: Cursor): boolean {
  const count = threads.messageCount(cursor.thread)
  for (; cursor.index < count; cursor.index++) {
    cursor.key = threads.message(cursor.thread, cursor.index)
    if (messages.author(cursor.key) !== reader) return true
  }
  return false
}

/** Index of the thread's first message with a greater seq than `after`. */
function firstAfter({ threads, messages }: State, thread: number, after: number): number {
  const count = threads.messageCount(thread)
  if (after === 0) return 0
  return partition(count, (i) => messages.seq(threads.message(thread, i)) <= after)
}
