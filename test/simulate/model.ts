// The forum as plain arrays and maps, written from docs/interface.md and not from src. The model is
// a fold of the same records: after a crash the surviving records are folded again. The answers
// that it implies are in pages.ts and webhook-model.ts.
//
// M1. `by`, `thread`, `message`, `proposal` and `webhook` in records are indexes into the lists
//     here.
// M2. The model forgets nothing, so that callers may request anything; the lives of a seed are
//     short.

import assert from 'node:assert/strict'
import type { ForumRecord, RecordOf } from '../../src/forum/records.ts'
import { claimBy, endClaim, expireClaims, grantedJson } from './claim-model.ts'
import { alive, endThread } from './expiry-model.ts'
import { follow, followTag, unfollow } from './follow-model.ts'
import { InvitationModel } from './invitation-model.ts'
import type {
  ActInEffect,
  Agent,
  Fact,
  Message,
  Opened,
  Proposal,
  QuotaEvent,
  Review,
  Thread,
  Ticket,
} from './model-types.ts'
import { forget, moderate, tag } from './moderation-model.ts'
import { WebhookModel } from './webhook-model.ts'

type Posted = RecordOf<'thread.posted'> | RecordOf<'reply.posted'>
type Used = RecordOf<'ticket.used_for_thread'> | RecordOf<'ticket.used_for_reply'>

export class Model {
  position = 0
  /** The time of the last record. */
  now = 0
  /** The times of all records. */
  readonly #times: number[] = []
  /** All guests below this number are recorded as expired. */
  guestsExpired = 0
  /** The position of the last erasure of a message. */
  erasedPosition = 0
  /** Those that operators can list, in their order. */
  readonly acts: ActInEffect[] = []
  /** The positions of the last expiry of a thread, and of the last change of tags. */
  expiredPosition = 0
  taggedPosition = 0
  readonly agents: Agent[] = []
  readonly threads: Thread[] = []
  readonly messages = new Map<string, Message>()
  readonly tickets = new Map<string, Ticket>()
  readonly proposals: Proposal[] = []
  readonly webhooks = new WebhookModel(this)
  readonly invitations = new InvitationModel()
  readonly done: QuotaEvent[] = []
  /** The fence of the newest claim. */
  #fences = 0
  /** The position of the newest record that listed an identity or ended that. */
  listedPosition = 0

  /** After how many days without a message every thread expires; 0: never. */
  readonly retentionDays: number

  constructor(facts: readonly Fact[] = [], retentionDays = 0) {
    this.retentionDays = retentionDays
    for (const fact of facts) this.add(fact)
  }

  /** Applies the next record of the log. */
  add({ position, record }: Fact): void {
    assert.equal(position, this.position + 1, 'positions have no gaps')
    assert.ok(record.at >= this.now, 'times never decrease')
    this.position = position
    this.now = record.at
    this.#times.push(record.at)
    this.#apply(position, record)
  }

  /** Returns the position of the first record at or after this time. */
  cameAt(time: number): number {
    return this.#times.findIndex((at) => at >= time) + 1
  }

  /** The position of the record that last replaced a token. */
  rotated = 0

  agentBy(id: string): Agent | undefined {
    return this.agents.find((agent) => agent.id === id)
  }

  hasExpired(agent: Agent, at: number): boolean {
    return agent.isRecordedExpired || (agent.expiresAt !== 0 && at >= agent.expiresAt)
  }

  /** Returns whether the agent's token is accepted, and others may name the agent. */
  isActive(agent: Agent, at: number): boolean {
    return !agent.isBlocked && !this.hasExpired(agent, at)
  }

  maySee(viewer: Agent | null, thread: Thread): boolean {
    return thread.visibility === 'public' || (viewer !== null && thread.members.has(viewer))
  }

  visible(viewer: Agent | null, threadId: string): Thread | undefined {
    const thread = this.threads.find(({ id }) => id === threadId)
    return thread !== undefined && this.maySee(viewer, thread) ? thread : undefined
  }

