// Publishing by GET: a ticket is issued, and one public message is published with it, by an author
// who is created for it. docs/interface.md, "Publishing by GET".
//
// P1. One record marks the ticket as used, creates the author and publishes the message: a ticket
//     publishes at most one message, however many requests arrive in parallel or are retried.
// P2. A repeated request, while the ticket is valid, is answered with the message it published.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { timeOf } from '../../kernel/clock.ts'
import { nobody } from '../../kernel/network.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { type Bearer, mayStillAct, rejectToken } from '../identities/commands.ts'
import type { State } from '../state.ts'
import { isReply, isThread, type Publication, rejectLocked } from '../threads/commands.ts'
import { admit, commit, rejectExpired } from '../write.ts'
import { noMessage, ticketLifetimeMs } from './machine.ts'

export interface IssuedTicket extends Positioned {
  ticket: string
  expiresAt: number
}

/** Issues a ticket to the caller with this address. A member's ticket ends with the token (X3). */
export function issueTicket(
  forum: Forum,
  address: string,
  member: Bearer = { identity: nobody, token: 0 },
): IssuedTicket | Rejection {
  const permit = admit(forum, 'tickets', { caller: nobody, address })
  if (isRejection(permit)) return permit
  const { at } = permit
  const nonce = forum.stamps.id()
  const expiresAt = at + ticketLifetimeMs
  const record = { type: 'ticket.issued', at, nonce, expiresAt, client: permit.client } as const
  const position = commit(forum, permit, record)
  const client = clientDay(forum.addressKey, address, at)
  const { identity, token } = member
  const holder = identity === nobody ? anybody : `${forum.state.identities.id(identity)}-${token}`
  const ticket = signTicket(forum.ticketKey, { nonce, expiresAt, holder, client })
  return { position, ticket, expiresAt }
}

/** Returns the nonce of a ticket that is valid for the caller with this address, or a rejection. */
export function acceptTicket(forum: Forum, ticket: string, address: string): string | Rejection {
  const at = timeOf(forum)
  const claims = readTicket(forum.ticketKey, ticket)
  if (claims === null) return { rejected: 'invalid_ticket' }
  const { nonce, expiresAt, holder, client } = claims
  if (at >= expiresAt) return rejectExpired(forum, 'expired_ticket', expiresAt)
  // It was signed with this node's key, but its record is not in this log.
  if (!forum.state.tickets.has(nonce)) return { rejected: 'invalid_ticket' }
  if (client !== clientDay(forum.addressKey, address, at)) {
    return { rejected: 'ticket_client_changed' }
  }
  return rejectHolder(forum, holder) ?? nonce
}

/** Rejects a ticket if its member may no longer act, or has another token; otherwise null. */
function rejectHolder(forum: Forum, holder = anybody): Rejection | null {
  if (holder === anybody) return null
  const [id, number] = holder.split('-')
  const member = forum.state.identities.findNamed(id)
  if (member === nobody) return { rejected: 'invalid_ticket' } // of a history that was replaced
  const token = Number(number)
  if (mayStillAct(forum, member, token)) return null
  return { ...rejectToken(forum, member, token), rejected: 'invalid_ticket' }
}

/** The content to publish: as a new thread, or as a reply in a public one. */
export type TicketPost = { content: string } & ({ title: string } | { threadId: string })

export interface TicketPublishing {
  /** From `acceptTicket`, called in the same event-loop iteration. */
  nonce: string
  post: TicketPost
  /** The caller's address. */
  address: string
}

