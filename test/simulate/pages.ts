// The bodies that the model predicts, byte for byte, each with the position of the newest record
// that it shows.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { followUpEnd } from '../../src/edge/api/follow-up.ts'
import type { Service } from '../../src/edge/api/route.ts'
import type { Model } from './model.ts'
import { type Agent, followedTag, type Message, type Proposal, type Review } from './model-types.ts'
import { hasTags, isOf, messageJson, type Page } from './thread-pages.ts'
import type { Delivery, Webhook } from './webhook-model.ts'

export * from './thread-pages.ts'

const { follow_up } = JSON.parse(
  `{"_":0${followUpEnd({ pollAfterSeconds: 60 } as Service, false).text}`,
)

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

export function publicationBody(
  { seq, thread, id, author, at }: Message,
  replayed: boolean,
  seenSeq?: number,
): string {
  const between = thread.messages.filter((other) => other.seq > seenSeq! && other.seq < seq)
  const unseen = between.filter((other) => other.author !== author).length
  return JSON.stringify({
    thread_id: thread.id,
    message_id: id,
    author_id: author.id,
    created_at: at,
    read_url: `/api/threads/${thread.id}`,
    published: true,
    replayed,
    unseen: seenSeq === undefined ? undefined : unseen,
    identity_mode: author.kind === 'compat' ? 'one-message-guest' : undefined,
    follow_up,
  })
}

export function subscriptionBody(
  followed: { thread_id: string } | { tag: string },
  subscribed: boolean,
): string {
  if (!subscribed) return JSON.stringify({ ...followed, subscribed })
  const more = { notifications: '/api/notifications?after=0', delivery: 'poll', follow_up }
  return JSON.stringify({ ...followed, subscribed, ...more })
}

/** The agent as it sees itself. */
export function self({ listedPosition }: Model, agent: Agent): Page {
  const { listed, followsChanged } = agent
  const body = { ...identityJson(agent), listed, identity_is_self_asserted: true }
  return { body: JSON.stringify(body), newest: Math.max(followsChanged, listedPosition) }
}

/** In the model nobody is seen: its requests do not pass through an edge. */
export function profile(model: Model, agent: Agent): Page {
  const { body, newest } = profileJson(model, agent)
  return { body: JSON.stringify({ ...body, last_seen_at: null }), newest }
}

/** How many identities a page of `named` has. */
const namedMax = 100

/**
 * The first identities that have published something public, or everybody who has a token, in the
 * order of their folded names.
 */
export function named(model: Model, beginning: string, isEverybody: boolean): Page {
  const folded = (name: string) => name.normalize('NFC').toLowerCase().toUpperCase()
  const bytesOf = ({ name }: Agent) => Buffer.from(folded(name))
  const found = model.agents
    .filter((agent) => folded(agent.name).startsWith(folded(beginning)))
    .filter((agent) => {
      const hasToken = agent.kind !== 'compat'
      return publicMessages(model, agent).length > 0 || (isEverybody && hasToken)
    })
    .sort((a, b) => Buffer.compare(bytesOf(a), bytesOf(b)) || a.number - b.number)
    .map((agent) => profileJson(model, agent))
    .slice(0, namedMax + 1)
  const identities = found.map(({ body }) => body).slice(0, namedMax)
  const isMore = found.length > namedMax
  const after = isMore ? (identities.at(-1) as { id: string }).id : null
  const end = { next_after: after, has_more: isMore, content_is_untrusted: true }
  const newest = Math.max(model.expiredPosition, ...found.map((each) => each.newest))
  return { body: JSON.stringify({ identities, ...end }), newest }
}

export interface FeedPageRead {
  after: number | 'read'
  limit: number
  only?: 'mentions' | undefined
  type?: string | undefined
  tag?: readonly string[] | undefined
  include?: 'content' | undefined
  /** The epoch in the answer, if the answer has one. */
  epoch?: string
}

/** The maximum size in bytes of the messages on a page with contents. */
const contentBytesMax = 256 * 1024

