// The webhooks and deliveries of the model: which owners a message wakes, and the outcomes of
// attempts.

import assert from 'node:assert/strict'
import type { ForumRecord, RecordOf } from '../../src/forum/records.ts'
import { open } from '../../src/forum/webhooks.ts'
import { dayMs } from '../forum/doubles.ts'
import { keys } from './keys.ts'
import type { Agent, Message } from './model-types.ts'

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
  { type: `webhook.${string}` | 'webhooks.lapsed' | `delivery.${string}` | 'deliveries.expired' }
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
   * A message wakes every follower of its thread and every identity that it mentions, as long as
   * that identity has an active webhook, is not blocked, and is not the author.
   */
  wake({ seq, thread, author, mentions, at }: Message): void {
    for (const webhook of this.all) {
      const { owner } = webhook
      if (webhook.isGone || webhook.verifiedAt === 0 || owner === author) continue
      const isConcerned = owner.follows.has(thread) || mentions.includes(owner)
      if (!isConcerned || owner.isBlocked) continue
      this.changed.set(owner, seq)
      const waiting = webhook.deliveries.find(({ state }) => state === 'pending')
      if (waiting !== undefined) waiting.through = seq
      else webhook.deliveries.push(newDelivery(webhook, seq, at))
    }
  }

  /** Returns whether the owner's feed shows any message in the range of the delivery. */
  hasNews({ webhook: { owner }, first, through }: Delivery, at: number): boolean {
    if (!this.#identities.isActive(owner, at)) return false
    const inRange = [...this.#identities.messages.values()].filter(({ seq, author }) => {
      return author !== owner && seq >= first && seq <= through
    })
    return inRange.some(({ thread, mentions, isErased }) => {
      return owner.follows.has(thread) || (!isErased && mentions.includes(owner))
    })
  }

  apply(position: number, record: WebhookRecord): void {
    switch (record.type) {
      case 'webhook.registered':
        return this.#register(position, record)
      case 'webhook.verified':
      case 'webhook.verify_failed': {
        const webhook = this.#living(record.webhook)
        if (record.type === 'webhook.verified') webhook.verifiedAt = record.at
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
      case 'deliveries.expired':
        return this.#expire(position, record.at)
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
    this.all.push({ ...about, verifiedAt: 0, lastError: '', isGone: false, deliveries: [] })
    this.changed.set(owner, position)
    const request = JSON.stringify(['webhook', endpoint])
    owner.uses.set(key, { request, position, made: { webhook: number } })
  }

  /** The delivery that a record is about. */
  open({ webhook: number, first }: { webhook: number; first: number }): Delivery {
    const { deliveries } = this.#living(number)
    const delivery = deliveries.find((one) => one.first === first)
    const isOpen = delivery?.state === 'pending' || delivery?.state === 'sending'
    assert.ok(delivery !== undefined && isOpen, 'an attempt belongs to an open delivery')
    return delivery
  }

  #start(position: number, record: RecordOf<'delivery.started'>): void {
    const delivery = this.open(record)
    const { state, nextAttemptAt } = delivery
    assert.ok(state === 'sending' || nextAttemptAt <= record.at, 'no attempt before it is due')
    const isBeside = delivery.webhook.deliveries.some(
      (other) => other !== delivery && other.state === 'sending',
    )
    assert.ok(!isBeside, 'one attempt at a time for each webhook')
    assert.ok(this.hasNews(delivery, record.at), 'a wakeup has news in the feed')
    delivery.state = 'sending'
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
      assert.ok(!this.hasNews(delivery, at), 'a delivery with news is not cancelled')
      delivery.state = 'cancelled'
      return
    }
    assert.equal(delivery.state, 'sending', 'an attempt ends after it began')
    delivery.lastStatus = status
    delivery.lastError = error
    if (outcome === 'delivered') delivery.deliveredAt = at
    if (outcome === 'retried') checkRetry(delivery, at, nextAttemptAt)
    delivery.nextAttemptAt = nextAttemptAt
    delivery.state = outcome === 'retried' ? 'pending' : outcome
  }

  #expire(position: number, at: number): void {
    for (const webhook of this.all) {
      const kept = webhook.deliveries.filter((delivery) => {
        const isOpen = delivery.state === 'pending' || delivery.state === 'sending'
        return isOpen || delivery.at + retentionMs > at
      })
      if (kept.length === webhook.deliveries.length) continue
      webhook.deliveries = kept
      if (!webhook.isGone) this.changed.set(webhook.owner, position)
    }
  }
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
  const about = { webhook, first, through: first, state: 'pending', at } as const
  const none = { attempts: 0, deliveredAt: 0, lastStatus: 0, lastError: '', started: 0 }
  return { ...about, ...none, nextAttemptAt: at }
}

export function secretOf({ id, sealed }: Webhook): string {
  return open(keys.webhook, id, sealed)!
}