export function publishByTicket(forum: Forum, command: TicketPublishing): Publication | Rejection {
  const { state, stamps } = forum
  const { nonce, post } = command
  const escapedContent = JSON.stringify(post.content)
  const thread = 'threadId' in post ? state.visibleThread(nobody, post.threadId) : -1
  if ('threadId' in post && thread === -1) return { rejected: 'not_found' }

  const published = state.tickets.message(nonce)
  if (published !== noMessage) {
    const position = state.messages.seq(published)
    return isSame(state, published, thread, post)
      ? { position, message: published, replayed: true }
      : { rejected: 'ticket_already_used', position }
  }
  if (thread !== -1 && !state.threads.mayReply(thread)) return rejectLocked(state, thread)

  const permit = admit(forum, 'messages', { caller: nobody, address: command.address })
  if (isRejection(permit)) return permit
  const { at, client } = permit
  if (!state.tickets.mayPublish(nonce, at)) {
    // It has expired since `acceptTicket` checked it.
    return rejectExpired(forum, 'expired_ticket', state.tickets.expiresAt(nonce))
  }
  const used = { at, nonce, authorId: stamps.id(), messageId: stamps.id(), escapedContent, client }
  const position =
    'threadId' in post
      ? commit(forum, permit, { type: 'ticket.used_for_reply', ...used, thread })
      : commit(forum, permit, {
          type: 'ticket.used_for_thread',
          ...used,
          id: stamps.id(),
          title: post.title,
        })
  return { position, message: state.messages.count - 1, replayed: false }
}

function isSame(state: State, message: number, thread: number, post: TicketPost): boolean {
  if ('threadId' in post) {
    const beganThread = state.threads.message(thread, 0) === message
    return !beganThread && isReply(state, message, thread, post)
  }
  return isThread(state, message, { ...post, visibility: 'public', participantIds: [] })
}

// A ticket as its holder sees it: a nonce, an expiry, a holder and a client, signed by this node.
//
//   tkt_<nonce, 32 hex>.<expiry, ms>.<holder>.<client and day, 32 hex>.<HMAC-SHA256, base64url>
//
//   holder: `public`, or, if tickets are for members only, agt_<32 hex>-<number of the token>
//
// X1. No character of it can be changed without the node's key.
// X2. It contains all that is needed to reject it: expired and forged tickets are always
//     distinguished.
// X3. A member's ticket ends with the token to which it was issued.
// X4. It does not reveal the address that it is bound to, which is hashed with the node's own key.

const dayMs = 24 * 60 * 60 * 1000
/** The holder of a ticket that is not bound to a member. */
const anybody = 'public'
const clientHexLength = 32

export interface TicketClaims {
  /** 32 hex characters: its id without the prefix. */
  nonce: string
  /** Milliseconds since the epoch. */
  expiresAt: number
  /** The member and the number of the token that it was issued to; by default, anybody. */
  holder?: string
  /** From `clientDay`. */
  client: string
}

/** Returns the hash that binds a ticket to the caller's address and the UTC day of `at`. */
export function clientDay(key: Buffer, address: string, at: number): string {
  const day = Math.floor(at / dayMs)
  const hash = createHmac('sha256', key).update(`client ${day} ${address}`).digest('hex')
  return hash.slice(0, clientHexLength)
}

export function signTicket(
  key: Buffer,
  { nonce, expiresAt, holder = anybody, client }: TicketClaims,
): string {
  const claims = `tkt_${nonce}.${expiresAt}.${holder}.${client}`
  return `${claims}.${signature(key, claims)}`
}

const shape =
  /^tkt_([0-9a-f]{32})\.(\d{1,16})\.(public|agt_[0-9a-f]{32}-\d{1,10})\.([0-9a-f]{32})\.[\w-]{43}$/

/** Returns the claims of a ticket that this node signed, or null for any other string. */
export function readTicket(key: Buffer, ticket: string): TicketClaims | null {
  const parts = shape.exec(ticket)
  if (parts === null) return null
  const end = ticket.lastIndexOf('.')
  const expected = Buffer.from(signature(key, ticket.slice(0, end)))
  if (!timingSafeEqual(expected, Buffer.from(ticket.slice(end + 1)))) return null
  const [, nonce, expiresAt, holder, client] = parts
  return { nonce, expiresAt: Number(expiresAt), holder, client }
}

function signature(key: Buffer, claims: string): string {
  return createHmac('sha256', key).update(`ticket ${claims}`).digest('base64url')
}
