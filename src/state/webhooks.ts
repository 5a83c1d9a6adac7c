// Webhooks and their deliveries: plain objects, because few identities have a webhook.
//
//   identity ──▶ webhook ──▶ deliveries   all that are kept, oldest first
//                        ──▶ open         those of them that are not finished
//
// H1. An identity has at most one webhook. A webhook that was replaced, was removed or has lapsed
//     is dropped with its deliveries. Its number is never reused.
// H2. At most two deliveries of a webhook are open, and at most one of them is being sent, because
//     a message is merged into a pending delivery if there is one (actors/delivery.ts, D1).
// H3. Finished deliveries are kept for `retentionMs`, measured by the times of records, and at most
//     the newest `deliveriesKeptMax` of a webhook are kept.
//
// Neighbours: forum/records/webhooks.ts and posts.ts change this; delivery/ sends due deliveries.

import assert from 'node:assert/strict'
import { RowSnapshot } from '../columns/row-snapshot.ts'
import {
  DeliveriesByAge,
  type Delivery,
  type DeliveryEvent,
  type DeliveryState,
  deliveryActors,
  isOpen,
  isSending,
} from './deliveries-by-age.ts'
import { WakeIndex } from './wake-index.ts'
import { type NewWebhook, type Webhook, type WebhookEvent, webhookActors } from './webhook.ts'
import { deliveryRow, webhookRow, webhooksFrom } from './webhook-rows.ts'

/** Covers most of a day at one wakeup a minute. A client that reads later misses only receipts. */
export const deliveriesKeptMax = 1_000
export const lapseAfterMs = 24 * 3_600_000

/** The part of a message that determines whom it wakes. */
interface Waking {
  by: number
  mentions: readonly number[]
  at: number
}

