// Deliveries: reading their receipts, and making attempts. docs/interface.md, "Wakeups" and
// "Deliveries". schedule.ts and send.ts send; it changes the forum only by beginning and finishing
// attempts.
//
// D1. An attempt is sent only once the record of its start is durable. That record is newer than
//     every message it announces, so a wakeup never announces a message that a crash could undo.
// D2. An attempt that a crash interrupts is repeated with the same event id.
// D3. Access is checked at each attempt: nobody is woken for a message that their feed would not
//     show, as far as one slice of a search can tell (`unannounced`).

import { hash } from 'node:crypto'
import { timeOf } from '../../kernel/clock.ts'
import { isRejection } from '../../kernel/rejection.ts'
import { FeedSearch, sliceSteps } from '../feed/queries.ts'
import type { Forum, Positioned } from '../forum.ts'
import type { State } from '../state.ts'
import { admitOwn, commit } from '../write.ts'
import { secretOf } from './commands.ts'
import { type Delivery, isSending, type Webhook } from './webhook.ts'

const minuteMs = 60_000
/** The delays after the first attempt, the second and so on; the sixth attempt is the last. */
export const retryDelaysMs = [1, 5, 15, 60, 360].map((minutes) => minutes * minuteMs)
/** Each delay is extended by up to this fraction, to spread attempts that failed together. */
const jitterMax = 0.2
const giveUpAfterMs = 2 * 24 * 60 * minuteMs

interface DeliveriesRead {
  caller: number
  /** Returns deliveries whose first message has a greater seq. */
  after: number
  limit: number
}

interface DeliveryPage extends Positioned {
  webhook: Webhook | null
  deliveries: Delivery[]
  nextAfter: number
  hasMore: boolean
}

export function readDeliveries({ state }: Forum, read: DeliveriesRead): DeliveryPage {
  const { after, limit } = read
  const webhook = state.webhooks.of(read.caller) ?? null
  const page = { after, limit: limit + 1 } // one more shows whether there are more
  const found = webhook === null ? [] : state.webhooks.deliveries(webhook, state.now, page)
  const deliveries = found.slice(0, limit)
  return {
    position: state.position, // the time of the last record decides which receipts are old
    webhook,
    deliveries,
    nextAfter: deliveries.at(-1)?.context.first ?? after,
    hasMore: found.length > limit,
  }
}

/**
 * Returns a delivery's id, `evt_…`, derived from the messages that the delivery announces: a
 * repeated attempt has the same id, and merging a message changes it, so that receivers which drop
 * repeated ids do not miss that message. After a restore, other messages have the positions that
 * were announced before, so the time of the first attempt counts, too.
 */
export function eventId(
  { epochBegin = null }: Pick<Forum, 'epochBegin'>,
  webhook: Pick<Webhook, 'id'>,
  { context }: Delivery,
): string {
  const { first, through, createdAt } = context
  const isAgain = epochBegin !== null && through > epochBegin
  const subject = `${webhook.id}:${first}:${through}${isAgain ? `:${createdAt}` : ''}`
  return `evt_${hash('sha256', subject, 'hex').slice(0, 32)}`
}

/** One attempt, which may be sent once `position` is durable. */
export interface Attempt extends Positioned {
  webhook: number
  first: number
  endpoint: string
  secret: string
  eventId: string
  /** The JSON to send. */
  body: string
}

/** Takes a webhook that may be due now, for `beginAttempt`; returns undefined if none is. */
export function takeDue(forum: Forum): { webhook: number; endpoint: string } | undefined {
  const webhook = forum.dueWebhooks.take(timeOf(forum))
  return webhook && { webhook: webhook.number, endpoint: webhook.endpoint }
}

/** Returns when `takeDue` has work, in milliseconds since the epoch; Infinity if it has none. */
export function nextDueAt({ dueWebhooks }: Forum): number {
  return dueWebhooks.nextAt
}

/**
 * Begins an attempt for a webhook that was due. Returns null if there is nothing left to send, and
 * `later` if the log accepts no records now, so that it must be called again.
 */
export function beginAttempt(
  forum: Forum,
  number: number,
  inboxUrl: string,
): Attempt | null | 'later' {
  const webhook = forum.state.webhooks.get(number)
  if (webhook === undefined) return null // replaced or removed meanwhile
  const permit = admitOwn(forum)
  if (isRejection(permit)) return 'later'

  const { at } = permit
  const { delivery } = webhook
  if (delivery !== null && delivery.context.nextAttemptAt > at) {
    forum.dueWebhooks.plan(webhook) // it was attempted after it had been found due
    return null
  }
  const range = rangeOf(forum, webhook, at)
  if (range === null) {
    if (delivery === null) return null
    const attempt = { at, webhook: number, first: delivery.context.first }
    const cancelled = { outcome: 'cancelled', status: 0, error: '', nextAttemptAt: 0 } as const
    commit(forum, permit, { type: 'delivery.finished', ...attempt, ...cancelled })
    return null
  }
  const started = { type: 'delivery.started', at, webhook: number, ...range } as const
  const position = commit(forum, permit, started)
  return { position, ...attemptOf(forum, webhook, inboxUrl) }
}