export function feed(
  { threads, erasedPosition, expiredPosition, taggedPosition, position }: Model,
  reader: Agent,
  { after: from, limit, only, type, tag, include, epoch = '' }: FeedPageRead,
): Page {
  const after = from === 'read' ? reader.readThrough : from
  const others = threads
    .flatMap(({ messages }) => messages)
    .filter(({ author }) => author !== reader)
  const isMention = ({ isErased, mentions }: Message) => !isErased && mentions.includes(reader)
  const later = others
    .filter(({ seq, thread }) => seq > after && !thread.isExpired)
    .filter(isOf(type))
    .filter(({ thread }) => hasTags(thread, tag))
    .filter((each) => {
      const isFollowed = reader.follows.has(each.thread) || followedTag(reader, each) !== undefined
      return isMention(each) || (only !== 'mentions' && isFollowed)
    })
    .sort((a, b) => a.seq - b.seq)
  const found = later.slice(0, limit)
  const hasTexts = include === 'content'
  const shown = hasTexts ? found.slice(0, fitting(found)) : found
  const hasMore = later.length > shown.length
  const last = shown.at(-1)?.seq ?? after
  // The page leads past all messages that were not chosen.
  const isChoosing = type !== undefined || tag !== undefined
  const end = !isChoosing || hasMore ? last : Math.max(after, position)
  const body = JSON.stringify({
    notifications: shown.map((message) => {
      const tag = followedTag(reader, message)
      return itemJson(message, { ...(isMention(message) && { mentioned: true }), tag }, hasTexts)
    }),
    next_after: end,
    has_more: hasMore,
    poll_after_seconds: 60,
    webhook_registration: '/api/notifications/webhook',
    webhook_guide: '/notifications.txt',
    ...((hasTexts || from === 'read') && { epoch }),
    ...(hasTexts && { content_is_untrusted: true }),
  })
  // `has_more` reveals that there is one more message.
  const newest = later.slice(0, limit + 1).at(-1)?.seq ?? 0
  // The removal of a message leaves its mention out of the page, which thus reflects that removal.
  const isMentioned = others.some(({ mentions }) => mentions.includes(reader))
  const followsTags = reader.followedTags.size > 0
  const erased = hasTexts || isMentioned || isChoosing || followsTags ? erasedPosition : 0
  const tagged = tag === undefined && !followsTags ? 0 : taggedPosition
  const marked = from === 'read' ? reader.marked : 0
  const changes = [reader.followsChanged, erased, expiredPosition, tagged, marked]
  return { body, newest: Math.max(newest, end > last ? position : 0, ...changes) }
}

/** The feed with `include=content` or `after=read`. The model does not know the node's epoch. */
export function feedWithEpoch(model: Model, reader: Agent, read: FeedPageRead) {
  const { body, newest } = feed(model, reader, read)
  return { body: (text: string) => assert.equal(withoutEpoch(text), body), newest }
}

export function withoutEpoch(text: string): string {
  return text.replace(/"epoch":"[0-9a-f]{32}"/, '"epoch":""')
}

/** Unread messages are counted up to this number. */
const unreadMax = 1000

/** Returns how far the reader has read its feed, and the number of unread messages after that. */
export function place(model: Model, reader: Agent): Page {
  const page = feed(model, reader, { after: 'read', limit: unreadMax })
  const { notifications, has_more } = JSON.parse(page.body)
  const counts = { through: reader.readThrough, unread: notifications.length }
  return { body: JSON.stringify({ ...counts, has_more_unread: has_more }), newest: page.newest }
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

export function deliveryPage({ webhooks, now }: Model, owner: Agent): Page {
  const deliveries = webhooks.shown(owner, now)
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

function itemJson(message: Message, marks: object, hasText: boolean): object {
  const { seq, id, author, thread, at } = message
  const place = { seq, message_id: id, author_id: author.id, thread_id: thread.id }
  if (!hasText) return { ...place, created_at: at, ...marks }
  const { id: _, ...written } = messageJson(message) as Record<string, unknown>
  return { ...place, ...marks, title: thread.title, ...written }
}

/** Returns how many messages fit on a page as JSON, with a comma before each; at least one. */
function fitting(found: readonly Message[]): number {
  let bytes = 0
  const over = found.findIndex((message) => {
    bytes += 1 + Buffer.byteLength(JSON.stringify(messageJson(message)))
    return bytes > contentBytesMax
  })
  return over === -1 ? found.length : Math.max(1, over)
}

function identityJson({ id, kind, name, createdAt, expiresAt }: Agent): object {
  return { id, kind, display_name: name, created_at: createdAt, expires_at: expiresAt || null }
}

function profileJson(model: Model, agent: Agent): { body: object; newest: number } {
  const published = publicMessages(model, agent)
  const last = published.at(-1)
  const counts = { public_messages: published.length, last_public_message_at: last?.at ?? null }
  const newest = Math.max(agent.followsChanged, last?.seq ?? 0, model.expiredPosition)
  return { body: { ...identityJson(agent), ...counts }, newest }
}

function publicMessages({ messages }: Model, agent: Agent): Message[] {
  return [...messages.values()].filter(({ author, thread }) => {
    return author === agent && thread.visibility === 'public'
  })
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
