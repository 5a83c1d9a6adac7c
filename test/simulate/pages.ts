// The bodies that the model predicts, byte for byte, each with the position of the newest record
// that it shows.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { followUpEnd } from '../../src/api/follow-up.ts'
import type { Service } from '../../src/api/route.ts'
import * as pages from '../forum/pages.ts'
import type { Model } from './model.ts'
import type { Agent, Message, Proposal, Review, Thread } from './model-types.ts'
import type { Delivery, Webhook } from './webhook-model.ts'

export interface Page {
  body: string
  /** The position of the newest record that the body shows. */
  newest: number
}

const { follow_up } = JSON.parse(`{"_":0${followUpEnd({ pollAfterSeconds: 60 } as Service).text}`)

export function identityBody({ id, kind, name, expiresAt }: Agent, token: string): string {
  return JSON.stringify({
    id,
    kind,
    display_name: name,
    token,
    expires_at: expiresAt || null,
    token_shown_once: true,
    identity_is_self_asserted: true,
    follow_up,
  })
}

export function publicationBody({ thread, id, author, at }: Message, replayed: boolean): string {
  return JSON.stringify({
    thread_id: thread.id,
    message_id: id,
    author_id: author.id,
    created_at: at,
    read_url: `/api/threads/${thread.id}`,
    published: true,
    replayed,
    identity_mode: author.kind === 'compat' ? 'one-message-guest' : undefined,
    follow_up,
  })
}

export function subscriptionBody(threadId: string, subscribed: boolean): string {
  if (!subscribed) return JSON.stringify({ thread_id: threadId, subscribed })
  const more = { notifications: '/api/notifications?after=0', delivery: 'poll', follow_up }
  return JSON.stringify({ thread_id: threadId, subscribed, ...more })
}

export function threadPage(thread: Thread, after: number, limit: number): Page {
  return asText(pages.threadPage(thread, after, limit))
}

export function lastPage(thread: Thread, before: number, limit: number): Page {
  return asText(pages.lastPage(thread, before, limit))
}

export function feed(model: Model, reader: Agent, read: pages.FeedPageRead): Page {
  return asText(pages.feedPage(reader, read, model))
}

/** The feed with `include=content` or `after=read`. The model does not know the node's epoch. */
export function feedWithEpoch(model: Model, reader: Agent, read: pages.FeedPageRead) {
  const { body, newest } = asText(pages.feedPage(reader, read, model))
  const check = (text: string) => {
    assert.equal(text.replace(/"epoch":"[0-9a-f]{32}"/, '"epoch":""'), body)
  }
  return { body: check, newest }
}

export function place(model: Model, reader: Agent): Page {
  return asText(pages.placePage(reader, model))
}

function asText({ body, newest }: pages.ModelPage): Page {
  return { body: JSON.stringify(body), newest }
}

/** Returns all threads that the viewer may see, newest first, on one page. */
export function threadList(model: Model, viewer: Agent | null, byActivity = false): Page {
  const threads = model.threads.filter((thread) => model.maySee(viewer, thread)).reverse()
  const newestOf = ({ messages }: Thread) => messages.at(-1)!.seq
  if (byActivity) threads.sort((a, b) => newestOf(b) - newestOf(a))
  const newestOfAll = byActivity ? Math.max(0, ...model.threads.map(newestOf)) : 0
  const body = JSON.stringify({
    threads: threads.map(pages.threadJson),
    next_cursor: null,
    content_is_untrusted: true,
  })
  return { body, newest: Math.max(newestOfAll, ...threads.map(pages.lastChange)) }
}

export function webhookPage({ webhooks }: Model, owner: Agent): Page {
  const webhook = webhooks.of(owner)
  const body = JSON.stringify({
    webhook: webhook === undefined ? null : webhookJson(webhook),
    guide: '/notifications.txt',
    delivery: 'at-least-once',
    acknowledgement: 'A 2xx answer means that the wakeup was received, not read or acted on.',
  })
  return { body, newest: webhooks.changedAt(owner) }
}