  #apply(position: number, record: ForumRecord): void {
    switch (record.type) {
      case 'identity.created':
        this.#addAgent(position, { ...record, kind: record.kind, name: record.displayName })
        return this.#count('identities', record)
      case 'identity.invited':
        this.#addAgent(position, { ...record, kind: record.kind, name: record.displayName })
        this.invitations.use(position, record)
        return this.#count('identities', record)
      case 'invitation.issued':
        return this.invitations.issue(position, record)
      case 'invitation.revoked':
        return this.invitations.revoke(position, record)
      case 'guests.expired':
        return this.#expireGuests(record)
      case 'identity.listed':
        this.agents[record.by].listed = record.listed
        this.listedPosition = position
        return
      case 'identity.token_rotated':
        return this.#rotate(position, record)
      case 'thread.posted':
      case 'reply.posted':
        return this.#post(position, record)
      case 'thread.expired':
      case 'thread.erased':
        return endThread(this, position, record)
      case 'thread.claimed':
        return this.#claim(position, record)
      case 'claim.released':
        return endClaim(this.threads[record.thread], position)
      case 'thread.tagged':
        this.taggedPosition = position
        return tag(this.threads[record.thread], this.agents[record.by], position, record)
      case 'thread.subscribed':
        return follow(this.agents[record.by], this.threads[record.thread], position)
      case 'thread.unsubscribed':
        return unfollow(this.agents[record.by], this.threads[record.thread], position)
      case 'tag.subscribed':
      case 'tag.unsubscribed':
        return followTag(this.agents[record.by], position, record)
      case 'feed.read':
        return this.#markRead(position, record)
      case 'ticket.issued': {
        const { nonce, expiresAt, at } = record
        this.tickets.set(nonce, { expiresAt, issuedAt: at, message: null })
        return this.#count('tickets', record)
      }
      case 'ticket.used_for_thread':
      case 'ticket.used_for_reply':
        return this.#useTicket(position, record)
      case 'message.erased':
      case 'thread.locked':
      case 'thread.unlocked':
      case 'identity.blocked':
      case 'identity.unblocked':
        return moderate(this, position, record)
      case 'leader.began':
        return // has no effect that callers see
      case 'proposal.saved':
        return this.#propose(position, record)
      case 'proposal.reviewed':
        return this.#review(position, record)
      case 'webhook.registered':
        this.#count('webhooks', { ...record, client: '' })
        break
      case 'webhook.verified':
      case 'webhook.verify_failed': {
        const by = this.webhooks.all[record.webhook].owner.number
        this.#count('verifications', { at: record.at, by, client: '' })
      }
    }
    this.webhooks.apply(position, record)
  }

  #addAgent(
    position: number,
    fields: Pick<Agent, 'id' | 'kind' | 'name' | 'tokenDigest' | 'expiresAt' | 'listed'>,
  ) {
    const { id, kind, name, tokenDigest, expiresAt, listed } = fields
    if (listed) this.listedPosition = position
    const agent: Agent = {
      number: this.agents.length,
      id: `agt_${id}`,
      kind,
      name,
      tokenDigest,
      before: null,
      rotated: 0,
      createdAt: this.now,
      expiresAt,
      listed,
      isRecordedExpired: false,
      isBlocked: false,
      blocked: 0,
      uses: new Map(),
      follows: new Set(),
      followedTags: new Map(),
      followsChanged: position,
      followed: new Map(),
      readThrough: 0,
      marked: 0,
    }
    this.agents.push(agent)
    return agent
  }

  #rotate(position: number, record: RecordOf<'identity.token_rotated'>): void {
    const agent = this.agents[record.identity]
    const { tokenDigest: digest } = agent
    const { graceUntil: until, at } = record
    agent.before = until > at ? { digest, until } : null
    agent.tokenDigest = record.tokenDigest
    agent.rotated = position
    this.rotated = position
  }

  #expireGuests({ before, at }: RecordOf<'guests.expired'>): void {
    assert.ok(before >= this.guestsExpired && before <= this.agents.length)
    this.guestsExpired = before
    this.invitations.expire(this.position, at)
    expireClaims(this.threads, this.position, at)
    for (const agent of this.agents.slice(0, before)) {
      if (agent.kind !== 'guest' || agent.isRecordedExpired) continue
      assert.ok(agent.expiresAt <= at, 'no guest expires before its time')
      agent.isRecordedExpired = true
      agent.isBlocked = false
      forget(this, 'blocked', agent.id)
      agent.followsChanged = this.position // it no longer follows anything
      this.webhooks.drop(agent, this.position)
    }
  }

  #post(position: number, record: Posted): void {
    const author = this.agents[record.by]
    const { key } = record
    const mentionIds = record.mentions.map((number) => this.agents[number].id)
    const saidIn = ({ content }: Message) => [content, mentionIds, record.messageType ?? '']
    if (record.type === 'thread.posted') {
      const named = record.participants.map((number) => this.agents[number])
      const thread = this.#open(record, author, named)
      for (const member of thread.members) follow(member, thread, position)
      for (const member of named) follow(member, thread, position)
      const { title, visibility } = record
      const ids = named.map(({ id }) => id)
      const message = this.#say(position, thread, author, record)
      const request = [
        'thread',
        title,
        saidIn(message),
        visibility,
        ids,
        thread.tags,
        thread.ttlSeconds,
      ]
      author.uses.set(key, { request: JSON.stringify(request), position, made: message })
    } else {
      const thread = this.threads[record.thread]
      assert.ok(!thread.isLocked, 'a locked thread takes no replies')
      follow(author, thread, position)
      const message = this.#say(position, thread, author, record)
      const request = JSON.stringify(['reply', thread.id, saidIn(message), record.details])
      author.uses.set(key, { request, position, made: message })
    }
    this.#count('messages', record)
    for (const _ of record.mentions) this.#count('mentions', { ...record, client: '' })
  }

  #open(
    { id, title, at, visibility, tags = [], ttlSeconds = 0 }: Opened,
    author: Agent,
    named: Agent[],
  ): Thread {
    const members = new Set(visibility === 'private' ? [author, ...named] : [author])
    const number = this.threads.length
    const own = { number, id: `thr_${id}`, messages: [], tags, isLocked: false, moderated: 0 }
    const more = { claim: null, claimChanged: 0, ...alive, ttlSeconds, members, named }
    const thread = { ...own, ...more, author, title, visibility, at }
    this.threads.push(thread)
    return thread
  }

  #say(
    seq: number,
    thread: Thread,
    author: Agent,
    {
      messageId,
      escapedContent,
      at,
      mentions,
      messageType: type = '',
    }: Pick<Posted, 'messageId' | 'escapedContent' | 'at' | 'mentions' | 'messageType'>,
  ): Message {
    const message: Message = {
      is: 'message',
      seq,
      id: `msg_${messageId}`,
      author,
      content: JSON.parse(escapedContent),
      at,
      thread,
      isErased: false,
      mentions: mentions.map((number) => this.agents[number]),
      type,
    }
    thread.messages.push(message)
    assert.ok(!this.messages.has(message.id), 'a message is published once')
    this.messages.set(message.id, message)
    return message
  }

  #useTicket(position: number, record: Used): void {
    const { nonce, authorId: id, at } = record
    const ticket = this.tickets.get(nonce)
    assert.ok(ticket !== undefined && ticket.message === null, 'a ticket is used once')
    assert.ok(at < ticket.expiresAt, 'before it expires')
    const compat = { id, kind: 'compat', name: 'GET guest', tokenDigest: id } as const
    const author = this.#addAgent(position, { ...compat, expiresAt: 0, listed: false })
    const thread =
      record.type === 'ticket.used_for_reply'
        ? this.threads[record.thread]
        : this.#open({ ...record, visibility: 'public' }, author, [])
    ticket.message = this.#say(position, thread, author, { ...record, mentions: [] })
    this.#count('messages', { ...record, by: author.number })
  }

  #propose(position: number, record: RecordOf<'proposal.saved'>): void {
    const { id, hash, at, text } = record
    const made: Proposal = {
      is: 'proposal',
      seq: position,
      id: `gov_${id}`,
      hash,
      at,
      text,
      reviews: [],
    }
    this.proposals.push(made)
    const { author_id: _, ...sent } = text
    const use = { request: JSON.stringify(['proposal', sent]), position, made }
    this.agents[record.by].uses.set(record.key, use)
    this.#count('governance', record)
  }

  #review(position: number, record: RecordOf<'proposal.reviewed'>): void {
    const { id, at, text } = record
    const by = this.agents[record.by]
    const proposal = this.proposals[record.proposal]
    const made: Review = { is: 'review', seq: position, id: `rev_${id}`, at, by, text, proposal }
    proposal.reviews.push(made)
    const { proposal_id, proposal_hash, decision, text: reviewText } = text
    const request = JSON.stringify(['review', proposal_id, proposal_hash, decision, reviewText])
    by.uses.set(record.key, { request, position, made })
    this.#count('governance', record)
  }

  #claim(position: number, record: RecordOf<'thread.claimed'>): void {
    const { key, details } = record
    const [holder, thread] = [this.agents[record.by], this.threads[record.thread]]
    thread.claim = claimBy(thread, holder, { ...record, fences: this.#fences })
    thread.claimChanged = position
    this.#fences = Math.max(this.#fences, thread.claim.fence)
    const request = JSON.stringify(['claim', details])
    const made = { granted: grantedJson(thread) }
    // A receipt does not keep the position of a claim: answers wait for the newest record.
    const newest = () => this.position
    holder.uses.set(key, {
      request,
      made,
      get position() {
        return newest()
      },
    })
  }

  #markRead(position: number, { by, through }: RecordOf<'feed.read'>): void {
    const agent = this.agents[by]
    assert.ok(through > agent.readThrough, 'a mark only goes forward')
    assert.ok(through < position, 'of what there was')
    agent.readThrough = through
    agent.marked = position
  }

  #count(
    action: QuotaEvent['action'],
    { at, client, by = -1 }: { at: number; client: string; by?: number },
  ): void {
    this.done.push({ action, by, client, at, position: this.position })
  }
}
