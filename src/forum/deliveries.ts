// Deliveries: reading their receipts, and making attempts. docs/interface.md, "Wakeups" and
// "Deliveries". delivery/ sends; what it may do to the forum is begin and finish an attempt.
//
// D1. An attempt leaves when the record of its start is durable; that record is newer than every
//     message it tells of, so a wakeup never tells of what a crash could take back.
// D2. An attempt that a crash cuts off is made again with the same event id.
// D3. Access is asked again at each attempt: nobody is woken for what their feed would not show.

import { hash } from 'node:crypto'
import type { Delivery } from '../state/deliveries-by-age.ts'
import type { Webhook } from '../state/webhook.ts'
import { type Forum, isRejection, type Positioned, timeOf } from './forum.ts'
import { readFeed } from './reads.ts'
import { secretOf } from './webhooks.ts'
import { admitOwn, commit } from './write.ts'

const minuteMs = 60_000
/** After the first attempt, the second … the last one is the sixth. */
export const retryDelaysMs = [1, 5, 15, 60, 360].map((minutes) => minutes * minuteMs)
/** A delay is up to this much longer, so that what failed together is not tried together. */
const jitterMax = 0.2
const giveUpAfterMs = 2 * 24 * 60 * minuteMs

export interface DeliveriesRead {
  caller: number
  /** Deliveries whose first message has a greater seq. */
  after: number
  limit: number
}

export interface DeliveryPage extends Positioned {
  webhook: Webhook | null
  deliveries: Delivery[]
  nextAfter: number
  hasMore: boolean
}

export function readDeliveries({ state }: Forum, read: DeliveriesRead): DeliveryPage {
  const webhook = state.webhooks.of(read.caller) ?? null
  const all = webhook?.deliveries ?? []
  const first = all.findIndex(({ context }) => context.first > read.after)
  const deliveries = first === -1 ? [] : all.slice(first, first + read.limit)
  return {
    position: state.webhooks.changedAt(read.caller),
    webhook,
    deliveries,
    nextAfter: deliveries.at(-1)?.context.first ?? read.after,
    hasMore: first !== -1 && first + read.limit < all.length,
  }
}

/**
 * A delivery's id, `evt_…`. It names what the delivery tells of: the same attempt made again has
 * the same id, and a receiver that drops repeated ids does not drop what was merged in since.
 */
export function eventId(webhook: Webhook, { context }: Delivery): string {
  const subject = `${webhook.id}:${context.first}:${context.through}`
  return `evt_${hash('sha256', subject, 'hex').slice(0, 32)}`
}

/** One attempt: what to send, once `position` is durable. */
export interface Attempt extends Positioned {
  webhook: number
  first: number
  endpoint: string
  secret: string
  eventId: string
  /** The JSON to send. */
  body: string
}

/** A webhook that is due to be tried now, or undefined; `begin` it next. */
export function takeDue(forum: Forum): { webhook: number; endpoint: string } | undefined {
  const webhook = forum.dueWebhooks.take(timeOf(forum))
  return webhook && { webhook: webhook.number, endpoint: webhook.endpoint }
}

/** When the next webhook is due. */
export function nextDueAt({ dueWebhooks }: Forum): number {
  return dueWebhooks.nextAt
}

/**
 * Begins an attempt for a webhook that was due. Null: there is nothing to send any more. `later`:
 * nothing can be written now; ask again.
 */
export function beginAttempt(
  forum: Forum,
  number: number,
  inboxUrl: string,
): Attempt | null | 'later' {
  const { state } = forum
  const webhook = state.webhooks.get(number)
  const delivery = webhook && state.webhooks.next(webhook)
  if (delivery === undefined) return null // replaced or removed meanwhile
  const permit = admitOwn(forum)
  if (isRejection(permit)) return 'later'

  const { at } = permit
  const { first, through, createdAt, nextAttemptAt } = delivery.context
  if (state.webhooks.state(delivery) === 'pending' && nextAttemptAt > at) {
    forum.dueWebhooks.plan(webhook!) // it was tried since it was found due
    return null
  }
  const of = { at, webhook: number, first }
  if (!hasNews(forum, webhook!.owner, delivery, at)) {
    const cancelled = { outcome: 'cancelled', status: 0, error: '', nextAttemptAt: 0 } as const
    commit(forum, permit, { type: 'delivery.finished', ...of, ...cancelled })
    return null
  }
  const position = commit(forum, permit, { type: 'delivery.started', ...of })
  const id = eventId(webhook!, delivery)
  const body = JSON.stringify({
    type: 'notifications.available',
    event_id: id,
    inbox_url: inboxUrl,
    after: first - 1,
    through,
    created_at: createdAt,
    content_included: false,
  })
  const secret = secretOf(forum, webhook!)
  return {
    position,
    webhook: number,
    first,
    endpoint: webhook!.endpoint,
    secret,
    eventId: id,
    body,
  }
}

/** Whether the identity would find something in its feed of what the delivery tells of. */
function hasNews(forum: Forum, owner: number, { context }: Delivery, at: number): boolean {
  if (!forum.state.identities.mayAct(owner, at)) return false
  const { messages } = readFeed(forum, { caller: owner, after: context.first - 1, limit: 1 })
  return messages.length > 0 && forum.state.messages.seq(messages[0]) <= context.through
}

/** How an attempt went: the status of the receiver's answer or 0, and an error code or null. */
export interface AttemptResult {
  status: number
  error: string | null
}

/** Records how an attempt went. False: nothing can be written now; ask again. */
export function finishAttempt(forum: Forum, attempt: Attempt, result: AttemptResult): boolean {
  const webhook = forum.state.webhooks.get(attempt.webhook)
  if (webhook === undefined) return true // replaced or removed meanwhile, its receipts with it
  const permit = admitOwn(forum)
  if (isRejection(permit)) return false
  const { at } = permit
  const { status, error } = result
  const of = { at, webhook: attempt.webhook, first: attempt.first, status, error: error ?? '' }
  if (error === null) {
    const delivered = { ...of, outcome: 'delivered', nextAttemptAt: 0 } as const
    commit(forum, permit, { type: 'delivery.finished', ...delivered })
    return true
  }
  const { attempts, createdAt } = forum.state.webhooks.next(webhook)!.context
  const nextAttemptAt = at + retryDelayMs(forum, attempts)
  commit(
    forum,
    permit,
    nextAttemptAt <= createdAt + giveUpAfterMs
      ? { type: 'delivery.finished', ...of, outcome: 'retried', nextAttemptAt }
      : { type: 'delivery.finished', ...of, outcome: 'failed', nextAttemptAt: 0 },
  )
  return true
}

/** Milliseconds until the next attempt after `attempts` of them; Infinity after the last one. */
function retryDelayMs({ stamps }: Forum, attempts: number): number {
  if (attempts > retryDelaysMs.length) return Number.POSITIVE_INFINITY
  const chance = stamps.bytes(4).readUInt32LE() / 2 ** 32
  return Math.floor(retryDelaysMs[attempts - 1] * (1 + jitterMax * chance))
}
