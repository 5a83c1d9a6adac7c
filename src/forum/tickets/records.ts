// Records of publishing by GET: a ticket, and the one message published with it. The record of the
// message also creates its author.

import { nobody } from '../../kernel/network.ts'
import { kind, type Timed } from '../../kernel/record.ts'
import { addIdentity } from '../identities/records.ts'
import type { State } from '../state.ts'
import { addMessage, addThread, type NewMessage } from '../threads/records.ts'

export interface TicketIssued extends Timed {
  type: 'ticket.issued'
  nonce: string
  expiresAt: number
  /** A hash of the holder's address, or '' if no limit needs it. */
  client: string
}

interface TicketUsed extends Timed {
  nonce: string
  authorId: string
  messageId: string
  escapedContent: string
  client: string
}

export interface TicketUsedForThread extends TicketUsed {
  type: 'ticket.used_for_thread'
  id: string
  title: string
}

export interface TicketUsedForReply extends TicketUsed {
  type: 'ticket.used_for_reply'
  thread: number
}

export const ticketRecords = {
  'ticket.issued': kind<TicketIssued>({
    code: 10,
    version: 1,
    fields: { nonce: true, expiresAt: true, client: true },
    apply(state, _, { nonce, expiresAt, client, at }) {
      state.tickets.issue(nonce, expiresAt, at)
      state.quotas.count('tickets', { by: nobody, client, at })
    },
  }),

  'ticket.used_for_thread': kind<TicketUsedForThread>({
    code: 11,
    version: 2,
    fields: {
      nonce: true,
      authorId: true,
      id: true,
      messageId: true,
      title: true,
      escapedContent: true,
      client: true,
    },
    apply(state, position, record) {
      const { nonce, at } = record
      const visibility = 'public'
      const by = addGuest(state, position, record)
      const thread = addThread(state, position, { ...record, by, visibility, participants: [] })
      const message = addMessage(state, position, thread, messageOf(record, by))
      state.tickets.use(nonce, message, at)
    },
  }),

  'ticket.used_for_reply': kind<TicketUsedForReply>({
    code: 12,
    version: 2,
    fields: {
      nonce: true,
      authorId: true,
      thread: true,
      messageId: true,
      escapedContent: true,
      client: true,
    },
    apply(state, position, record) {
      const { nonce, thread, at } = record
      const by = addGuest(state, position, record)
      state.threads.actors.tell(thread, { type: 'replied', position })
      const message = addMessage(state, position, thread, messageOf(record, by))
      state.tickets.use(nonce, message, at)
    },
  }),
}

function messageOf(record: TicketUsed, by: number): NewMessage {
  return { ...record, by, mentions: [] }
}

/** Adds the author of one message, who follows no thread. */
function addGuest(state: State, position: number, { authorId, at }: TicketUsed): number {
  return addIdentity(state, position, {
    at,
    id: authorId,
    kind: 'compat',
    displayName: 'GET guest',
    // Nobody can find a token whose SHA-256 begins with this random id.
    tokenDigest: authorId,
    expiresAt: 0,
    listed: false,
  })
}
