// The outcomes that the model predicts, as in docs/interface.md, "Order of checks".

import assert from 'node:assert/strict'
import { hashProposal } from '../../src/forum/governance/commands.ts'
import type { ProposalText } from '../../src/forum/governance/table.ts'
import { tokenDigest } from '../../src/forum/identities/commands.ts'
import type { RecordOf, RecordType } from '../../src/forum/records.ts'
import { clientDay, readTicket, signTicket } from '../../src/forum/tickets/commands.ts'
import type { QuotaLimits } from '../../src/kernel/quotas.ts'
import { detailsOf } from '../../src/kernel/receipts.ts'
import { type Expected, type ExpectedWrite, type Forecast, refused } from './asking.ts'
import { lostClaim } from './claim-forecasts.ts'
import { absent, answerToUsed, shown, writing } from './forecasting.ts'
import { keys } from './keys.ts'
import type { Model } from './model.ts'
import { type Agent, isSaid, isTitled, type QuotaEvent } from './model-types.ts'
import * as pages from './pages.ts'
import { limitReached } from './quota-model.ts'
import { secretOf } from './webhook-model.ts'

const guestMs = 7 * 24 * 3_600_000
const ticketMs = 120_000

/** A caller and the address from which it calls. */
export interface Who {
  agent: Agent
  address: string
}

/** `expectSeq`, `seenSeq` and `fence`: docs/interface.md, "Conditional replies" and "Claims". */
export interface Reply {
  threadId: string
  content: string
  mentioned: string[]
  type: string
  expectSeq?: number | undefined
  seenSeq?: number | undefined
  fence?: number | undefined
}

export class Forecasts {
  readonly model: Model
  /** The time that a record must have if it is made now. */
  readonly at: number
  readonly #limits: QuotaLimits

  constructor(model: Model, at: number, limits: QuotaLimits) {
    this.model = model
    this.at = at
    this.#limits = limits
  }

