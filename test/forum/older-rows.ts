// Rows as earlier versions wrote them; the second number is the version. These must never change: a
// changed row would be another version.

import type { ForumRecord } from '../../src/forum/records.ts'

const id = '0123456789abcdef0123456789abcdef'
const sealed = Buffer.alloc(60, 9)
const proposed = {
  author_id: 'agt_1',
  title: 'Title',
  description: 'Why',
  supersedes: null,
  kind: 'maintainer' as const,
  candidate_id: 'agt_2',
}
const reviewed = {
  proposal_id: 'gov_1',
  author_id: 'agt_1',
  proposal_hash: 'hash',
  decision: 'accept' as const,
  text: 'Yes',
}
const posted = {
  at: 5,
  by: 0,
  messageId: id,
  content: 'Hello',
  key: 'key-0001',
  mentions: [],
}
const begun = { id, title: 'Title' }
export const olderRows: { row: unknown[]; record: ForumRecord }[] = [
  {
    row: [1, 1, 5, id, 'guest', 'Ana', id, 99],
    record: {
      type: 'identity.created',
      at: 5,
      id,
      kind: 'guest',
      displayName: 'Ana',
      tokenDigest: id,
      expiresAt: 99,
      client: '',
    },
  },
  { row: [2, 1, 5, 3], record: { type: 'guests.expired', at: 5, before: 3 } },
  {
    row: [3, 1, 5, 0, id, id, 'Title', 'Hello', 'private', [2, 1], 'key-0001'],
    record: {
      type: 'thread.posted',
      ...posted,
      ...begun,
      visibility: 'private',
      participants: [2, 1],
      client: '',
    },
  },
  {
    row: [4, 1, 5, 0, 7, id, 'Hello', 'key-0001'],
    record: { type: 'reply.posted', ...posted, thread: 7, client: '' },
  },
  {
    row: [3, 2, 5, 0, id, id, 'Title', 'Hello', 'public', [], 'key-0001', 'fedcba98'],
    record: {
      type: 'thread.posted',
      ...posted,
      ...begun,
      visibility: 'public',
      participants: [],
      client: 'fedcba98',
    },
  },
  {
    row: [4, 2, 5, 0, 7, id, 'Hello', 'key-0001', 'fedcba98'],
    record: { type: 'reply.posted', ...posted, thread: 7, client: 'fedcba98' },
  },
  {
    row: [3, 3, 5, 0, id, id, 'Title', 'Hello', 'public', [], 'key-0001', 'fedcba98', 'unread'],
    record: {
      type: 'thread.posted',
      ...posted,
      ...begun,
      visibility: 'public',
      participants: [],
      client: 'fedcba98',
    },
  },
  {
    row: [4, 3, 5, 0, 7, id, 'Hello', 'key-0001', 'fedcba98', 'unread'],
    record: { type: 'reply.posted', ...posted, thread: 7, client: 'fedcba98' },
  },
  {
    row: [4, 4, 5, 0, 7, id, 'Hello', 'key-0001', 'fedcba98'],
    record: { type: 'reply.posted', ...posted, thread: 7, client: 'fedcba98' },
  },
  { row: [5, 1, 5, 0, 7], record: { type: 'thread.subscribed', at: 5, by: 0, thread: 7 } },
  { row: [6, 1, 5, 0, 7], record: { type: 'thread.unsubscribed', at: 5, by: 0, thread: 7 } },
  {
    row: [10, 1, 5, id, 99, 'fedcba98'],
    record: { type: 'ticket.issued', at: 5, nonce: id, expiresAt: 99, client: 'fedcba98' },
  },
  {
    row: [11, 1, 5, id, id, id, id, 'Title', 'Hello', ''],
    record: {
      type: 'ticket.used_for_thread',
      at: 5,
      nonce: id,
      authorId: id,
      id,
      messageId: id,
      title: 'Title',
      content: 'Hello',
      client: '',
    },
  },
  {
    row: [12, 1, 5, id, id, 7, id, 'Hello', ''],
    record: {
      type: 'ticket.used_for_reply',
      at: 5,
      nonce: id,
      authorId: id,
      thread: 7,
      messageId: id,
      content: 'Hello',
      client: '',
    },
  },
  {
    row: [20, 1, 5, 0, id, 'https://a.example/', sealed, 'key-0001'],
    record: {
      type: 'webhook.registered',
      at: 5,
      by: 0,
      id,
      endpoint: 'https://a.example/',
      sealed,
      key: 'key-0001',
    },
  },
  { row: [21, 1, 5, 7], record: { type: 'webhook.verified', at: 5, webhook: 7 } },
  {
    row: [22, 1, 5, 7, 'webhook_timeout'],
    record: { type: 'webhook.verify_failed', at: 5, webhook: 7, error: 'webhook_timeout' },
  },
  { row: [23, 1, 5, 7], record: { type: 'webhook.removed', at: 5, webhook: 7 } },
  { row: [24, 1, 5], record: { type: 'webhooks.lapsed', at: 5, most: Number.MAX_SAFE_INTEGER } },
  { row: [25, 1, 5, 7, 3], record: { type: 'delivery.started', at: 5, webhook: 7, first: 3 } },
  {
    row: [26, 1, 5, 7, 3, 'retried', 500, 'webhook_http_500', 99],
    record: {
      type: 'delivery.finished',
      at: 5,
      webhook: 7,
      first: 3,
      outcome: 'retried',
      status: 500,
      error: 'webhook_http_500',
      nextAttemptAt: 99,
    },
  },
  {
    row: [27, 1, 5],
    record: { type: 'deliveries.expired', at: 5, through: Number.MAX_SAFE_INTEGER },
  },
  {
    row: [30, 1, 5, 0, id, 'hash', proposed, 'key-0001', ''],
    record: {
      type: 'proposal.saved',
      at: 5,
      by: 0,
      id,
      hash: 'hash',
      text: proposed,
      key: 'key-0001',
      client: '',
    },
  },
  {
    row: [31, 1, 5, 0, id, 7, reviewed, 'key-0001', ''],
    record: {
      type: 'proposal.reviewed',
      at: 5,
      by: 0,
      id,
      proposal: 7,
      text: reviewed,
      key: 'key-0001',
      client: '',
    },
  },
]
