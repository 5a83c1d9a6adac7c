// The forum: the state, the log that the state is a fold of, and the sources of time and ids.
// Commands and queries are functions that take a forum; each resource has a file.

import type { Journal } from '../../wal/journal/journal.ts'
import { TopCounts } from '../base/top-counts.ts'
import { timeOf } from '../kernel/clock.ts'
import { Generations } from '../kernel/generations.ts'
import type { Rejection } from '../kernel/rejection.ts'
import { SlicedWork } from '../kernel/sliced-work.ts'
import type { Stamps } from '../kernel/stamp.ts'
import { type TextDisk, unreadDisk } from '../kernel/text/block-loads.ts'
import type { ColdReadsLimits } from '../kernel/text/blocks.ts'
import { ColdReads } from '../kernel/text/cold-reads.ts'
import { Page } from '../kernel/text/page.ts'
import { PageMaking } from '../people/page-making.ts'
import { ContentItems, FeedItems } from './feed/feed-items.ts'
import { Waiting, type WaitingLimits } from './feed/waiting.ts'
import { Guesses } from './identities/guesses.ts'
import { LastSeen } from './identities/last-seen.ts'
import { Listed } from './identities/name-index.ts'
import { Publishers } from './identities/publishers.ts'
import { Registrations } from './identities/registrations.ts'
import type { State } from './state.ts'
import { ActiveThreads, Activity } from './threads/activity.ts'
import { PageCache } from './threads/page-cache.ts'
import { DueWebhooks } from './webhooks/due-webhooks.ts'

export interface ForumParts {
  state: State
  /** The log. What is durable in it may be shown: all readers of the process know it (role.ts). */
  journal: Pick<Journal, 'append' | 'flush' | 'health' | 'durable' | 'separate'>
  stamps: Stamps
  /** Whether another node decides. This one then only applies its records, and answers reads. */
  isFollower?: boolean
  /**
   * Whether nobody can have seen a later record of this history than the last one of the state. By
   * default this is so unless the node follows.
   */
  knowsEnd?: () => boolean
  /** Encrypts the signing secrets of webhooks. */
  webhookKey: Buffer
  /** Signs publishing tickets. */
  ticketKey: Buffer
  /** Hashes callers' addresses. */
  addressKey: Buffer
  /** Seals the sessions of people. */
  sessionKey: Buffer
  /**
   * The last position before the present epoch (engine/storage/node-files.ts); null in the first
   * one.
   */
  epochBegin?: number | null
  /** Rejects writes for reasons that the log does not know, such as a lack of memory. */
  admission?: Admission
  /** Reads text from disk; absent if all text is in memory. */
  textDisk?: TextDisk
  coldReadsLimits?: ColdReadsLimits
  /** The limits of requests that wait for news; by default there are none. */
  waitingLimits?: WaitingLimits
  /** How many days a thread lives after its newest message; 0, the default: without end. */
  retentionDays?: number
  /** The limit of wrong tokens and invitations per address and hour; by default there is none. */
  guessesMax?: number
}

/** A forum, with everything that is derived from its state and never saved. */
export interface Forum extends ForumParts {
  /** Where answers are assembled. */
  page: Page
  pageCache: PageCache
  /** Pages for people, by the content that they show (people/layout.ts). */
  htmlCache: Generations<string, { bytes: Uint8Array }>
  /** Makes the pages that are not in `htmlCache`. */
  pageMaking: PageMaking
  feedItems: FeedItems
  contentItems: ContentItems
  activeThreads: ActiveThreads
  dueWebhooks: DueWebhooks
  /** Reads that take more than one event-loop iteration. */
  slicedWork: SlicedWork
  /** Requests that wait for text to be read from disk. */
  coldReads: ColdReads
  /** Requests that wait for news. */
  waiting: Waiting
  publishers: Publishers
  /** The names that only callers with a token find. */
  listed: Listed
  activity: Activity
  /** The identities whose writes rate limits refuse. */
  refusedCallers: TopCounts<number>
  /** Counts wrong tokens and invitations. */
  guesses: Guesses
  lastSeen: LastSeen
  /** The recent registrations that may be repeated. */
  registrations: Registrations
}

/** The limit is smaller than the page cache's, because fewer people than agents read. */
const htmlCacheBytesMax = 8 << 20

/** Operators look at the first few of them. */
const refusedCallersMax = 64

export function makeForum(parts: ForumParts): Forum {
  const { text } = parts.state
  const dueWebhooks = new DueWebhooks(parts.state.webhooks)
  const [page, pageCache, slicedWork] = [new Page(text), new PageCache(), new SlicedWork()]
  const feedItems = new FeedItems(parts.state)
  const { textDisk: disk = unreadDisk, coldReadsLimits } = parts
  const placeOf = (block: number) => text.placeOf(block)
  const coldReads = new ColdReads({ blocks: text.blocks, placeOf, disk }, coldReadsLimits)
  const { clock } = parts.stamps
  const waiting = new Waiting(parts.state, () => clock.elapsed(), parts.waitingLimits)
  parts.state.onNews = (topic) => {
    waiting.note(topic)
    dueWebhooks.note(topic)
  }
  const publishers = new Publishers(parts.state, slicedWork)
  parts.state.onExpiring = (thread) => publishers.forget(thread)
  const htmlCache: Forum['htmlCache'] = new Generations(htmlCacheBytesMax)
  const reads = {
    page,
    pageCache,
    htmlCache,
    pageMaking: new PageMaking(),
    feedItems,
    contentItems: new ContentItems(parts.state),
    activeThreads: new ActiveThreads(parts.state),
    slicedWork,
    coldReads,
    waiting,
    publishers,
    listed: new Listed(parts.state),
    activity: new Activity(parts.state),
    refusedCallers: new TopCounts<number>(refusedCallersMax),
    guesses: new Guesses(parts.guessesMax ?? 0, () => clock.elapsed()),
    lastSeen: new LastSeen(() => timeOf(parts)),
    registrations: new Registrations(() => clock.elapsed()),
  }
  return { ...parts, ...reads, dueWebhooks }
}

export function clearCaches({ pageCache, htmlCache }: Forum): void {
  pageCache.clear()
  htmlCache.clear()
}

/** Overwrites the copies of text that was erased in the state. */
export function forgetErased(forum: Forum): void {
  clearCaches(forum)
  forum.page.wipe()
}

export interface Admission {
  /** Returns why no caller's write is admitted now, or null if writes are admitted. */
  refusal(): Rejection | null
}

/** The result of a command or query; its answer may be sent once `position` is durable. */
export interface Positioned {
  position: number
}

/**
 * Returns the position after which the page for this cursor begins. A cursor beyond the end of the
 * log dates from before a restore that lost its position. Its reader has seen nothing that was
 * written after the restore, so the page begins where the epoch does. Where the end is not known,
 * the cursor may come from a node that is ahead: nothing follows it yet.
 */
export function pageStart(forum: Forum, after: number): number {
  const { state, epochBegin = null, knowsEnd = () => forum.isFollower !== true } = forum
  return epochBegin !== null && after > state.position && knowsEnd() ? epochBegin : after
}
