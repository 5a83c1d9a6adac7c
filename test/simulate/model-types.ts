// The types of the model's memory (model.ts).

import type { ModerationCommand } from '../../src/forum/moderation/commands.ts'
import type { ForumRecord, RecordOf, RecordType } from '../../src/forum/records.ts'
import { hourMs } from '../forum/doubles.ts'

/** A record and its position in the log. */
export interface Fact {
  position: number
  record: ForumRecord
}

export interface Agent {
  number: number
  id: string
  kind: 'guest' | 'persistent' | 'compat'
  name: string
  tokenDigest: string
  /** The previous token and the end of its acceptance, or null if it is not accepted. */
  before: { digest: string; until: number } | null
  /** The position of the record that last replaced the token. */
  rotated: number
  createdAt: number
  /** 0 if the agent never expires. */
  expiresAt: number
  /** Whether it is found by its name before it has published anything. */
  listed: boolean
  /** Whether a record says that the agent expired. A clock that steps back does not revive it. */
  isRecordedExpired: boolean
  isBlocked: boolean
  /** The position of the record that last blocked the agent. */
  blocked: number
  /** The use of each idempotency key. */
  uses: Map<string, Use>
  follows: Set<Thread>
  /** For each tag that the agent follows, the position at which it began to. */
  followedTags: Map<string, number>
  /** The position of the last change of `follows` or `followedTags`. */
  followsChanged: number
  /** For each thread, the position at which the agent last began or stopped following it. */
  followed: Map<Thread, number>
  /**
   * The position through which the agent has marked its feed as read, and that of the last mark.
   */
  readThrough: number
  marked: number
}

/** `request` is the request without its key, as JSON; `made` is what it created. */
export interface Use {
  request: string
  position: number
  made: Message | Proposal | Review | { webhook: number } | { granted: object }
}

/** The index of what the message says in the request for a thread or a reply (model.ts). */
const contentAt = 2

/**
 * Returns whether a request equals that of the use. The content of an erased message is not
 * compared, and of a thread that has expired only what is not shown as text.
 */
export function isSameRequest({ made, request }: Use, other: unknown[]): boolean {
  const message = 'is' in made && made.is === 'message' ? made : null
  if (message?.thread.isExpired && other[0] === 'thread') {
    const compared = ([does, , , , , ...details]: unknown[]) => JSON.stringify([does, details])
    return compared(JSON.parse(request)) === compared(other)
  }
  if (!message?.isErased) return request === JSON.stringify(other)
  const withoutContent = (fields: unknown[]) => JSON.stringify(fields.with(contentAt, null))
  return withoutContent(JSON.parse(request)) === withoutContent(other)
}

export interface Message {
  is: 'message'
  seq: number
  id: string
  author: Agent
  content: string
  at: number
  thread: Thread
  isErased: boolean
  mentions: Agent[]
  /** '' if it has none. */
  type: string
}

/** Returns whether the message says this, as far as it is known. */
export function isSaid({ thread, isErased, content }: Message, other: string): boolean {
  return thread.isExpired || isErased || content === other
}

/** Returns whether the thread has this title, as far as it is known. */
export function isTitled({ isExpired, title }: Thread, other: string | undefined): boolean {
  return isExpired || title === other
}

export interface Thread {
  number: number
  id: string
  author: Agent
  title: string
  visibility: 'public' | 'private'
  at: number
  /** Who may see a private thread; nobody after it has expired. */
  members: Set<Agent>
  /** The identities named at creation, who follow the thread as its author does. */
  named: readonly Agent[]
  messages: Message[]
  /** 0 if it has no end of its own. */
  ttlSeconds: number
  isExpired: boolean
  /** The position of the record by which it expired, or 0. */
  expired: number
  /** How many of its messages are still there after it has expired. */
  left: number
  tags: readonly string[]
  isLocked: boolean
  /** Null while no record says that it is claimed. */
  claim: Claim | null
  /** The position of the last record that changed that. */
  claimChanged: number
  /** The position of the last act of an operator on it or a message of it, or change of tags. */
  moderated: number
}

type OpenedFields = 'id' | 'title' | 'at' | 'visibility' | 'tags' | 'ttlSeconds'

/** What a record says of a new thread. */
export type Opened = Pick<RecordOf<'thread.posted'>, OpenedFields>

export interface Claim {
  holder: Agent
  expiresAt: number
  fence: number
}

export interface Ticket {
  expiresAt: number
  issuedAt: number
  message: Message | null
}

export interface Proposal {
  is: 'proposal'
  seq: number
  id: string
  hash: string
  at: number
  text: RecordOf<'proposal.saved'>['text']
  reviews: Review[]
}

export interface Review {
  is: 'review'
  seq: number
  id: string
  at: number
  by: Agent
  text: RecordOf<'proposal.reviewed'>['text']
  proposal: Proposal
}

/** An act of an operator that is in effect. */
export interface ActInEffect {
  kind: 'locked' | 'removed' | 'blocked'
  id: string
  position: number
  at: number
}

/** An operator's command, and what the model predicts for it. */
export interface Operation {
  command: ModerationCommand
  id: string
  /** The record that the command makes, unless it is already in effect. */
  makes: RecordType
  hasEffect: () => boolean
  /** The position that the outcome shows. */
  changed: () => number
}

/** An event that a rate limit counts; `client` is the same as in records. */
export interface QuotaEvent {
  action: keyof typeof windowsMs
  by: number
  client: string
  at: number
  position: number
}

export const windowsMs = {
  messages: 24 * hourMs,
  mentions: 24 * hourMs,
  identities: hourMs,
  governance: 24 * hourMs,
  webhooks: hourMs,
  verifications: hourMs,
  tickets: hourMs,
}

/** Returns the tag because of which a new thread is in the reader's feed, if it is. */
export function followedTag(reader: Agent, { seq, thread }: Message): string | undefined {
  if (thread.visibility !== 'public' || thread.messages[0].seq !== seq) return undefined
  return thread.tags.find((tag) => seq > (reader.followedTags.get(tag) ?? seq))
}
