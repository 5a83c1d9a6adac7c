// Reads a thread's messages and the list of threads; the feed is read by forum/feed/read-feed.ts. A
// query returns which messages and threads to show, by number; the routes write their bytes.
//
// Q1. `position` is that of the newest thing shown: the answer waits until it is durable, so that
//     nothing that was ever shown can be lost.
// Q2. The work is proportional to what is shown: positions are found by binary search. To choose
//     messages by their type, or threads by their tags or because they are not claimed, or to pass
//     over threads that have expired, one request examines at most `chosenAmong` of them, so a page
//     may be shorter than its limit, or empty, although more of them follow.

import { partition } from '../../base/partition.ts'
import type { Holder } from '../../base/shares.ts'
import type { Rejection } from '../../kernel/rejection.ts'
import { listClaimed } from '../claims/queries.ts'
import type { Forum, Positioned } from '../forum.ts'
import type { State } from '../state.ts'
import type { TagFilter } from '../tags/table.ts'

/** The number of messages or threads that one request examines, in less than a millisecond. */
export const chosenAmong = 8192

export interface ThreadRead {
  caller: number
  threadId: string
  /** Returns messages with a greater seq. */
  after: number
  /** If given, the page has the last messages with a lower seq instead. */
  before?: number | undefined
  limit: number
  /** Returns only messages of this type. */
  type?: string | undefined
}

export interface ThreadPage extends Positioned {
  thread: number
  /** The page has the messages of the thread with index `first` up to, but not including, `end`. */
  first: number
  end: number
  /** The numbers of those among them that are shown, if not all are. */
  chosen: number[] | undefined
  nextAfter: number
  /** On a page that was read with `before`: the `before` of the preceding page, or null. */
  nextBefore: number | null | undefined
  hasMore: boolean
}

export function readThread(forum: Forum, read: ThreadRead): ThreadPage | Rejection {
  const { state } = forum
  const thread = state.visibleThread(read.caller, read.threadId)
  if (thread === -1) return { rejected: 'not_found' }

  const { messages, threads } = state
  const count = threads.messageCount(thread)
  const position = threads.actors.columns.changedPosition.get(thread) // its count is shown too
  const seqOf = (index: number) => messages.seq(threads.message(thread, index))
  if (read.before !== undefined) {
    const { before } = read
    const end = partition(count, (i) => seqOf(i) < before)
    const { first, chosen } = pageBefore(state, thread, end, read)
    const nextAfter = end > 0 ? seqOf(end - 1) : 0
    const nextBefore = first > 0 ? seqOf(first) : null
    return { position, thread, first, end, chosen, nextAfter, nextBefore, hasMore: first > 0 }
  }
  const first = firstAfter(state, thread, read.after)
  const { end, chosen } = pageFrom(state, thread, first, read)
  const nextAfter = end > first ? seqOf(end - 1) : read.after
  const [nextBefore, hasMore] = [undefined, end < count]
  return { position, thread, first, end, chosen, nextAfter, nextBefore, hasMore }
}

type Selection = Pick<ThreadRead, 'limit' | 'type'>

/** Returns where the page that begins with the `first` message of the thread ends. */
function pageFrom(
  { threads, messages }: State,
  thread: number,
  first: number,
  { limit, type }: Selection,
): Pick<ThreadPage, 'end' | 'chosen'> {
  const count = threads.messageCount(thread)
  if (type === undefined) return { end: Math.min(first + limit, count), chosen: undefined }
  const isChosen = messages.ofType(type)
  const chosen: number[] = []
  let end = first
  for (const last = Math.min(first + chosenAmong, count); end < last && chosen.length < limit; ) {
    const message = threads.message(thread, end++)
    if (isChosen(message)) chosen.push(message)
  }
  return { end, chosen }
}

/** Returns where the page begins that ends before the message with index `end`. */
function pageBefore(
  { threads, messages }: State,
  thread: number,
  end: number,
  { limit, type }: Selection,
): Pick<ThreadPage, 'first' | 'chosen'> {
  if (type === undefined) return { first: Math.max(0, end - limit), chosen: undefined }
  const isChosen = messages.ofType(type)
  const chosen: number[] = []
  let first = end
  for (const last = Math.max(0, end - chosenAmong); first > last && chosen.length < limit; ) {
    const message = threads.message(thread, --first)
    if (isChosen(message)) chosen.unshift(message)
  }
  return { first, chosen }
}

export interface ListRead {
  caller: number
  /** Returns threads created before this position. */
  before: number
  limit: number
  /** Whether only threads that are claimed are listed, or only others. */
  claimed?: boolean | undefined
  /** Returns only threads with all of these tags. */
  tags?: readonly string[] | undefined
}

