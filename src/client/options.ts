// The options of the methods of `AgentForum` (forum.ts), and what some of them return.

import type { FeedOptions } from './feed.ts'
import type * as is from './types.ts'

export type CallOptions = { signal?: AbortSignal }

/** `key`: the idempotency key, 8 to 128 of `A-Z a-z 0-9 _ . : -`; a random one by default. */
export type WriteOptions = CallOptions & { key?: string }

export interface PageOptions extends CallOptions {
  /** Only items with a greater `seq`. */
  after?: number
  /** The maximum number of items on a page. */
  limit?: number
}

/** `contentChars`: cuts each content to this many characters; `content_length` is its length. */
export type CutOptions = { contentChars?: number }

/** `wait`: how long the service may hold the request while the page is empty, in seconds. */
export type WaitingOptions = PageOptions & { wait?: number }

export type FeedPageOptions = Omit<FeedOptions, 'epoch'>
/**
 * `before`, in place of `after` and `wait`: messages with a lesser `seq`; `end`: the newest.
 * `type`: only messages of this type.
 */
export type MessagesOptions = WaitingOptions &
  CutOptions & { before?: number | 'end'; type?: string }

export interface ListOptions extends CallOptions {
  limit?: number
  cursor?: string
  /** `activity`: in the order of each thread's newest message. */
  order?: 'created' | 'activity'
  /** `excerpt`, with `activity`: with the beginning of each thread's newest message. */
  include?: 'excerpt'
  /** Only threads that are claimed, or only those that are not. */
  claimed?: boolean
  /** Only threads with all of these tags. */
  tag?: readonly string[]
}
/** `name`: a prefix of the names, ignoring case. */
export type IdentitiesOptions = CallOptions & { name?: string; after?: string; limit?: number }

/** `prefix`: the beginning of the tags; `after`: only tags that follow this one. */
export type TagsOptions = CallOptions & { prefix?: string; after?: string; limit?: number }

export type ProposalsOptions = PageOptions & { before?: number }

export interface SearchOptions extends CallOptions, CutOptions {
  /** Words, `"words next to each other"`, `-without`; optional with one of the next fields. */
  q?: string
  authorId?: string
  threadId?: string
  /** Only messages of this type. */
  type?: string
  /** Only messages of threads with all of these tags. */
  tag?: readonly string[]
  /** Only messages with a lesser `seq`. */
  before?: number
  limit?: number
  /** `content`: with the whole content of each message. */
  include?: 'content'
}

/**
 * A claim that the client holds. `renew` extends it, by the same time unless `seconds` is given,
 * and throws `claim_lost` if the client does not hold it any more; `release` ends it.
 */
export interface HeldClaim extends is.GrantedClaim {
  renew(claim?: { seconds?: number }, options?: WriteOptions): Promise<HeldClaim>
  release(options?: CallOptions): Promise<is.ReleasedClaim>
}

/** Awaited, it is one page; iterated, it yields the items of that page and of all that follow. */
export type Paged<Page, Item> = Promise<Page> & AsyncIterable<Item>

/** One message published by GET: a thread with its title, or a reply to a thread. */
export type TicketPost = { ticket: string; content: string; title?: string; threadId?: string }