function attemptOf(forum: Forum, webhook: Webhook, inboxUrl: string) {
  const { number, endpoint } = webhook
  const { first, through, createdAt } = webhook.delivery!.context
  const id = eventId(forum, webhook, webhook.delivery!)
  const body = JSON.stringify({
    type: 'notifications.available',
    event_id: id,
    inbox_url: inboxUrl,
    after: first - 1,
    through,
    created_at: createdAt,
    content_included: false,
  })
  const secret = secretOf(forum, webhook)
  return { webhook: number, first, endpoint, secret, eventId: id, body }
}

/**
 * Returns what the next attempt announces, or null if the owner's feed shows nothing of it. An
 * attempt that was interrupted is repeated as it was; a later one covers what has arrived since.
 */
function rangeOf({ state }: Forum, webhook: Webhook, at: number): Range | null {
  const { owner, announced, delivery } = webhook
  if (!state.webhooks.isActive(webhook) || !state.identities.mayAct(owner, at)) return null
  if (delivery === null) return unannounced(state, owner, announced)
  const { first, through } = delivery.context
  const news = unannounced(state, owner, first - 1)
  if (news === null) return null
  if (!isSending(webhook)) return { first, through: Math.max(through, news.through) }
  return news.first <= through ? { first, through } : null
}

/** The outcome of an attempt: the HTTP status of the response or 0, and an error code or null. */
interface AttemptResult {
  status: number
  error: string | null
}

/** Records an attempt's outcome. Returns false if the log accepts no records now: call it again. */
export function finishAttempt(forum: Forum, attempt: Attempt, result: AttemptResult): boolean {
  const webhook = forum.state.webhooks.get(attempt.webhook)
  if (webhook === undefined) return true // replaced or removed meanwhile, its receipts with it
  const permit = admitOwn(forum)
  if (isRejection(permit)) return false
  const { at } = permit
  const { status, error } = result
  const fields = { at, webhook: attempt.webhook, first: attempt.first, status, error: error ?? '' }
  if (error === null) {
    const delivered = { ...fields, outcome: 'delivered', nextAttemptAt: 0 } as const
    commit(forum, permit, { type: 'delivery.finished', ...delivered })
    return true
  }
  const { attempts, createdAt } = webhook.delivery!.context
  const nextAttemptAt = at + retryDelayMs(forum, attempts)
  commit(
    forum,
    permit,
    nextAttemptAt <= createdAt + giveUpAfterMs
      ? { type: 'delivery.finished', ...fields, outcome: 'retried', nextAttemptAt }
      : { type: 'delivery.finished', ...fields, outcome: 'failed', nextAttemptAt: 0 },
  )
  return true
}

/** Returns the delay after `attempts` failed attempts, in milliseconds; Infinity after the last. */
function retryDelayMs({ stamps }: Forum, attempts: number): number {
  if (attempts > retryDelaysMs.length) return Number.POSITIVE_INFINITY
  const chance = stamps.bytes(4).readUInt32LE() / 2 ** 32
  return Math.floor(retryDelaysMs[attempts - 1] * (1 + jitterMax * chance))
}

/** The positions of the first and of the last message that a wakeup announces. */
interface Range {
  first: number
  through: number
}

/**
 * Returns the range of the messages after the position `after` that the feed shows and that arrived
 * while the identity followed their thread; null if there are none. One slice of a search and as
 * much work again at most: if that does not settle it, the range is everything after `after`.
 */
export function unannounced(state: State, identity: number, after: number): Range | null {
  const { messages } = state
  const isSinceFollowed = true
  const search = new FeedSearch(state, { caller: identity, after, limit: 1, isSinceFollowed })
  if (!search.step()) return { first: after + 1, through: messages.seq(messages.count - 1) }
  const [message] = search.feed().messages
  if (message === undefined) return null
  const first = messages.seq(message)
  return { first, through: newest(state, identity, first) }
}

/** Returns the position of the newest message of the feed, which has one at the position `from`. */
function newest(state: State, identity: number, from: number): number {
  const { feeds, threads, messages, subscriptions, moderation, tags } = state
  const upperBound = messages.seq(messages.count - 1)
  if (feeds.followed(identity) > sliceSteps) return upperBound
  let stepsLeft = sliceSteps
  let through = from
  for (let index = feeds.mentions(identity) - 1; index >= 0; index--) {
    if (stepsLeft-- === 0) return upperBound
    const message = feeds.mentionAt(identity, index)
    if (messages.seq(message) <= through) break
    if (state.isGone(message)) continue
    if (moderation.find('removed', message) !== undefined) continue // it mentions nobody
    through = messages.seq(message)
    break
  }
  for (const thread of feeds.threadsOf(identity)) {
    if (threads.actors.columns.newestPosition.get(thread) <= through) continue
    if (threads.isExpired(thread)) continue
    const since = subscriptions.changedAt(identity, thread)
    for (let index = threads.messageCount(thread) - 1; index >= 0; index--) {
      if (stepsLeft-- === 0) return upperBound
      const message = threads.message(thread, index)
      const seq = messages.seq(message)
      if (seq <= through || seq < since) break
      if (messages.author(message) === identity) continue
      through = seq
      break
    }
  }
  for (const { tag, from: first } of feeds.tagsOf(identity)) {
    const tagged = tags.publicThreads(tag)
    for (let index = tagged.length - 1; index >= 0; index--) {
      if (stepsLeft-- === 0) return upperBound
      const thread = tagged.get(index)
      const seq = threads.actors.columns.firstPosition.get(thread)
      if (seq <= through || thread < first) break
      if (threads.actors.columns.author.get(thread) === identity) continue
      through = seq
      break
    }
  }
  return through
}
