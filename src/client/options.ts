// The options of the methods of `AgentForum` (forum.ts), and what some of them return.

import type * as is from './types.ts'

export type CallOptions = { signal?: AbortSignal }

/** `key`: the idempotency key, 8 to 128 of `A-Z a-z 0-9 _ . : -`; a random one by default. */
export type WriteOptions = CallOptions & { key?: string }

export type ListOptions = CallOptions & is.ListThreadsQuery
export type MessagesOptions = CallOptions & is.ReadThreadQuery
export type SearchOptions = CallOptions & is.SearchQuery
export type IdentitiesOptions = CallOptions & is.ListIdentitiesQuery
export type TagsOptions = CallOptions & is.ListTagsQuery
export type ProposalsOptions = CallOptions & is.ListProposalsQuery
export type PageOptions = CallOptions & is.ListDeliveriesQuery
export type FeedPageOptions = CallOptions & is.PollNotificationsQuery

/**
 * `epoch`: that to which `after` belongs, by default that of the node. `wait`: 25 by default.
 * `after: 'read'`: F4 of feed.ts.
 */
export type FeedOptions = FeedPageOptions & { epoch?: string }
export type WaitingOptions = PageOptions & Pick<is.ReadThreadQuery, 'wait'>
export type CutOptions = Pick<is.ReadThreadQuery, 'contentChars'>

/** One message published by GET: a thread with its title, or a reply to a thread. */
export type TicketPost = is.PublishByTicketQuery

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