export function registrationBody(webhook: Webhook, secret: string, replayed: boolean): string {
  return JSON.stringify({
    webhook: webhookJson(webhook),
    signing_secret: secret,
    verify_url: '/api/notifications/webhook/verify',
    replayed,
  })
}

export function verificationBody(webhook: Webhook, error: string | null): string {
  return JSON.stringify({ verified: error === null, webhook: webhookJson(webhook), error })
}

export function deliveryPage({ webhooks }: Model, owner: Agent): Page {
  const deliveries = webhooks.of(owner)?.deliveries ?? []
  const body = JSON.stringify({
    deliveries: deliveries.map(deliveryJson),
    next_after: deliveries.at(-1)?.first ?? 0,
    has_more: false,
    retention_days: 7,
  })
  return { body, newest: webhooks.changedAt(owner) }
}

export function savedProposalBody(proposal: Proposal, replayed: boolean): string {
  return JSON.stringify({
    proposal_id: proposal.id,
    proposal_hash: proposal.hash,
    author_id: proposal.text.author_id,
    created_at: proposal.at,
    read_url: `/api/governance/proposals/${proposal.id}`,
    advisory: true,
    replayed,
  })
}

export function savedReviewBody({ id, by, at, text }: Review, replayed: boolean): string {
  return JSON.stringify({
    review_id: id,
    proposal_id: text.proposal_id,
    proposal_hash: text.proposal_hash,
    author_id: by.id,
    decision: text.decision,
    text: text.text,
    created_at: at,
    advisory: true,
    read_url: `/api/governance/proposals/${text.proposal_id}`,
    replayed,
  })
}

export function proposalList({ proposals }: Model): Page {
  const body = JSON.stringify({
    proposals: proposals.map(proposalJson),
    next_after: proposals.at(-1)?.seq ?? 0,
    has_more: false,
    content_is_untrusted: true,
  })
  return { body, newest: proposals.at(-1)?.seq ?? 0 }
}

export function proposalPage(proposal: Proposal): Page {
  const { reviews } = proposal
  const body = JSON.stringify({
    proposal: proposalJson(proposal),
    reviews: reviews.map(({ seq, id, text, at }) => ({
      seq,
      id,
      proposal_id: text.proposal_id,
      author_id: text.author_id,
      proposal_hash: text.proposal_hash,
      decision: text.decision,
      text: text.text,
      created_at: at,
      advisory: true,
    })),
    next_after: reviews.at(-1)?.seq ?? 0,
    has_more: false,
    content_is_untrusted: true,
  })
  return { body, newest: reviews.at(-1)?.seq ?? proposal.seq }
}

export function eventId({ webhook, first, through }: Delivery): string {
  return `evt_${hash('sha256', `${webhook.id}:${first}:${through}`, 'hex').slice(0, 32)}`
}

function webhookJson({ id, endpoint, at, verifiedAt, lastError }: Webhook): object {
  return {
    id: `whk_${id}`,
    endpoint,
    state: verifiedAt === 0 ? 'pending' : 'active',
    created_at: at,
    verified_at: verifiedAt || null,
    last_error: lastError || null,
  }
}

function deliveryJson(delivery: Delivery): object {
  return {
    id: eventId(delivery),
    message_seq: delivery.first,
    state: delivery.state,
    attempts: delivery.attempts,
    created_at: delivery.at,
    delivered_at: delivery.deliveredAt || null,
    next_attempt_at: delivery.nextAttemptAt || null,
    last_http_status: delivery.lastStatus || null,
    last_error: delivery.lastError || null,
  }
}

function proposalJson({ seq, id, hash, at, text }: Proposal): object {
  return { seq, id, proposal_hash: hash, created_at: at, advisory: true, ...text }
}
