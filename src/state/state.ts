// The state of the forum: what the log folds to. forum/apply.ts is the only code that changes it.
//
// F1. `position` is the position of the last record applied; `now` is that record's time.
// F2. Times never go back: a record's time is at least the time of the one before it.

import { Arena } from './arena.ts'
import { Feeds } from './feeds.ts'
import { Identities } from './identities.ts'
import { Lists } from './lists.ts'
import { Messages } from './messages.ts'
import { Proposals } from './proposals.ts'
import { type QuotaLimits, Quotas } from './quotas.ts'
import { Receipts } from './receipts.ts'
import { Reviews } from './reviews.ts'
import type { Saved } from './saved.ts'
import { Subscriptions } from './subscriptions.ts'
import { Threads } from './threads.ts'
import { Tickets } from './tickets.ts'
import { Webhooks } from './webhooks.ts'

export interface StateOptions {
  /** The minimum retention of receipts. */
  retentionMs: number
  /** A random seed for hashing the idempotency keys that callers choose. */
  seed: number
  /** Rate limits per action; by default there are none. */
  limits?: QuotaLimits
}

/** Stands for no identity: the anonymous caller. */
export const nobody = -1

export class State {
  position = 0
  now = 0
  readonly arena = new Arena()
  readonly identities = new Identities(this.arena)
  readonly threads = new Threads(this.arena)
  readonly messages = new Messages(this.arena)
  readonly feeds = new Feeds()
  readonly subscriptions = new Subscriptions(this.feeds)
  readonly webhooks = new Webhooks()
  /** For each identity, the private threads that it may see, oldest first. */
  readonly privateThreads = new Lists()
  readonly proposals = new Proposals(this.arena)
  readonly reviews = new Reviews(this.arena)
  readonly receipts: Receipts
  readonly tickets = new Tickets()
  readonly quotas: Quotas
  /** Guests with lower numbers have expired; guests expire in the order of their creation. */
  guestsExpired = 0

  constructor({ retentionMs, seed, limits = {} }: StateOptions) {
    this.receipts = new Receipts(retentionMs, seed)
    this.quotas = new Quotas(limits)
  }

  get parts(): Record<string, Saved> {
    const { arena, identities, threads, messages, feeds, subscriptions, privateThreads } = this
    const { proposals, reviews, receipts, tickets, quotas, webhooks } = this
    const tables = { identities, threads, messages, feeds, subscriptions, privateThreads }
    return { arena, ...tables, proposals, reviews, receipts, tickets, quotas, webhooks }
  }

  facts(): number[] {
    return [this.position, this.now, this.guestsExpired]
  }

  restore(facts: unknown): void {
    ;[this.position, this.now, this.guestsExpired] = facts as number[]
    for (const webhook of this.webhooks.all()) {
      this.webhooks.resumeWaking(webhook, this.feeds.threadsOf(webhook.owner))
    }
  }

  /** The number of the thread with this id, `thr_…`, or -1 if it is absent or not visible. */
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
