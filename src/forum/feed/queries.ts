// The feed: messages by others in the threads that the caller follows now, messages that mention
// the caller, and the first messages of new public threads with a tag that the caller follows now,
// oldest first.
//
//   after ──▶ | message by message ──▶ | mentions, each thread and each tag ──▶ | new messages |
//                                      `after`                                  `end`
//
// A search examines messages one by one, or the followed threads, whichever is less work. For an
// agent that follows very many threads, the next few messages may fill a page already, so its
// search begins with as many messages as can be examined for the cost of its threads. `after` and
// `end` are where the second part begins, and where the log ended at that time.
//
// F1. One step of a search examines a bounded number of threads and messages (`sliceSteps`). A
//     search that needs more continues in later event-loop iterations (kernel/sliced-work.ts).
// F2. The result is exact as of the instant of the last step: when its caller follows or leaves a
//     thread or tag, another search takes its place, and it examines the messages that have arrived
//     in the meantime. Messages of threads that expire meanwhile are left out, so the page may be
//     shorter.
// F3. `position` covers everything shown (forum/threads/queries.ts, Q1), and the last change to
//     what is followed; for a caller who was ever mentioned, or who wants messages of one type, the
//     last removal of a message as well; for one who follows tags, the last change of tags.
// F4. A message is found once: in its thread, if the caller follows it; otherwise as a mention;
//     otherwise by the first of its thread's tags that the caller follows. A message that an
//     operator has removed mentions nobody, and is of no type.
//
// Neighbours: read-feed.ts runs searches for requests.

import { partition } from '../../base/partition.ts'
import type { Positioned } from '../forum.ts'
import type { State } from '../state.ts'
import { firstAfter, taggedOf } from '../threads/queries.ts'
import { FollowedTags } from './followed-tags.ts'

/** The number of threads and messages examined in one slice, which takes 0.1 to 0.6 ms. */
export const sliceSteps = 4096
/** Looking up whether a message's thread is followed costs as much as this many threads. */
const threadsPerMessage = 4

export interface FeedRead {
  caller: number
  /** Returns messages with a greater seq. */
  after: number
  limit: number
  /** `mentions`: only messages that mention the caller. */
  only?: 'mentions' | undefined
  /** Only messages of this type. The page then leads past all others that were examined. */
  type?: string | undefined
  /** Only messages of threads with all of these tags, in the same way. */
  tags?: readonly string[] | undefined
  /** Whether a thread counts only from the point at which the caller began to follow it. */
  isSinceFollowed?: boolean
  /** Whether the caller needs only the count, so that any `limit` messages in any order will do. */
  isCount?: boolean
}

export interface Feed extends Positioned {
  /** Messages by others in threads followed now, or that mention the caller, oldest first. */
  messages: number[]
  /** The messages among them that mention the caller, in the same order. */
  mentions: number[]
  /** The tags that the caller follows, by those of the messages that begin a thread with one. */
  tagged: ReadonlyMap<number, string>
  nextAfter: number
  hasMore: boolean
  /** Whether erasing a message, or changing tags, may take a message off the page. */
  mayLose: boolean
  /** The position of the last change to what the caller follows. */
  changed: number
}

const everything = () => true
/** The followed threads that one slice examines. */
const chunk = new Uint32Array(sliceSteps)

/** Mentions, threads and tags, for messages after a position and with a number below `end`. */
interface ThreadScan {
  readonly after: number
  end: number
  /** The index of the next mention among all mentions of the caller. */
  mention: number
  /** The index of the next followed thread, and that of its next message; -1: not begun. */
  thread: number
  message: number
  /** Messages because of tags. */
  readonly tagged: Iterator<number, void>
}

export class FeedSearch {
  readonly #state: State
  readonly #read: FeedRead
  /** One message more than the page has, which shows whether there are more. */
  readonly #count: number
  /** The numbers of the messages found, oldest first, except while threads are being examined. */
  #found: number[] = []
  readonly #tags: FollowedTags
  /** As of the beginning: positions of the last change to what the caller follows, and of tags. */
  readonly #changed: number
  readonly #tagged: number
  /** The number of operators' acts, likewise. */
  readonly #acts: number
  /** Message by message: the next one, and that at which this stops. */
  #messages = { next: 0, stop: 0 }
  /** The second part of the search, while it is in that part. */
  #threads: ThreadScan | null = null
  #stepsLeft = 0
  #isWanted: (message: number) => boolean = everything

