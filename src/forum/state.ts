// The state of the forum, which is the result of applying all records of the log in order. Only
// forum/apply.ts changes it.
//
// F1. `position` is the position of the last record applied; `now` is that record's time.
// F2. Times never go back: a record's time is at least the time of the one before it.
//
// Receipts, tickets, quotas and invitations are read by commands only. A reader, which never leads,
// leaves them out.
//
// O1. `apply` is the same there: a part that is left out accepts every record and keeps nothing.
// O2. A part that is left out is not loaded from checkpoints, and a state without it is never saved
//     (kernel/saved.ts, V3).
// O3. To read a part that is left out is a bug, which an assertion reports.
//
// Without receipts, a reader takes 6.6 us instead of 8.8 to apply a reply and, with a million keys,
// 46 bytes less to hold it (columns 29, index 17). The other data that only commands read, such as
// the position at which an identity began to follow a thread, are a few columns of tables that
// reads need, and stay.

import assert from 'node:assert/strict'
import { Lists } from '../kernel/columns/lists.ts'
import { type QuotaLimits, Quotas } from '../kernel/quotas.ts'
import { Receipts } from '../kernel/receipts.ts'
import type { Saved } from '../kernel/saved.ts'
import { Text } from '../kernel/text/text.ts'
import { Claims } from './claims/table.ts'
import { Feeds, Subscriptions } from './feed/table.ts'
import { Proposals, Reviews } from './governance/table.ts'
import { Identities } from './identities/table.ts'
import { Invitations } from './invitations/table.ts'
import { Moderation } from './moderation/table.ts'
import { Tags } from './tags/table.ts'
import { Messages } from './threads/messages.ts'
import { type ShownClaim, Threads } from './threads/table.ts'
import { Tickets } from './tickets/table.ts'
import { Webhooks } from './webhooks/table.ts'

export interface StateOptions {
  /** The minimum retention of receipts. */
  retentionMs: number
  /** A random seed for hashing the idempotency keys that callers choose. */
  seed: number
  /** The maximum number of bytes of text to hold in memory; by default all text is held. */
  textBytesMax?: number
  /** Rate limits per action; by default there are none. */
  limits?: QuotaLimits
  /** `reads` leaves out the parts that only commands read. */
  for?: 'commands' | 'reads'
}

export interface Term {
  /** The number of the term, or 0 if the log was never replicated. */
  number: number
  /** The position of its first record. */
  began: number
  node: string
  /** The nonce from the term's record, or '' if there is no term. */
  nonce: string
}

const noTerm: Term = { number: 0, began: 0, node: '', nonce: '' }

type Facts = [number, number, number, number, number, Term]

export class State {
  position = 0
  now = 0
  readonly text: Text
  /** The signatures of identities, which contain their display names; always in memory. */
  readonly names = new Text()
  readonly identities = new Identities(this.names)
  readonly claims = new Claims()
  readonly tags = new Tags()
  readonly threads: Threads
  readonly messages: Messages
  readonly feeds = new Feeds()
  readonly subscriptions = new Subscriptions(this.feeds)
  readonly webhooks = new Webhooks()
  /** For each identity, the private threads that it may see, oldest first. */
  readonly privateThreads = new Lists()
  readonly proposals: Proposals
  readonly reviews: Reviews
  readonly receipts: Receipts
  readonly tickets = new Tickets()
  readonly quotas: Quotas
  readonly invitations = new Invitations()
  /** Whether the parts that only commands read are left out, so that no command can run. */
  readonly isPartial: boolean
  readonly moderation = new Moderation()
  /** All guests with lower numbers have expired; guests expire in the order of their creation. */
  guestsExpired = 0
  /** Called for each topic (kernel/topics.ts) about which the record being applied brings news. */
  onNews: (topic: number) => void = () => {}
  /** Called for each identity that the record being applied lists, or no longer lists. */
  onListed: (identity: number, position: number) => void = () => {}
  onExpiring: (thread: number) => void = () => {}
  /** Called for each message of an expired thread that the record being applied erases. */
  onForgotten: (message: number, position: number) => void = () => {}
  /** The position of the last erasure of a message, or 0 if there was none. */
  erasedPosition = 0
  /** The position of the last record by which a thread expired, or 0. */
  expiredPosition = 0
  term = noTerm

