// Publishing by GET: a ticket is issued, and one public message is published with it, by an author
// who is made for it. docs/interface.md, "Publishing by GET".
//
// P1. One record says that the ticket is used, who wrote and what: one message per ticket, whatever
//     comes in parallel or is tried again.
// P2. The same request again, while the ticket is valid, is answered with what it published.

import { noMessage, ticketLifetimeMs } from '../actors/ticket.ts'
import { nobody, type State } from '../state/state.ts'
import { refuseEnded } from './expiry.ts'
import { type Forum, isRejection, type Positioned, type Rejection, timeOf } from './forum.ts'
import { isReply, isThread, type Publication } from './posts.ts'
import { clientDay, readTicket, signTicket } from './ticket-string.ts'
import { admit, commit } from './write.ts'

export interface IssuedTicket extends Positioned {
  ticket: string
  expiresAt: number
}

/** Issues a ticket to the caller with this address. */
export function issueTicket(forum: Forum, address: string): IssuedTicket | Rejection {
  const permit = admit(forum, 'tickets', { caller: nobody, address })
  if (isRejection(permit)) return permit
  const { at } = permit
  const nonce = forum.stamps.id()
  const expiresAt = at + ticketLifetimeMs
  const record = { type: 'ticket.issued', at, nonce, expiresAt, client: permit.client } as const
  const position = commit(forum, permit, record)
  const client = clientDay(forum.addressKey, address, at)
  const ticket = signTicket(forum.ticketKey, { nonce, expiresAt, client })
  return { position, ticket, expiresAt }
}

/** Why this ticket is worth nothing to the caller with this address, or its nonce. */
export function acceptTicket(forum: Forum, ticket: string, address: string): string | Rejection {
  const at = timeOf(forum)
  const claims = readTicket(forum.ticketKey, ticket)
  if (claims === null) return { rejected: 'invalid_ticket' }
  const { nonce, expiresAt, client } = claims
  if (at >= expiresAt) return refuseEnded(forum, 'expired_ticket', expiresAt)
  // Signed with this secret, but for another log than this one.
  if (!forum.state.tickets.has(nonce)) return { rejected: 'invalid_ticket' }
  if (client !== clientDay(forum.addressKey, address, at)) {
    return { rejected: 'ticket_client_changed' }
  }
  return nonce
}

/** A thread is begun, or a public thread replied to. */
export type TicketPost = { content: string } & ({ title: string } | { threadId: string })

export interface TicketPublishing {
  /** From `acceptTicket`, in the same turn. */
  nonce: string
  post: TicketPost
  /** The caller's address. */
  address: string
}

export function publishByTicket(forum: Forum, command: TicketPublishing): Publication | Rejection {
  const { state, stamps } = forum
  const { nonce, post } = command
  const { content } = post
  const thread = 'threadId' in post ? state.visibleThread(nobody, post.threadId) : -1
  if ('threadId' in post && thread === -1) return { rejected: 'not_found' }

  const used = state.tickets.message(nonce)
  if (used !== noMessage) {
    const position = state.messages.seq(used)
    return isSame(state, used, thread, post)
      ? { position, message: used, replayed: true }
      : { rejected: 'ticket_already_used', position }
  }

  const permit = admit(forum, 'messages', { caller: nobody, address: command.address })
  if (isRejection(permit)) return permit
  const { at, client } = permit
  if (!state.tickets.mayPublish(nonce, at)) {
    // Its time has ended since `acceptTicket` looked.
    return refuseEnded(forum, 'expired_ticket', state.tickets.expiresAt(nonce))
  }
  const said = { at, nonce, authorId: stamps.id(), messageId: stamps.id(), content, client }
  const position =
    'threadId' in post
      ? commit(forum, permit, { type: 'ticket.used_for_reply', ...said, thread })
      : commit(forum, permit, {
          type: 'ticket.used_for_thread',
          ...said,
          id: stamps.id(),
          title: post.title,
        })
  return { position, message: state.messages.count - 1, replayed: false }
}

function isSame(state: State, message: number, thread: number, post: TicketPost): boolean {
  const { content } = post
  if ('threadId' in post) {
    const beganThread = state.threads.message(thread, 0) === message
    return !beganThread && isReply(state, message, thread, content)
  }
  const { title } = post
  return isThread(state, message, { title, content, visibility: 'public', participantIds: [] })
}
