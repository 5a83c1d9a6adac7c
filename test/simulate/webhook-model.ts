// The webhooks and deliveries of the model: which owners a message wakes, and the outcomes of
// attempts.

import assert from 'node:assert/strict'
import type { ForumRecord, RecordOf } from '../../src/forum/records.ts'
import { open } from '../../src/forum/webhooks/commands.ts'
import { dayMs } from '../forum/doubles.ts'
import { keys } from './keys.ts'
import { type Agent, followedTag, type Message } from './model-types.ts'

export interface Delivery {
  webhook: Webhook
  first: number
  through: number
  state: 'pending' | 'sending' | 'delivered' | 'failed' | 'cancelled'
  at: number
  attempts: number
  deliveredAt: number
  nextAttemptAt: number
  lastStatus: number
  lastError: string
  /** The position of the record with which the last attempt began. */
  started: number
}

export interface Webhook {
  number: number
  id: string
  owner: Agent
  endpoint: string
  sealed: Uint8Array
  position: number
  at: number
  verifiedAt: number
  lastError: string
  isGone: boolean
  /** Messages up to this position do not wake its owner any more. */
  announced: number
  deliveries: Delivery[]
}

const retentionMs = 7 * dayMs

/** The part of the model's identities that webhooks need. */
interface Identities {
  readonly agents: readonly Agent[]
  readonly messages: ReadonlyMap<string, Message>
  isActive(agent: Agent, at: number): boolean
}

/** The records about webhooks and deliveries, which model.ts hands to the webhook model. */
export type WebhookRecord = Extract<
  ForumRecord,
  { type: `webhook.${string}` | 'webhooks.lapsed' | `delivery.${string}` }
>

export class WebhookModel {
  /** Every webhook that was ever registered. */
  readonly all: Webhook[] = []
  /** The position of the last change in what an identity sees of its webhook. */
  readonly changed = new Map<Agent, number>()
  readonly #identities: Identities

  constructor(identities: Identities) {
    this.#identities = identities
  }

  of(owner: Agent): Webhook | undefined {
    return this.all.find((webhook) => webhook.owner === owner && !webhook.isGone)
  }

  changedAt(owner: Agent): number {
    return this.changed.get(owner) ?? 0
  }

  drop(owner: Agent, position: number): void {
    const webhook = this.of(owner)
    if (webhook === undefined) return
    webhook.isGone = true
    this.changed.set(owner, position)
  }

  /**
   * Returns the positions of the messages after `after` for which the owner has to be woken: those
   * by others that mention it, or that came while it followed their thread.
   */
  news({ owner, isGone, verifiedAt }: Webhook, after: number, at: number): number[] {
    if (isGone || verifiedAt === 0 || !this.#identities.isActive(owner, at)) return []
    const { follows, followed } = owner
    const later = [...this.#identities.messages.values()].filter(({ seq, author }) => {
      return author !== owner && seq > after
    })
    const concerning = later.filter((message) => {
      const { seq, thread, mentions, isErased } = message
      if (thread.isExpired) return false
      const isFollowed = follows.has(thread) && seq >= followed.get(thread)!
      const isTagged = followedTag(owner, message) !== undefined
      return isFollowed || isTagged || (!isErased && mentions.includes(owner))
    })
    return concerning.map(({ seq }) => seq)
  }

  /** Has the owner of a webhook not be woken for messages up to this position. */
  skipTo(owner: Agent, position: number): void {
    const webhook = this.of(owner)
    if (webhook !== undefined) webhook.announced = position
  }

  /** Returns the receipts that are shown when the last record has this time. */
  shown(owner: Agent, at: number): Delivery[] {
    const deliveries = this.of(owner)?.deliveries ?? []
    return deliveries.filter((delivery) => isOpen(delivery) || delivery.at + retentionMs > at)
  }

  apply(position: number, record: WebhookRecord): void {
    switch (record.type) {
      case 'webhook.registered':
        return this.#register(position, record)
      case 'webhook.verified':
      case 'webhook.verify_failed': {
        const webhook = this.#living(record.webhook)
        if (record.type === 'webhook.verified') {
          if (webhook.verifiedAt === 0) webhook.announced = position
          webhook.verifiedAt = record.at
        }
        webhook.lastError = record.type === 'webhook.verified' ? '' : record.error
        this.changed.set(webhook.owner, position)
        return
      }
      case 'webhook.removed':
        return this.drop(this.#living(record.webhook).owner, position)
      case 'webhooks.lapsed':
        for (const webhook of this.all) {
          const isDue = webhook.verifiedAt === 0 && webhook.at + dayMs <= record.at
          if (!webhook.isGone && isDue) this.drop(webhook.owner, position)
        }
        return
      case 'delivery.started':
        return this.#start(position, record)
      case 'delivery.finished':
        return this.#finish(position, record)
      default:
        // A new type of record does not compile until the model handles it.
        record satisfies never
    }
  }

  #living(number: number): Webhook {
    const webhook = this.all[number]
    assert.ok(webhook !== undefined && !webhook.isGone, 'a record is about a webhook that exists')
    return webhook
  }

