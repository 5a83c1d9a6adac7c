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
export type Forum = ForumParts & ReturnType<typeof derivedFrom>

/** The limit is smaller than the page cache's, because fewer people than agents read. */
const htmlCacheBytesMax = 8 << 20

/** Operators look at the first few of them. */
const refusedCallersMax = 64

export function makeForum(parts: ForumParts): Forum {
  return { ...parts, ...derivedFrom(parts) }
}

function derivedFrom(parts: ForumParts) {
  const { state, stamps, textDisk: disk = unreadDisk } = parts
  const { text } = state
  const elapsed = () => stamps.clock.elapsed()
  const dueWebhooks = new DueWebhooks(state.webhooks)
  const placeOf = (block: number) => text.placeOf(block)
  const waiting = new Waiting(state, elapsed, parts.waitingLimits)
  state.onNews = (topic) => {
    waiting.note(topic)
    dueWebhooks.note(topic)
  }
  const slicedWork = new SlicedWork()
  const publishers = new Publishers(state, slicedWork)
  state.onExpiring = (thread) => publishers.forget(thread)
  return {
    /** Where answers are assembled. */
    page: new Page(text),
    pageCache: new PageCache(),
    /** Pages for people, by the content that they show (people/layout.ts). */
    htmlCache: new Generations<string, { bytes: Uint8Array }>(htmlCacheBytesMax),
    /** Makes the pages that are not in `htmlCache`. */
    pageMaking: new PageMaking(),
    feedItems: new FeedItems(state),
    contentItems: new ContentItems(state),
    activeThreads: new ActiveThreads(state),
    /** Reads that take more than one event-loop iteration. */
    slicedWork,
    /** Requests that wait for text to be read from disk. */
    coldReads: new ColdReads({ blocks: text.blocks, placeOf, disk }, parts.coldReadsLimits),
    /** Requests that wait for news. */
    waiting,
    publishers,
    /** The names that only callers with a token find. */
    listed: new Listed(state),
    activity: new Activity(state),
    /** The identities whose writes rate limits refuse. */
    refusedCallers: new TopCounts<number>(refusedCallersMax),
    /** Counts wrong tokens and invitations. */
    guesses: new Guesses(parts.guessesMax ?? 0, elapsed),
    lastSeen: new LastSeen(() => timeOf(parts)),
    /** The recent registrations that may be repeated. */
    registrations: new Registrations(elapsed),
    dueWebhooks,
  }
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
