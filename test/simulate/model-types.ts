// What the model remembers (model.ts).

import type { ModerationCommand } from '../../src/forum/moderation.ts'
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
  /** The token before, and until when it is accepted; null: it is not. */
  before: { digest: string; until: number } | null
  /** Position of the record that replaced its token last. */
  rotated: number
  /** 0 when it never expires. */
  expiresAt: number
  /** Whether a record says that it expired. A clock that steps back does not revive it. */
  isRecordedExpired: boolean
  isBlocked: boolean
  /** Position of the record that blocked it last. */
  blocked: number
  /** What each idempotency key was used for. */
  uses: Map<string, Use>
  follows: Set<Thread>
  /** Position of the last change of `follows`. */
  followsChanged: number
  /** Position of the last change of whether it follows each thread. */
  followed: Map<Thread, number>
  /** Up to where it has marked its feed as read, and the position of the last mark. */
  readThrough: number
  marked: number
}

/** `request` is the request without its key, as JSON; `made` is what it created. */
export interface Use {
  request: string
  position: number
  made: Message | Proposal | Review | { webhook: number }
}

/** The place of the content and the mentions in the request for a thread or a reply (model.ts). */
const contentAt = 2

/** Whether a request is that of the use. What an erased message said is not compared. */
export function isSameRequest({ made, request }: Use, other: unknown[]): boolean {
  const isErased = 'is' in made && made.is === 'message' && made.isErased
  if (!isErased) return request === JSON.stringify(other)
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
}

export interface Thread {
  number: number
  id: string
  author: Agent
  title: string
  visibility: 'public' | 'private'
  at: number
  members: Set<Agent>
  messages: Message[]
  isLocked: boolean
  /** Position of the last act of an operator on it or on one of its messages. */
  moderated: number
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

/** A command, and what the model says of it. */
export interface Operation {
  command: ModerationCommand
  id: string
  /** The record that it makes, unless it has effect already. */
  makes: RecordType
  hasEffect: () => boolean
  /** The position that the outcome shows. */
  changed: () => number
}

/** An event that a rate limit counts; `client` as in records. */
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
