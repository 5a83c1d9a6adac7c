// Goal:   the on-disk codes of states and kinds never change (kernel/actor.ts, K1).
// Method: this file lists all of them. Lines may be added, but none may be changed or removed.

import t from 'tap'
import { proposalKinds } from '../../src/forum/governance/machine.ts'
import { identityKinds } from '../../src/forum/identities/machine.ts'
import { actorKinds } from '../../src/forum/kinds.ts'
import { actKinds } from '../../src/forum/moderation/table.ts'
import { kindOf } from '../../src/forum/records.ts'
import { visibilities } from '../../src/forum/threads/machine.ts'
import { deliveryErrors } from '../../src/forum/webhooks/delivery-receipts.ts'
import { receiptOperations } from '../../src/kernel/receipts.ts'

t.test('K1: codes of states: as they are on disk', async (t) => {
  t.strictSame(Object.fromEntries(actorKinds.map(({ id, codes }) => [id, codes])), {
    identity: { absent: 0, active: 1, expired: 4, blocked: 5 },
    feed: { absent: 0, open: 1, closed: 2 },
    thread: { absent: 0, open: 1, locked: 3, expired: 4 },
    subscription: { none: 0, subscribed: 1 },
    ticket: { absent: 0, issued: 1, used: 2, expired: 3 },
    webhook: { none: 0, pending: 1, active: 2, replaced: 3, removed: 4, lapsed: 5 },
    delivery: { none: 0, pending: 1, sending: 2, delivered: 3, failed: 4, cancelled: 5 },
    proposal: { absent: 0, saved: 1 },
    invitation: { absent: 0, issued: 1, usedUp: 2, revoked: 3, expired: 4 },
    claim: { absent: 0, held: 1, released: 2, expired: 3 },
  })
})

t.test('K1: choices that are kept as their index: in the order on disk', async (t) => {
  t.strictSame(identityKinds, ['guest', 'persistent', 'compat'])
  t.strictSame(visibilities, ['public', 'private'])
  t.strictSame(proposalKinds, ['code', 'policy', 'maintainer'])
  t.strictSame(actKinds, ['locked', 'removed', 'blocked'])
  t.strictSame(receiptOperations, ['thread', 'reply', 'webhook', 'proposal', 'review', 'claim'])
  t.strictSame(deliveryErrors, [
    '',
    'webhook_http_',
    'webhook_unreachable',
    'webhook_timeout',
    'webhook_invalid_response',
    'nonpublic_webhook_address',
    'dns_lookup_failed',
  ])
})

t.test('K1: codes of records: as they are in the log', async (t) => {
  t.strictSame(Object.fromEntries(Object.entries(kindOf).map(([type, { code }]) => [code, type])), {
    1: 'identity.created',
    2: 'guests.expired',
    3: 'thread.posted',
    4: 'reply.posted',
    5: 'thread.subscribed',
    6: 'thread.unsubscribed',
    7: 'feed.read',
    8: 'thread.tagged',
    9: 'thread.expired',
    10: 'ticket.issued',
    11: 'ticket.used_for_thread',
    12: 'ticket.used_for_reply',
    13: 'thread.erased',
    20: 'webhook.registered',
    21: 'webhook.verified',
    22: 'webhook.verify_failed',
    23: 'webhook.removed',
    24: 'webhooks.lapsed',
    25: 'delivery.started',
    26: 'delivery.finished',
    30: 'proposal.saved',
    31: 'proposal.reviewed',
    40: 'message.erased',
    41: 'thread.locked',
    42: 'thread.unlocked',
    43: 'identity.blocked',
    44: 'identity.unblocked',
    50: 'leader.began',
    60: 'identity.token_rotated',
    61: 'invitation.issued',
    62: 'invitation.revoked',
    63: 'identity.invited',
    64: 'identity.listed',
    70: 'thread.claimed',
    71: 'claim.released',
    80: 'tag.subscribed',
    81: 'tag.unsubscribed',
  })
})

t.test('K1: fields of actors that are saved as rows: in the order on disk', async (t) => {
  const fieldsOf = (id: string) => Object.keys(actorKinds.find((kind) => kind.id === id)!.layout)
  t.strictSame(fieldsOf('ticket'), ['expiresAt', 'message'])
  t.strictSame(fieldsOf('invitation'), ['issuedAt', 'expiresAt', 'uses', 'used'])
  t.strictSame(fieldsOf('claim'), ['thread', 'holder', 'expiresAt', 'fence'])
  t.strictSame(fieldsOf('webhook'), ['createdAt', 'lapsesAt', 'verifiedAt', 'lastError'])
  t.strictSame(fieldsOf('delivery'), [
    'first',
    'through',
    'createdAt',
    'attempts',
    'nextAttemptAt',
    'deliveredAt',
    'lastHttpStatus',
    'lastError',
  ])
})