  constructor(options: StateOptions) {
    const { retentionMs, seed, textBytesMax, limits = {} } = options
    this.text = new Text(textBytesMax)
    this.threads = new Threads(
      this.text,
      this.tags,
      (thread) => this.#claimOf(thread),
      (thread) => this.endOf(thread),
    )
    this.messages = new Messages(this.text)
    this.proposals = new Proposals(this.text)
    this.reviews = new Reviews(this.text)
    this.isPartial = options.for === 'reads'
    this.receipts = new Receipts(retentionMs, seed)
    this.quotas = new Quotas(this.isPartial ? {} : limits)
    if (this.isPartial) leaveOut(this)
  }

  get parts(): Record<string, Saved> {
    const { text, names, identities, threads, messages, feeds, subscriptions } = this
    const { privateThreads, proposals, reviews, receipts, tickets, quotas, webhooks } = this
    const { moderation, invitations, claims, tags } = this
    const tables = { identities, threads, tags, messages, feeds, subscriptions, privateThreads }
    const kept = this.isPartial ? {} : { receipts, tickets, quotas, invitations }
    const rest = { proposals, reviews, ...kept, webhooks, moderation, claims }
    // names on disk never change (kernel/saved.ts, V2)
    return { arena: text, names, ...tables, ...rest }
  }

  facts(): unknown[] {
    const { position, now, guestsExpired, erasedPosition, expiredPosition, term } = this
    return [position, now, guestsExpired, erasedPosition, expiredPosition, term]
  }

  restore(facts: unknown): void {
    const [position, now, guestsExpired, erasedPosition, expiredPosition, term] = facts as Facts
    Object.assign(this, { position, now, guestsExpired, erasedPosition, expiredPosition, term })
  }

  *fillIndexes(): Iterable<void> {
    for (const webhook of this.webhooks.all()) {
      this.webhooks.indexFollowed(webhook, this.feeds.topicsOf(webhook.owner))
      yield
    }
  }

  /** Returns the claim of a thread as its entries show it, or null. */
  #claimOf(thread: number): ShownClaim | null {
    const claim = this.claims.count === 0 ? null : this.claims.of(thread)
    if (claim === null) return null
    const { holder, expiresAt, fence } = claim
    return { holder_id: this.identities.id(holder), expires_at: expiresAt, fence }
  }

  isGone(message: number): boolean {
    return this.threads.isExpired(this.messages.thread(message))
  }

  /** Returns when a thread with `ttl_seconds` expires if no reply comes; null: it has none. */
  endOf(thread: number): number | null {
    const seconds = this.threads.actors.columns.ttlSeconds.get(thread)
    if (seconds === 0) return null
    return this.messages.createdAt(this.threads.newestMessage(thread)) + seconds * 1000
  }

  /** Returns the number of the thread with this id, `thr_…`, or -1 if absent or not visible. */
  visibleThread(caller: number, threadId: string): number {
    const thread = this.threads.find(threadId, 'thr_'.length)
    return thread !== -1 && this.maySee(caller, thread) ? thread : -1
  }

  maySee(caller: number, thread: number): boolean {
    if (this.threads.isPublic(thread)) return true
    return (
      this.threads.actors.columns.author.get(thread) === caller ||
      this.threads.isParticipant(thread, caller)
    )
  }
}

/** Makes the parts that only commands read accept records and keep nothing (O1). */
function leaveOut({ receipts, tickets, quotas, invitations }: State): void {
  empty(receipts, 'receipts', ['add'], ['find'])
  empty(tickets, 'tickets', ['issue', 'use'], ['has', 'mayPublish', 'message'])
  empty(quotas, 'quotas', ['count'], ['needsClient', 'waitMs'])
  empty(invitations, 'invitations', ['issue', 'use', 'revoke', 'expire'], ['idOf', 'all'])
}

/** Replaces the methods that write a part, and those that read it (O3). */
function empty<T extends object>(
  part: T,
  name: string,
  writing: readonly (keyof T)[],
  reading: readonly (keyof T)[],
): void {
  const ignore = () => {}
  const fail = () => assert.fail(`O3: a state that is only read has no ${name}`)
  const ignored = writing.map((method) => [method, ignore])
  const failing = reading.map((method) => [method, fail])
  Object.assign(part, Object.fromEntries([...ignored, ...failing]))
}
