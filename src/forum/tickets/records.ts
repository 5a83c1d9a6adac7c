// Records of publishing by GET: a ticket, and the one message published with it. The record of the
// message also creates its author.

import { nobody } from '../../kernel/network.ts'
import { kind, number, text } from '../../kernel/record.ts'
import { addIdentity } from '../identities/records.ts'
import type { State } from '../state.ts'
import { addMessage, addThread, type NewMessage } from '../threads/records.ts'

export const ticketRecords = {
  'ticket.issued': kind({
    code: 10,
    version: 1,
    fields: { nonce: text, expiresAt: number, client: text },
    apply(state, _, { nonce, expiresAt, client, at }) {
      state.tickets.issue(nonce, expiresAt, at)
      state.quotas.count('tickets', { by: nobody, client, at })
    },
  }),

  'ticket.used_for_thread': kind({
    code: 11,
    version: 2,
    fields: {
      nonce: text,
      authorId: text,
      id: text,
      messageId: text,
      title: text,
      escapedContent: text,
      client: text,
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

  'ticket.used_for_reply': kind({
    code: 12,
    version: 2,
    fields: {
      nonce: text,
      authorId: text,
      thread: number,
      messageId: text,
      escapedContent: text,
      client: text,
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

function messageOf(record: Omit<NewMessage, 'by' | 'mentions'>, by: number): NewMessage {
  return { ...record, by, mentions: [] }
}

/** Adds the author of one message, who follows no thread. */
function addGuest(
  state: State,
  position: number,
  { authorId, at }: { authorId: string; at: number },
): number {
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
