// Webhooks and their deliveries. Webhooks are plain objects, because few identities have one.
//
//   identity ──▶ webhook ──▶ delivery   the one that is not finished
//                        ──▶ receipt    the newest of those that are (delivery-receipts.ts)
//
// H1. An identity has at most one webhook. A webhook that was replaced, was removed or has lapsed
//     is dropped, and its receipts with it. Its number is never reused.
// H2. At most one delivery of a webhook is unfinished. Messages need none: what a wakeup has to
//     announce is whatever the feed has after the position `announced`. So a message costs the same
//     whether its thread has no followers with a webhook or ten thousand.
// H3. The memory for receipts is bounded over all webhooks, and outside the heap.
//
// Neighbours: forum/webhooks/records.ts and deliveries.ts change this;
// forum/webhooks/due-webhooks.ts finds the webhooks that must be woken; schedule.ts sends.

import assert from 'node:assert/strict'
import { RowSnapshot } from '../../kernel/columns/row-snapshot.ts'
import { DeliveryReceipts, noReceipt, type ReceiptPage } from './delivery-receipts.ts'
import {
  type Delivery,
  type DeliveryEvent,
  deliveryActors,
  isOpen,
  type NewWebhook,
  type Webhook,
  type WebhookEvent,
  webhookActors,
  webhookRow,
  webhooksFrom,
} from './webhook.ts'

export const lapseAfterMs = 24 * 3_600_000

export class Webhooks {
  /** Called when the delivery of a webhook has changed, and when a webhook is dropped. */
  onDelivery: (webhook: Webhook) => void = () => {}
  readonly #wakes = new WakeIndex()
  readonly #byOwner = new Map<number, Webhook>()
  readonly #byNumber = new Map<number, Webhook>()
  /** In order of registration, which is also the order in which they lapse. */
  readonly #unverified = new Set<Webhook>()
  readonly receipts = new DeliveryReceipts()
  #registrations = 0
  /** The position of the last record that dropped a webhook, or 0 if it is durable. */
  #dropped = 0
  /** What a checkpoint saves; see kernel/saved.ts. */
  readonly rows = {
    webhooks: new RowSnapshot<Webhook>(() => this.#byNumber.values(), webhookRow),
  }
  readonly parts = { receipts: this.receipts }

  facts(): number {
    return this.#registrations
  }

  /** Restores everything but the index of whom topics wake, which `indexFollowed` fills. */
  restore(facts: unknown): void {
    this.#registrations = facts as number
    for (const webhook of webhooksFrom(this.rows.webhooks.takeFilled())) {
      this.#byOwner.set(webhook.owner, webhook)
      this.#byNumber.set(webhook.number, webhook)
      if (!this.isActive(webhook)) this.#unverified.add(webhook)
    }
  }

  /** Notes the topics that the owner of a webhook follows, if the webhook is active. */
  indexFollowed(webhook: Webhook, followed: Iterable<number>): void {
    if (!this.isActive(webhook)) return
    for (const topic of followed) this.#wakes.add(topic, webhook.owner)
  }

  /** The number of webhooks that were ever registered. */
  get registrations(): number {
    return this.#registrations
  }

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

  /** Returns the identities with an active webhook that follow the topic of a thread or tag. */
  followersOf(topic: number): ReadonlySet<number> {
    return this.#wakes.of(topic)
  }

  /**
   * Returns a position that covers the last change of what the identity sees of its webhook. Where
   * it has none, this is the last position at which anybody's was dropped.
   */
  changedAt(owner: number): number {
    return this.of(owner)?.changed ?? this.#dropped
  }

  /**
   * Registers a webhook, which replaces the owner's previous one. `followed` are the topics of the
   * threads and tags that the owner follows.
   */
  register(fields: NewWebhook, position: number, at: number, followed: Iterable<number>): void {
    const before = this.of(fields.owner)
    if (before !== undefined) this.#drop(before, { type: 'replaced' }, position, followed)
    const actor = webhookActors.create()
    webhookActors.tell(actor, { type: 'registered', at, lapsesAt: at + lapseAfterMs })
    const empty = { announced: 0, delivery: null, receipt: noReceipt }
    const number = this.#registrations
    const webhook: Webhook = { ...fields, number, position, actor, ...empty, changed: position }
    this.#registrations += 1
    this.#byOwner.set(fields.owner, webhook)
    this.#byNumber.set(webhook.number, webhook)
    this.rows.webhooks.add(webhook)
    this.#unverified.add(webhook)
  }

  /** Makes a webhook active, unless it is: from then on it is woken. */
  verify(webhook: Webhook, position: number, at: number, followed: Iterable<number>): void {
    this.#touch(webhook, position)
    if (!this.isActive(webhook)) webhook.announced = position
    webhookActors.tell(webhook.actor, { type: 'verified', at })
    this.#unverified.delete(webhook)
    this.indexFollowed(webhook, followed)
  }

  noteFailedVerification(webhook: Webhook, position: number, error: string): void {
    this.#touch(webhook, position)
    webhookActors.tell(webhook.actor, { type: 'verifyFailed', error })
  }

  remove(webhook: Webhook, position: number, followed: Iterable<number>): void {
    this.#drop(webhook, { type: 'removed' }, position, followed)
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
      this.#drop(webhook, { type: 'lapsed', at }, position, [])
    }
  }