  #register(position: number, record: RecordOf<'webhook.registered'>): void {
    const { id, endpoint, sealed, at, key } = record
    const owner = this.#identities.agents[record.by]
    this.drop(owner, position)
    const number = this.all.length
    const about = { number, id, owner, endpoint, sealed, position, at }
    const empty = { verifiedAt: 0, lastError: '', isGone: false, announced: 0, deliveries: [] }
    this.all.push({ ...about, ...empty })
    this.changed.set(owner, position)
    const request = JSON.stringify(['webhook', endpoint])
    owner.uses.set(key, { request, position, made: { webhook: number } })
  }

  /** The delivery that a record is about. */
  open({ webhook: number, first }: { webhook: number; first: number }): Delivery {
    const delivery = this.#living(number).deliveries.find(isOpen)
    assert.equal(delivery?.first, first, 'an attempt belongs to the open delivery')
    return delivery!
  }

  #start(position: number, record: RecordOf<'delivery.started'>): void {
    const { first, through, at } = record
    const webhook = this.#living(record.webhook)
    const open = webhook.deliveries.find(isOpen)
    const news = this.news(webhook, open === undefined ? webhook.announced : first - 1, at)
    assert.ok(news.length > 0, 'a wakeup has news in the feed')
    const last = open?.state === 'sending' ? open.through : Math.max(open?.through ?? 0, ...news)
    assert.deepEqual([first, through], [open?.first ?? news[0], last], 'what it announces')
    assert.ok((open?.nextAttemptAt ?? 0) <= at, 'no attempt before it is due')
    const delivery = open ?? newDelivery(webhook, first, at)
    if (open === undefined) webhook.deliveries.push(delivery)
    delivery.state = 'sending'
    delivery.through = through
    delivery.attempts += 1
    delivery.nextAttemptAt = 0
    delivery.started = position
    this.changed.set(delivery.webhook.owner, position)
  }

  #finish(position: number, record: RecordOf<'delivery.finished'>): void {
    const { outcome, status, error, nextAttemptAt, at } = record
    const delivery = this.open(record)
    this.changed.set(delivery.webhook.owner, position)
    delivery.nextAttemptAt = 0
    if (outcome === 'cancelled') {
      const end = delivery.state === 'sending' ? delivery.through : Number.POSITIVE_INFINITY
      const news = this.news(delivery.webhook, delivery.first - 1, at)
      assert.ok(!news.some((seq) => seq <= end), 'a delivery with news is not cancelled')
      delivery.state = 'cancelled'
      announce(delivery)
      return
    }
    assert.equal(delivery.state, 'sending', 'an attempt ends after it began')
    delivery.lastStatus = status
    delivery.lastError = error
    if (outcome === 'delivered') delivery.deliveredAt = at
    if (outcome === 'retried') checkRetry(delivery, at, nextAttemptAt)
    delivery.nextAttemptAt = nextAttemptAt
    delivery.state = outcome === 'retried' ? 'pending' : outcome
    if (outcome !== 'retried') announce(delivery)
  }
}

function isOpen({ state }: Delivery): boolean {
  return state === 'pending' || state === 'sending'
}

/** Notes that a delivery is finished. */
function announce({ webhook, through }: Delivery): void {
  webhook.announced = Math.max(webhook.announced, through)
}

const minuteMs = 60_000
const retryMinutes = [1, 5, 15, 60, 360]

function checkRetry(
  { attempts, at: createdAt }: Delivery,
  at: number,
  nextAttemptAt: number,
): void {
  const delayMs = retryMinutes[attempts - 1] * minuteMs
  const waitMs = nextAttemptAt - at
  assert.ok(waitMs >= delayMs && waitMs <= delayMs * 1.2, `attempt ${attempts}: ${waitMs} ms`)
  assert.ok(nextAttemptAt <= createdAt + 2 * dayMs, 'abandoned after two days')
}

function newDelivery(webhook: Webhook, first: number, at: number): Delivery {
  const about = { webhook, first, through: first, state: 'sending', at } as const
  const none = { attempts: 0, deliveredAt: 0, lastStatus: 0, lastError: '', started: 0 }
  return { ...about, ...none, nextAttemptAt: 0 }
}

export function secretOf({ id, sealed }: Webhook): string {
  return open(keys.webhook, id, sealed)!
}