  constructor(state: State, read: FeedRead) {
    this.#state = state
    this.#read = read
    this.#count = read.limit + 1
    this.#tags = new FollowedTags(state, read.caller)
    this.#changed = this.#changedPosition
    this.#tagged = this.#taggedPosition
    this.#acts = state.moderation.added
    const { messages, feeds } = state
    const { caller, after, only } = read
    const followed = feeds.followed(caller)
    const messagesMax = Math.floor(followed / threadsPerMessage)
    const tooFarBack = messages.count - 1 - messagesMax
    const hasMany = tooFarBack >= 0 && messages.seq(tooFarBack) > after
    const hasFew = hasMany && followed <= sliceSteps
    if (only === 'mentions' || hasFew) this.#threads = this.#threadsAfter(after)
    else {
      const next = this.#numberAfter(after)
      this.#messages = { next, stop: hasMany ? next + messagesMax : Number.POSITIVE_INFINITY }
    }
  }

  /** Whether it is known from the start that one step may not be enough. */
  get isLong(): boolean {
    return this.#threads === null && this.#state.messages.count - this.#messages.next > sliceSteps
  }

  /** Whether the caller has followed or left a thread, or may have lost a message: begin anew. */
  get isStale(): boolean {
    if (this.#mayLose && this.#state.moderation.added !== this.#acts) return true
    return this.#changedPosition !== this.#changed || this.#taggedPosition !== this.#tagged
  }

  /** Does one slice of the search, which must not be stale. Returns whether it is finished. */
  step(stepsMax = sliceSteps): boolean {
    this.#stepsLeft = stepsMax
    this.#isWanted = this.#choice()
    if (this.#threads === null) {
      if (!this.#searchMessages()) return false
      const { next, stop } = this.#messages
      if (this.#isFull || stop === Number.POSITIVE_INFINITY) return true
      this.#threads = this.#threadsAfter(this.#state.messages.seq(next - 1))
    }
    const scan = this.#threads
    if (this.#read.only === 'mentions') {
      scan.end = this.#state.messages.count
      return this.#searchMentions(scan)
    }
    const isDone = this.#searchMentions(scan) && this.#searchThreads(scan) && this.#searchTags(scan)
    if (!isDone) return false
    if (!this.#read.isCount) this.#cut(scan)
    if (this.#isFull) return true
    this.#threads = null
    this.#messages = { next: scan.end, stop: Number.POSITIVE_INFINITY }
    return this.#searchMessages()
  }

  /** Returns what was found. Must be called once, after the last step. */
  feed(): Feed {
    const { messages, feeds, position, expiredPosition, erasedPosition } = this.#state
    const [found, { caller, after, limit, isCount }] = [this.#found, this.#read]
    // `hasMore` reveals one message more than is shown.
    const newest = isCount ? Math.max(-1, ...found) : (found.at(-1) ?? -1)
    const hasMore = found.length > limit
    if (hasMore) found.length = limit
    const isWhole = expiredPosition === 0 // nothing has ever expired
    const shown = isWhole ? found : found.filter((message) => !this.#state.isGone(message))
    const hasMentions = !isCount && feeds.mentions(caller) > 0
    const mentions = hasMentions ? shown.filter((message) => this.#isMention(message)) : []
    const last = found.length > 0 ? messages.seq(found.at(-1)!) : after
    // All messages were examined, so those that were not chosen need not be examined again.
    const end = !this.#isChoosing || hasMore ? last : Math.max(after, position)
    return {
      position: Math.max(
        newest === -1 ? 0 : messages.seq(newest),
        end > last ? position : 0,
        this.#mayLose ? Math.max(erasedPosition, this.#tagged) : 0,
        expiredPosition,
        this.#changed,
      ),
      messages: shown,
      mentions,
      tagged: this.#tags.among(isCount ? [] : shown),
      nextAfter: end,
      hasMore,
      mayLose: this.#isChoosing || !this.#tags.areNone || mentions.length > 0,
      changed: this.#changed,
    }
  }

  get #changedPosition(): number {
    return this.#state.feeds.actors.columns.changedPosition.get(this.#read.caller)
  }

  /** Whether messages are chosen by their type or by the tags of their threads. */
  get #isChoosing(): boolean {
    return this.#read.type !== undefined || this.#read.tags !== undefined
  }

  /** Returns the function that chooses messages. It is valid until the next record. */
  #choice(): (message: number) => boolean {
    const state = this.#state
    if (!this.#isChoosing && state.expiredPosition === 0) return everything
    const isOfType = state.messages.ofType(this.#read.type)
    const { has } = taggedOf(state, this.#read)
    const isTagged = (message: number) => has(state.messages.thread(message))
    return (message) => isOfType(message) && isTagged(message) && !state.isGone(message)
  }

  /** Whether a record may take a message off the page that mentions the caller, or is chosen. */
  get #mayLose(): boolean {
    if (this.#isChoosing || !this.#tags.areNone) return true
    return this.#state.feeds.mentions(this.#read.caller) > 0
  }

  /** The position of the last change of tags; 0: the caller follows none, and chooses by none. */
  get #taggedPosition(): number {
    const isByTags = this.#read.tags !== undefined || !this.#tags.areNone
    return isByTags ? this.#state.tags.changedPosition : 0
  }

  get #isFull(): boolean {
    return this.#found.length >= this.#count
  }

  /** Examines messages one by one; returns false if the slice ended first. */
  #searchMessages(): boolean {
    const { messages } = this.#state
    const { caller } = this.#read
    const scan = this.#messages
    const tags = this.#tags
    const stop = Math.min(scan.stop, messages.count)
    let index = this.#firstMention(scan.next)
    let mention = this.#mentionAt(index)
    while (scan.next < stop && !this.#isFull) {
      if (this.#stepsLeft <= 0) return false
      this.#stepsLeft -= 1
      const message = scan.next++
      const isMention = message === mention
      if (isMention) mention = this.#mentionAt(++index)
      if (messages.author(message) === caller || !this.#isWanted(message)) continue
      const isMentioned = isMention && this.#isShown(message)
      const isFollowed = isMentioned || this.#isFollowed(message)
      if (isFollowed || tags.of(message) !== -1) this.#found.push(message)
    }
    return true
  }

  /** Returns the index of the caller's first mention in a message with at least this number. */
  #firstMention(message: number): number {
    const [{ feeds }, { caller }] = [this.#state, this.#read]
    const count = feeds.mentions(caller)
    return count === 0 ? 0 : partition(count, (index) => feeds.mentionAt(caller, index) < message)
  }

  /** Returns the message at this index among those that mention the caller; -1 at the end. */
  #mentionAt(index: number): number {
    const [{ feeds }, { caller }] = [this.#state, this.#read]
    return index < feeds.mentions(caller) ? feeds.mentionAt(caller, index) : -1
  }

  /** Returns whether a message is wanted because its thread is followed. */
  #isFollowed(message: number): boolean {
    const { messages, subscriptions } = this.#state
    const { caller } = this.#read
    const thread = messages.thread(message)
    if (!subscriptions.isSubscribed(caller, thread)) return false
    return messages.seq(message) > this.#beginningIn(thread)
  }

  #beginningIn(thread: number): number {
    const { caller, isSinceFollowed } = this.#read
    // The first message of a private thread has the position at which its members follow it.
    return isSinceFollowed ? this.#state.subscriptions.changedAt(caller, thread) - 1 : 0
  }

  #isShown(message: number): boolean {
    return this.#state.moderation.find('removed', message) === undefined
  }

  #isMention(message: number): boolean {
    const isThere = this.#mentionAt(this.#firstMention(message)) === message
    return isThere && this.#isShown(message)
  }

  /**
   * Examines the messages that mention the caller, except those in followed threads, which are
   * found there. Returns false if the slice ended first.
   */
  #searchMentions(scan: ThreadScan): boolean {
    const { only, isCount } = this.#read
    const isEnough = only === 'mentions' || isCount
    for (; !(isEnough && this.#isFull); scan.mention++) {
      const message = this.#mentionAt(scan.mention)
      if (message === -1 || message >= scan.end) return true
      if (this.#stepsLeft <= 0) return false
      this.#stepsLeft -= 1
      const isElsewhere = only !== 'mentions' && this.#isFollowed(message)
      if (isElsewhere || !this.#isShown(message)) continue
      if (this.#isWanted(message)) this.#add(message, scan)
    }
    return true
  }

  /** Returns the second part of the search, which begins after this position. */
  #threadsAfter(after: number): ThreadScan {
    const { messages, feeds } = this.#state
    const hasMentions = feeds.mentions(this.#read.caller) > 0
    const mention = hasMentions ? this.#firstMention(this.#numberAfter(after)) : 0
    const tagged = this.#tags.after(after, () => scan.end)
    const scan = { after, end: messages.count, mention, thread: 0, message: -1, tagged }
    return scan
  }

  #numberAfter(after: number): number {
    const { messages } = this.#state
    const { count } = messages
    if (count > 0 && messages.seq(count - 1) <= after) return count // most polls
    return partition(count, (message) => messages.seq(message) <= after)
  }

  /** Examines the threads that the caller follows; returns false if the slice ended first. */
  #searchThreads(scan: ThreadScan): boolean {
    const { feeds, threads } = this.#state
    const { caller } = this.#read
    const { newestPosition } = threads.actors.columns
    const from = scan.thread
    const followed = feeds.followed(caller)
    const to = Math.min(followed, from + Math.max(0, this.#stepsLeft))
    feeds.copyThreads(caller, from, to, chunk)
    for (; scan.thread < to; scan.thread++) {
      if (this.#read.isCount && this.#isFull) return true
      if (this.#stepsLeft <= 0) return false
      this.#stepsLeft -= 1
      const thread = chunk[scan.thread - from]
      if (newestPosition.get(thread) > scan.after && !this.#addFrom(thread, scan)) return false
    }
    return to === followed
  }

  /** Adds the wanted messages by others of a thread; returns false if the slice ended first. */
  #addFrom(thread: number, scan: ThreadScan): boolean {
    const { threads, messages } = this.#state
    const count = threads.messageCount(thread)
    if (scan.message === -1) {
      const after = Math.max(scan.after, this.#beginningIn(thread))
      scan.message = firstAfter(this.#state, thread, after)
      if (after > 0) this.#stepsLeft -= 2 * (32 - Math.clz32(count)) // a binary search
    }
    for (; scan.message < count; scan.message++) {
      if (this.#read.isCount && this.#isFull) break
      if (this.#stepsLeft <= 0) return false
      this.#stepsLeft -= 1
      const message = threads.message(thread, scan.message)
      if (message >= scan.end) break
      const isByOther = messages.author(message) !== this.#read.caller
      if (isByOther && this.#isWanted(message)) this.#add(message, scan)
    }
    scan.message = -1
    return true
  }

  /**
   * Examines the threads with the tags that the caller follows, except what is found elsewhere
   * (F4). Returns false if the slice ended first.
   */
  #searchTags(scan: ThreadScan): boolean {
    while (!(this.#read.isCount && this.#isFull)) {
      if (this.#stepsLeft <= 0) return false
      this.#stepsLeft -= threadsPerMessage
      const { done, value: message } = scan.tagged.next()
      if (done) return true
      if (message === -1 || this.#state.messages.author(message) === this.#read.caller) continue
      const isElsewhere = this.#isFollowed(message) || this.#isMention(message)
      if (!isElsewhere && this.#isWanted(message)) this.#add(message, scan)
    }
    return true
  }

  #add(message: number, scan: ThreadScan): void {
    this.#found.push(message)
    if (this.#found.length === 2 * this.#count) this.#cut(scan) // a count never reaches this
  }

  /** Sorts the messages found, and keeps as many of the oldest as are wanted. */
  #cut(scan: ThreadScan): void {
    const found = this.#found
    if (found.length > 1) found.sort((a, b) => a - b)
    if (found.length < this.#count) return
    found.length = this.#count
    scan.end = found[this.#count - 1]
  }
}