  identity(kind: 'guest' | 'persistent', name: string, address: string): Forecast {
    const limited = this.#limited('identities', -1, address)
    if (limited !== null) return limited
    const expiresAt = kind === 'guest' ? this.at + guestMs : 0
    return this.#writing('identity.created', { kind, displayName: name, expiresAt }, () => {
      const agent = this.model.agents.at(-1)!
      const body = (text: string) => {
        const { token } = JSON.parse(text) as { token: string }
        assert.equal(tokenDigest(token), agent.tokenDigest)
        assert.equal(text, pages.identityBody(agent, token))
      }
      return { status: 201, body }
    })
  }

  thread(
    { agent, address }: Who,
    key: string,
    post: {
      title: string
      content: string
      visibility: 'public' | 'private'
      named: string[]
      mentioned: string[]
      type: string
      tags: readonly string[]
      ttlSeconds?: number | undefined
    },
  ): Forecast {
    const { title, content, visibility, named, mentioned, type, tags, ttlSeconds = 0 } = post
    const said = [content, mentioned, type]
    const request = ['thread', title, said, visibility, named, tags, ttlSeconds]
    const used = answerToUsed(agent, key, request)
    if (used !== null) return used
    const participants = named.map((id) => this.model.agentBy(id))
    for (const other of participants) {
      const isActive = other !== undefined && this.model.isActive(other, this.at)
      if (!isActive || other.kind === 'compat') return refused('invalid_members', blockOf(other))
    }
    const mayRead = (other: Agent) =>
      visibility === 'public' || other === agent || participants.includes(other)
    const unmentioned = this.#invalidMention(mentioned, mayRead)
    if (unmentioned !== null) return unmentioned
    const limited = this.#limited('messages', agent.number, address, mentioned.length)
    if (limited !== null) return limited
    const numbers = participants.map((other) => other!.number)
    const mentions = this.#numbersOf(mentioned)
    const more = { visibility, key, participants: numbers, mentions, messageType: type }
    const escapedContent = JSON.stringify(content)
    const fields = { by: agent.number, title, escapedContent, tags, ttlSeconds, ...more }
    return this.#writing('thread.posted', fields, () => this.#published(false, 201))
  }

  reply({ agent, address }: Who, key: string, reply: Reply): Forecast {
    const { threadId, content, mentioned, type, expectSeq, seenSeq, fence } = reply
    const thread = this.model.visible(agent, threadId)
    if (thread === undefined) return absent(this.model, threadId)
    const details = detailsOf({ expectSeq, seenSeq, fence })
    const request = ['reply', threadId, [content, mentioned, type], details]
    const used = answerToUsed(agent, key, request, seenSeq)
    if (used !== null) return used
    if (thread.isLocked) return refused('thread_locked', pages.lastChange(thread))
    const unmentioned = this.#invalidMention(mentioned, (other) => this.model.maySee(other, thread))
    if (unmentioned !== null) return unmentioned
    const lost = fence === undefined ? null : lostClaim(this, agent, thread, fence)
    if (lost !== null) return lost
    const { seq } = thread.messages.at(-1)!
    if (expectSeq !== undefined && seq > expectSeq) return refused('thread_changed', seq)
    const limited = this.#limited('messages', agent.number, address, mentioned.length)
    if (limited !== null) return limited
    const mentions = this.#numbersOf(mentioned)
    const said = { escapedContent: JSON.stringify(content), mentions, messageType: type, details }
    const fields = { by: agent.number, thread: thread.number, key, ...said }
    return this.#writing('reply.posted', fields, () => this.#published(false, 201, seenSeq))
  }

  #numbersOf(ids: readonly string[]): number[] {
    return ids.map((id) => this.model.agentBy(id)!.number)
  }

  /** Returns the refusal of the first identity that a message may not mention, or null. */
  #invalidMention(ids: readonly string[], mayRead: (other: Agent) => boolean): Expected | null {
    for (const other of ids.map((id) => this.model.agentBy(id))) {
      const isActive = other !== undefined && this.model.isActive(other, this.at)
      if (isActive && other.kind !== 'compat' && mayRead(other)) continue
      return refused('invalid_mentions', blockOf(other))
    }
    return null
  }

  tag(agent: Agent, threadId: string, tags: readonly string[]): Forecast {
    const thread = this.model.visible(agent, threadId)
    if (thread === undefined) return absent(this.model, threadId)
    const newest = pages.lastChange(thread)
    if (thread.author !== agent) return refused('not_author', newest)
    const body = JSON.stringify({ thread_id: threadId, tags })
    if (`${thread.tags}` === `${tags}`) return { status: 200, body, newest }
    if (thread.isLocked) return refused('thread_locked', newest)
    const fields = { by: agent.number, thread: thread.number, tags }
    return this.#writing('thread.tagged', fields, () => ({ status: 200, body }))
  }

  follow(agent: Agent, threadId: string, wanted: boolean): Forecast {
    const thread = this.model.visible(agent, threadId)
    const body = pages.subscriptionBody({ thread_id: threadId }, wanted)
    if (thread === undefined && wanted) return absent(this.model, threadId)
    if (thread === undefined) return { status: 200, body, newest: 0 }
    if (agent.follows.has(thread) === wanted) {
      return { status: 200, body, newest: agent.followed.get(thread) ?? 0 }
    }
    const type = wanted ? 'thread.subscribed' : 'thread.unsubscribed'
    const fields = { by: agent.number, thread: thread.number }
    return this.#writing(type, fields, () => ({ status: 200, body }))
  }

  mark(agent: Agent, through: number): Forecast {
    if (through > this.model.position) return refused('invalid_field')
    if (through <= agent.readThrough) return shown(pages.place(this.model, agent))
    return this.#writing('feed.read', { by: agent.number, through }, () => {
      return { status: 200, body: pages.place(this.model, agent).body }
    })
  }

  ticket(address: string): Forecast {
    const limited = this.#limited('tickets', -1, address)
    if (limited !== null) return limited
    const expiresAt = this.at + ticketMs
    return this.#writing('ticket.issued', { expiresAt }, () => {
      const [nonce] = [...this.model.tickets.keys()].slice(-1)
      const client = clientDay(keys.address, address, this.at)
      const signed = signTicket(keys.ticket, { nonce, expiresAt, client })
      const body = (text: string) => {
        const { ticket, expires_at } = JSON.parse(text)
        assert.deepEqual([ticket, expires_at], [signed, expiresAt])
      }
      return { status: 200, body }
    })
  }

  publish(
    signed: string,
    address: string,
    post: { content: string; title?: string; threadId?: string },
  ): Forecast {
    const { nonce, expiresAt, client } = readTicket(keys.ticket, signed)!
    if (this.at >= expiresAt) return this.ended('expired_ticket', expiresAt)
    const ticket = this.model.tickets.get(nonce)
    if (ticket === undefined) return refused('invalid_ticket')
    if (client !== clientDay(keys.address, address, this.at))
      return refused('ticket_client_changed')
    const { content, title, threadId } = post
    const thread = threadId === undefined ? undefined : this.model.visible(null, threadId)
    if (threadId !== undefined && thread === undefined) return absent(this.model, threadId)
    if (ticket.message !== null) {
      const { seq, thread: of } = ticket.message
      const began = of.messages[0] === ticket.message
      const isSame =
        isSaid(ticket.message, content) &&
        (threadId === undefined ? began && isTitled(of, title) : !began && of === thread)
      if (!isSame) return refused('ticket_already_used', seq)
      return { status: 200, body: pages.publicationBody(ticket.message, true), newest: seq }
    }
    if (thread?.isLocked) return refused('thread_locked', pages.lastChange(thread))
    const limited = this.#limited('messages', -1, address)
    if (limited !== null) return limited
    const used = { nonce, escapedContent: JSON.stringify(content) }
    const answer = () => this.#published(false, 201)
    return thread === undefined
      ? this.#writing('ticket.used_for_thread', { ...used, title }, answer)
      : this.#writing('ticket.used_for_reply', { ...used, thread: thread.number }, answer)
  }

  registerWebhook({ agent }: Who, key: string, endpoint: string): Forecast {
    const use = agent.uses.get(key)
    if (use !== undefined) {
      const webhook = 'webhook' in use.made ? this.model.webhooks.all[use.made.webhook] : undefined
      if (webhook === undefined || webhook.isGone || webhook.endpoint !== endpoint) {
        return refused('idempotency_conflict', use.position)
      }
      const body = pages.registrationBody(webhook, secretOf(webhook), true)
      return { status: 200, body, newest: this.model.webhooks.changedAt(agent) }
    }
    const limited = this.#limited('webhooks', agent.number, '')
    if (limited !== null) return limited
    return this.#writing('webhook.registered', { by: agent.number, endpoint, key }, () => {
      const webhook = this.model.webhooks.of(agent)!
      return { status: 201, body: pages.registrationBody(webhook, secretOf(webhook), false) }
    })
  }

  removeWebhook(agent: Agent): Forecast {
    const body = '{"removed":true}'
    const webhook = this.model.webhooks.of(agent)
    const newest = this.model.webhooks.changedAt(agent)
    if (webhook === undefined) return { status: 200, body, newest }
    return this.#writing('webhook.removed', { webhook: webhook.number }, () => ({
      status: 200,
      body,
    }))
  }

  /** Returns null if the endpoint is contacted. */
  verify(agent: Agent): Expected | null {
    const newest = this.model.webhooks.changedAt(agent)
    if (this.model.webhooks.of(agent) === undefined)
      return refused('webhook_not_registered', newest)
    return this.#limited('verifications', agent.number, '')
  }

  proposal({ agent, address }: Who, key: string, request: Record<string, unknown>): Forecast {
    const { kind, title, description, supersedes = null, ...more } = request
    const sent = { title, description, supersedes, kind, ...more }
    const used = answerToUsed(agent, key, ['proposal', sent])
    if (used !== null) return used
    if (supersedes !== null) {
      const earlier = this.model.proposals.find(({ id }) => id === supersedes)
      if (earlier === undefined) return refused('not_found')
      if (earlier.text.kind !== kind) return refused('invalid_supersedes', earlier.seq)
    }
    if (kind === 'maintainer') {
      const candidate = this.model.agentBy(request.candidate_id as string)
      if (candidate?.kind !== 'persistent' || candidate.isBlocked) {
        return refused('invalid_candidate', blockOf(candidate))
      }
    }
    const limited = this.#limited('governance', agent.number, address)
    if (limited !== null) return limited
    const text = { author_id: agent.id, ...sent } as ProposalText
    const fields = { by: agent.number, key, text, hash: hashProposal(text) }
    return this.#writing('proposal.saved', fields, () => {
      return { status: 201, body: pages.savedProposalBody(this.model.proposals.at(-1)!, false) }
    })
  }

  review(
    { agent, address }: Who,
    key: string,
    review: { proposalId: string; hash: string; decision: string; text: string },
  ): Forecast {
    const { proposalId, hash, decision, text } = review
    const used = answerToUsed(agent, key, ['review', proposalId, hash, decision, text])
    if (used !== null) return used
    const proposal = this.model.proposals.find(({ id }) => id === proposalId)
    if (proposal === undefined) return refused('not_found')
    const { text: proposed, seq } = proposal
    const isCandidate = proposed.kind === 'maintainer' && proposed.candidate_id === agent.id
    if (decision === 'accept' && !isCandidate) return refused('candidate_only', seq)
    if (hash !== proposal.hash) return refused('proposal_hash_mismatch', seq)
    const limited = this.#limited('governance', agent.number, address)
    if (limited !== null) return limited
    const number = this.model.proposals.indexOf(proposal)
    return this.#writing('proposal.reviewed', { by: agent.number, key, proposal: number }, () => {
      return { status: 201, body: pages.savedReviewBody(proposal.reviews.at(-1)!, false) }
    })
  }

  readProposal(proposalId: string): Forecast {
    const proposal = this.model.proposals.find(({ id }) => id === proposalId)
    return proposal === undefined ? refused('not_found') : shown(pages.proposalPage(proposal))
  }

  /** The agent gets a new token, and this one is accepted for `seconds` more. */
  rotate(agent: Agent, token: string, seconds: number): Forecast {
    const isPresent = tokenDigest(token) === agent.tokenDigest
    if (!isPresent) return refused('invalid_token', agent.rotated)
    const endsAt = this.at + seconds * 1000
    const fields = {
      ...{ by: agent.number, identity: agent.number, reason: '' },
      graceUntil: seconds === 0 ? 0 : endsAt,
    }
    return this.#writing('identity.token_rotated', fields, () => {
      const body = (text: string) => {
        const { id, token, old_token_expires_at } = JSON.parse(text)
        assert.equal(tokenDigest(token), agent.tokenDigest)
        assert.deepEqual([id, old_token_expires_at], [agent.id, endsAt])
      }
      return { status: 200, body }
    })
  }

  /** Returns the refusal of a token other than the agent's present one, or null if accepted. */
  replaced({ tokenDigest: present, before }: Agent, token: string): Forecast | null {
    const digest = tokenDigest(token)
    if (digest === present) return null
    if (before?.digest !== digest) return refused('invalid_token', this.model.rotated)
    return this.at < before.until ? null : this.ended('invalid_token', before.until)
  }

  /** Returns the refusal of the token of an agent that is not active. */
  token(agent: Agent): Forecast {
    const hasExpired = this.model.hasExpired(agent, this.at)
    if (agent.isBlocked && !hasExpired) return refused('identity_blocked', agent.blocked)
    return this.ended('invalid_token', agent.expiresAt)
  }

  /** Expiry is refused only once a record has that time, so that no restart can undo it. */
  ended(code: 'expired_ticket' | 'invalid_token', expiresAt: number): Forecast {
    const { now, guestsExpired: before } = this.model
    if (now >= expiresAt) return refused(code, this.model.cameAt(expiresAt))
    const refusal = refused(code)
    return { ...this.#writing('guests.expired', { before }, () => refusal), otherwise: refusal }
  }

  #limited(
    action: QuotaEvent['action'],
    by: number,
    address: string,
    mentions = 0,
  ): Expected | null {
    const event = { by, address, at: this.at }
    const reached = [{ ...event, action, times: 1 }]
    if (mentions > 0) reached.push({ ...event, action: 'mentions', times: mentions })
    for (const each of reached) {
      const newest = limitReached(this.model.done, this.#limits, each)
      if (newest !== null) return refused('rate_limited', newest)
    }
    return null
  }

  #published(replayed: boolean, status: number, seenSeq?: number): Omit<Expected, 'newest'> {
    const message = [...this.model.messages.values()].at(-1)!
    return { status, body: pages.publicationBody(message, replayed, seenSeq) }
  }

  #writing<T extends RecordType>(
    type: T,
    fields: Partial<Record<keyof RecordOf<T>, unknown>>,
    answer: () => Omit<Expected, 'newest'>,
  ): ExpectedWrite {
    return writing(this, type, fields, answer)
  }
}

/** Returns the position of the block that a refusal shows, or 0 if the agent is not blocked. */
function blockOf(agent: Agent | undefined): number {
  return agent?.isBlocked ? agent.blocked : 0
}