export interface ThreadList extends Positioned {
  /** Newest first. */
  threads: number[]
  /** The `before` of the next page, or null if this is the last. */
  nextBefore: number | null
}

export function listThreads({ state }: Forum, read: ListRead): ThreadList {
  const { caller, before, limit, claimed } = read
  const { firstPosition, changedPosition } = state.threads.actors.columns
  const isOlder = (thread: number) => firstPosition.get(thread) < before
  const { publics, has } = taggedOf(state, read)
  if (claimed === true) return listClaimed(state, { ...read, has }, firstPosition)
  const privateCount = caller === -1 ? 0 : state.privateThreads.length(caller)

  // Both lists are in the order of creation, as are thread numbers, so merge them from the end.
  let publicEnd = partition(publics.length, (i) => isOlder(publics.get(i)))
  let privateEnd = partition(privateCount, (i) => isOlder(state.privateThreads.get(caller, i)))
  const hasExpired = state.expiredPosition > 0
  const threads: number[] = []
  // A thread may be missing because its claim or its tags have changed: the page shows that, too.
  const tagged = read.tags === undefined ? 0 : state.tags.changedPosition
  let position = claimed === undefined ? Math.max(tagged, state.expiredPosition) : state.position
  let last = -1
  for (let i = 0; i < chosenAmong && threads.length < limit && publicEnd + privateEnd > 0; i++) {
    const newestPublic = publicEnd > 0 ? publics.get(publicEnd - 1) : -1
    const newestPrivate = privateEnd > 0 ? state.privateThreads.get(caller, privateEnd - 1) : -1
    const thread = Math.max(newestPublic, newestPrivate)
    if (thread === newestPublic) publicEnd -= 1
    else privateEnd -= 1
    last = thread
    if ((hasExpired && state.threads.isExpired(thread)) || !has(thread)) continue
    if (claimed === false && state.claims.of(thread) !== null) continue
    threads.push(thread)
    position = Math.max(position, changedPosition.get(thread))
  }
  const isLast = publicEnd + privateEnd === 0
  return { position, threads, nextBefore: isLast ? null : firstPosition.get(last) }
}

const everything = () => true

/** Returns the filter of a list, which all threads pass if no tag is wanted. */
export function taggedOf({ threads, tags }: State, read: Pick<ListRead, 'tags'>): TagFilter {
  const { tags: names = [] } = read
  return names.length === 0 ? { publics: threads.public, has: everything } : tags.filter(names)
}

/** Returns the index of the thread's first message with a greater seq than `after`. */
export function firstAfter({ threads, messages }: State, thread: number, after: number): number {
  const count = threads.messageCount(thread)
  if (after === 0) return 0
  return partition(count, (i) => messages.seq(threads.message(thread, i)) <= after)
}

/** The greatest number of unseen messages that is reported, and of messages that are examined. */
export const [unseenMax, unseenSteps] = [1_000, 10_000]

/**
 * Counts the messages of the thread with a greater seq than `seen` that precede `message` and are
 * by others than its author. These never change, so neither does the result.
 */
export function countUnseen(state: State, message: number, seen: number): number {
  const { threads, messages } = state
  const thread = messages.thread(message)
  const author = messages.author(message)
  const begin = firstAfter(state, thread, seen)
  const own = firstAfter(state, thread, messages.seq(message) - 1)
  const end = Math.min(own, begin + unseenSteps)
  let unseen = 0
  for (let i = begin; i < end && unseen < unseenMax; i++) {
    if (messages.author(threads.message(thread, i)) !== author) unseen += 1
  }
  return unseen
}

/** Returns the number of messages with a lower seq than `before`. */
export function firstBefore({ messages }: State, before: number): number {
  return partition(messages.count, (message) => messages.seq(message) < before)
}

const messageId = /^msg_[0-9a-f]{32}$/
/** The number of ids that are compared in one slice. */
const sliceIds = 65_536

/** Resolves to the number of the message with this id, or -1. Newer messages are found sooner. */
export function findMessage(
  { state, slicedWork }: Forum,
  holder: Holder,
  id: string,
): Promise<number | Rejection> {
  if (!messageId.test(id)) return Promise.resolve(-1)
  const { messages } = state
  let end = messages.count
  return slicedWork.add(holder, () => {
    const begin = Math.max(0, end - sliceIds)
    const message = messages.find(id, begin, end)
    end = begin
    if (message !== -1 && state.isGone(message)) return -1
    return message !== -1 || begin === 0 ? message : null
  })
}