export class Webhooks {
  /** Called when the next delivery of a webhook may have changed. */
  onDeliveries: (webhook: Webhook) => void = () => {}
  readonly #wakes = new WakeIndex()
  readonly #byOwner = new Map<number, Webhook>()
  readonly #byNumber = new Map<number, Webhook>()
  /** In order of registration, which is also the order in which they lapse. */
  readonly #unverified = new Set<Webhook>()
  readonly #deliveries = new DeliveriesByAge<Webhook>()
  /** By identity, the position of the last record that changed what it sees of its webhook. */
  readonly #changed = new Map<number, number>()
  #registrations = 0
  /** The rows that a checkpoint saves; see saved.ts. */
  readonly rows = {
    webhooks: new RowSnapshot<Webhook>(() => this.#byNumber.values(), webhookRow),
    deliveries: new RowSnapshot<Delivery>(
      () => this.#deliveries.all(),
      (delivery) => deliveryRow(delivery, this.#deliveries.webhookOf(delivery)),
    ),
  }

  facts(): number {
    return this.#registrations
  }

  /**
   * Restores everything but the wake index, to which `resumeWaking` adds webhooks. Changes before a
   * checkpoint are durable, so `#changed` starts empty.
   */
  restore(facts: unknown): void {
    this.#registrations = facts as number
    const { webhooks, deliveries } = this.rows
    const filled = webhooksFrom(webhooks.takeFilled(), deliveries.takeFilled())
    for (const webhook of filled.webhooks) {
      this.#byOwner.set(webhook.owner, webhook)
      this.#byNumber.set(webhook.number, webhook)
      if (!this.isActive(webhook)) this.#unverified.add(webhook)
    }
    for (const { delivery, webhook } of filled.deliveries) this.#deliveries.add(delivery, webhook)
  }

  /** Keeps messages from waking a blocked owner; `followed` is as in `resumeWaking`. */
  pauseWaking(owner: number, followed: Iterable<number>): void {
    if (this.of(owner) === undefined) return
    for (const thread of followed) this.#wakes.delete(thread, owner)
  }

  /**
   * Ends a pause, or completes `restore` for a webhook whose owner is not blocked. `followed` are
   * the threads that the owner follows.
   */
  resumeWaking(webhook: Webhook, followed: Iterable<number>): void {
    if (!this.isActive(webhook)) return
    for (const thread of followed) this.#wakes.add(thread, webhook.owner)
  }

  /** The number of webhooks that were ever registered. */
  get registrations(): number {
    return this.#registrations
  }

  /** Returns all current webhooks. */
  all(): Iterable<Webhook> {
    return this.#byNumber.values()
  }

  /** Returns the identity's webhook, or undefined if it has none. */
  of(owner: number): Webhook | undefined {
    return this.#byOwner.get(owner)
  }

  /** Returns the webhook with this number, or undefined if it is no longer registered. */
  get(number: number): Webhook | undefined {
    return this.#byNumber.get(number)
  }

  isActive({ actor }: Webhook): boolean {
    return webhookActors.state(actor) === 'active'
  }

  /** Returns the position of the last record that changed what the identity sees of its webhook. */
  changedAt(owner: number): number {
    return this.#changed.get(owner) ?? 0
  }

  /**
   * Registers a webhook, which replaces the owner's previous one. `followed` are the threads that
   * the owner follows.
   */
  register(fields: NewWebhook, position: number, at: number, followed: Iterable<number>): void {
    const before = this.of(fields.owner)
    if (before !== undefined) this.#drop(before, { type: 'replaced' }, followed)
    const actor = webhookActors.create()
    const number = this.#registrations
    const webhook = { ...fields, number, position, actor, deliveries: [], open: [] }
    webhookActors.tell(actor, { type: 'registered', at, lapsesAt: at + lapseAfterMs })
    this.#registrations += 1
    this.#byOwner.set(fields.owner, webhook)
    this.#byNumber.set(webhook.number, webhook)
    this.rows.webhooks.add(webhook)
    this.#unverified.add(webhook)
    this.#changed.set(fields.owner, position)
  }

  verify(webhook: Webhook, position: number, at: number, followed: Iterable<number>): void {
    this.rows.webhooks.touch(webhook)
    webhookActors.tell(webhook.actor, { type: 'verified', at })
    this.#unverified.delete(webhook)
    for (const thread of followed) this.#wakes.add(thread, webhook.owner)
    this.#changed.set(webhook.owner, position)
  }

  noteFailedVerification(webhook: Webhook, position: number, error: string): void {
    this.rows.webhooks.touch(webhook)
    webhookActors.tell(webhook.actor, { type: 'verifyFailed', error })
    this.#changed.set(webhook.owner, position)
  }

  remove(webhook: Webhook, position: number, followed: Iterable<number>): void {
    this.#drop(webhook, { type: 'removed' }, followed)
    this.#changed.set(webhook.owner, position)
  }

  /** Returns whether a webhook that was not verified in time is due to lapse at this time. */
  hasLapsed(at: number): boolean {
    const [oldest] = this.#unverified
    return oldest !== undefined && webhookActors.may(oldest.actor, { type: 'lapsed', at })
  }

  /** Drops the oldest `most` of the webhooks that are due to lapse at this time. */
  lapse(position: number, at: number, most: number): void {
    for (let left = most; left > 0 && this.hasLapsed(at); left--) {
      const [webhook] = this.#unverified
      this.#drop(webhook, { type: 'lapsed', at }, [])
      this.#changed.set(webhook.owner, position)
    }
  }

  /** Notes that the identity follows the thread. */
  follow(identity: number, thread: number): void {
    const webhook = this.of(identity)
    if (webhook !== undefined && this.isActive(webhook)) this.#wakes.add(thread, identity)
  }

  /** Notes that the identity no longer follows the thread. */
  unfollow(identity: number, thread: number): void {
    this.#wakes.delete(thread, identity)
  }

  /**
   * Queues a message of the thread for each follower and each mentioned identity that has an active
   * webhook, except the author.
   */
  wake(thread: number, { by, mentions, at }: Waking, position: number): void {
    const followers = this.#wakes.of(thread)
    for (const identity of followers) {
      if (identity !== by) this.#queue(this.of(identity)!, position, at)
    }
    for (const identity of mentions) {
      if (identity === by || followers.has(identity)) continue
      const webhook = this.of(identity) // a blocked identity cannot be mentioned
      if (webhook !== undefined && this.isActive(webhook)) this.#queue(webhook, position, at)
    }
  }

  state(delivery: Delivery): DeliveryState {
    return deliveryActors.state(delivery) as DeliveryState
  }

  /**
   * Returns the delivery to attempt next: an interrupted one, or else the one that is due first.
   */
  next({ open }: Webhook): Delivery | undefined {
    const [first, second] = open
    if (second === undefined || isSending(first)) return first
    if (isSending(second)) return second
    return first.context.nextAttemptAt <= second.context.nextAttemptAt ? first : second
  }

  /** Sends an event to the open delivery whose first message has the position `first`. */
  tell(webhook: Webhook, first: number, event: DeliveryEvent, position: number): void {
    const delivery = webhook.open.find(({ context }) => context.first === first)
    assert(delivery !== undefined, 'an attempt belongs to an open delivery')
    this.rows.deliveries.touch(delivery)
    deliveryActors.tell(delivery, event)
    this.#changed.set(webhook.owner, position)
    if (!isOpen(delivery)) webhook.open = webhook.open.filter(isOpen)
    this.onDeliveries(webhook)
  }

  /**
   * Returns the position of the first message of the `most`-th expired delivery, or of the last one
   * if there are fewer, or 0 if there are none.
   */
  expiredThrough(at: number, most: number): number {
    return this.#deliveries.expiredThrough(at, most)
  }

  /** Drops the deliveries expired by `at` whose first message has at most position `through`. */
  expireDeliveries(position: number, at: number, through: number): void {
    for (const [delivery, webhook] of this.#deliveries.expired(at)) {
      if (delivery.context.first > through) return
      this.#forget(webhook, delivery)
      this.#changed.set(webhook.owner, position)
    }
  }

  #queue(webhook: Webhook, position: number, at: number): void {
    const merged = { type: 'merged', position } as const
    const waiting = webhook.open.find((delivery) => deliveryActors.may(delivery, merged))
    if (waiting !== undefined) {
      this.rows.deliveries.touch(waiting)
      deliveryActors.tell(waiting, merged)
      this.#changed.set(webhook.owner, position) // the delivery's id covers merged messages
      return
    }
    const delivery = deliveryActors.create()
    deliveryActors.tell(delivery, { type: 'queued', position, at })
    webhook.deliveries.push(delivery)
    webhook.open.push(delivery)
    this.#deliveries.add(delivery, webhook)
    this.rows.deliveries.add(delivery)
    this.#changed.set(webhook.owner, position)
    if (webhook.deliveries.length > deliveriesKeptMax) {
      this.#forget(webhook, webhook.deliveries.find((kept) => !isOpen(kept))!)
    }
    this.onDeliveries(webhook)
  }

  #forget(webhook: Webhook, delivery: Delivery): void {
    this.rows.deliveries.touch(delivery)
    this.#deliveries.delete(delivery)
    webhook.deliveries.splice(webhook.deliveries.indexOf(delivery), 1)
  }

  #drop(webhook: Webhook, event: WebhookEvent, followed: Iterable<number>): void {
    this.rows.webhooks.touch(webhook)
    webhookActors.tell(webhook.actor, event)
    for (const delivery of webhook.deliveries) this.rows.deliveries.touch(delivery)
    for (const thread of followed) this.#wakes.delete(thread, webhook.owner)
    for (const delivery of webhook.deliveries) this.#deliveries.delete(delivery)
    this.#unverified.delete(webhook)
    this.#byOwner.delete(webhook.owner)
    this.#byNumber.delete(webhook.number)
    this.onDeliveries(webhook)
  }
}