  /** Notes that the identity follows the thread or tag of the topic. */
  follow(identity: number, topic: number): void {
    const webhook = this.of(identity)
    if (webhook !== undefined && this.isActive(webhook)) this.#wakes.add(topic, identity)
  }

  /** Notes that the identity no longer follows the thread or tag of the topic. */
  unfollow(identity: number, topic: number): void {
    this.#wakes.delete(topic, identity)
  }

  /** Has the identity not be woken for messages up to this position. */
  skipTo(identity: number, position: number): void {
    const webhook = this.of(identity)
    if (webhook === undefined) return
    this.rows.webhooks.touch(webhook)
    webhook.announced = position
  }

  /**
   * Returns the deliveries of a webhook that are shown at the time `now`, oldest first: all, or
   * those of a page, which may have one more than its limit.
   */
  deliveries(
    { receipt, delivery }: Pick<Webhook, 'receipt' | 'delivery'>,
    now: number,
    page?: ReceiptPage,
  ): Delivery[] {
    const finished = this.receipts.shown(receipt, now, page)
    if (delivery === null || delivery.context.first <= (page?.after ?? 0)) return finished
    return [...finished, delivery]
  }

  /**
   * Sends an event to the unfinished delivery, whose first message has the position `first`. If
   * there is none, the event begins one.
   */
  tell(webhook: Webhook, first: number, event: DeliveryEvent, position: number): void {
    this.#touch(webhook, position)
    webhook.delivery ??= deliveryActors.create()
    const { delivery } = webhook
    deliveryActors.tell(delivery, event)
    assert(delivery.context.first === first, 'an attempt belongs to the unfinished delivery')
    if (!isOpen(delivery)) {
      webhook.announced = Math.max(webhook.announced, delivery.context.through)
      webhook.receipt = this.receipts.add(delivery, webhook.receipt)
      webhook.delivery = null
    }
    this.onDelivery(webhook)
  }

  #touch(webhook: Webhook, position: number): void {
    this.rows.webhooks.touch(webhook)
    webhook.changed = position
  }

  #drop(webhook: Webhook, event: WebhookEvent, position: number, followed: Iterable<number>): void {
    this.#touch(webhook, position)
    this.#dropped = position
    webhookActors.tell(webhook.actor, event)
    for (const topic of followed) this.#wakes.delete(topic, webhook.owner)
    this.#unverified.delete(webhook)
    this.#byOwner.delete(webhook.owner)
    this.#byNumber.delete(webhook.number)
    this.onDelivery(webhook)
  }
}

const nobody: ReadonlySet<number> = new Set()

/**
 * Maps the topic of each thread and tag (kernel/topics.ts) to the identities that follow it and
 * have an active webhook. So a message costs one look-up, and as many more as its thread has tags
 * if it begins the thread (due-webhooks.ts).
 */
class WakeIndex {
  readonly #byTopic = new Map<number, Set<number>>()

  add(topic: number, identity: number): void {
    const identities = this.#byTopic.get(topic)
    if (identities === undefined) this.#byTopic.set(topic, new Set([identity]))
    else identities.add(identity)
  }

  delete(topic: number, identity: number): void {
    const identities = this.#byTopic.get(topic)
    if (identities === undefined) return
    identities.delete(identity)
    if (identities.size === 0) this.#byTopic.delete(topic)
  }

  of(topic: number): ReadonlySet<number> {
    return this.#byTopic.get(topic) ?? nobody
  }
}
