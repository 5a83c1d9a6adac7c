// Records of identities.

import { nobody } from '../../kernel/network.ts'
import { field, flag, kind, number, type Timed, text } from '../../kernel/record.ts'
import { feedTopic } from '../../kernel/topics.ts'
import { expireClaims } from '../claims/records.ts'
import type { State } from '../state.ts'
import { removeWebhookOf } from '../webhooks/records.ts'
import type { IdentityKind } from './machine.ts'

export interface NewIdentity extends Omit<Timed, 'type'> {
  /** 32 hex characters, without a prefix, like all ids in records. */
  id: string
  kind: IdentityKind
  displayName: string
  /** SHA-256 of the token, in hex. */
  tokenDigest: string
  /** When the identity expires, in milliseconds since the epoch; 0: never. */
  expiresAt: number
  /** Whether it is found by its name before it has published anything. */
  listed: boolean
}

/** The first fields of every record that creates an identity. */
export const createdFields = {
  id: text,
  kind: field<IdentityKind>(),
  displayName: text,
  tokenDigest: text,
  expiresAt: number,
  client: text,
}

export const identityRecords = {
  'identity.created': kind({
    code: 1,
    version: 1,
    fields: { ...createdFields, listed: flag },
    apply(state, position, record) {
      addIdentity(state, position, record)
      const { client, at } = record
      state.quotas.count('identities', { by: nobody, client, at })
    },
  }),

  /**
   * Keeps time: at its time the invitations and claims that are due expire, and all guests that
   * were created before the identity with the number `before` have expired. Often there are none of
   * them.
   */
  'guests.expired': kind({
    code: 2,
    version: 1,
    fields: { before: number },
    apply(state, position, { before, at }) {
      state.invitations.expire(at, position)
      expireClaims(state, position, at)
      for (let identity = state.guestsExpired; identity < before; identity++) {
        const expired = { type: 'expired', at } as const
        if (!state.identities.actors.may(identity, expired)) continue // not a guest
        removeWebhookOf(state, identity, position)
        state.identities.actors.tell(identity, expired)
        state.feeds.actors.tell(identity, { type: 'closed', position })
        state.moderation.delete('blocked', identity)
      }
      state.guestsExpired = before
    },
  }),

  /**
   * The identity has a new token, or the same one under a new number, which ends its sessions
   * (forum/sessions/commands.ts, B3).
   */
  'identity.token_rotated': kind({
    code: 60,
    version: 1,
    fields: {
      /** The identity, if its holder replaced the token, or `nobody` if an operator did. */
      by: number,
      identity: number,
      /** SHA-256 of the new token, in hex. */
      tokenDigest: text,
      /** When the previous token ends, in milliseconds since the epoch; 0: at once. */
      graceUntil: number,
      reason: text,
    },
    apply(state, position, { at, by, identity, tokenDigest, graceUntil }) {
      if (by !== nobody) state.quotas.count('rotations', { by, client: '', at })
      const rotation = { digest: tokenDigest, until: graceUntil, at }
      state.identities.rotateToken(identity, position, rotation)
      state.onNews(feedTopic(identity)) // to refuse its polls that wait with the old token
    },
  }),

  /** The holder has decided whether the identity is listed. */
  'identity.listed': kind({
    code: 64,
    version: 1,
    fields: { by: number, listed: flag },
    apply(state, position, { at, by, listed }) {
      state.quotas.count('changes', { by, client: '', at })
      state.identities.actors.tell(by, { type: listed ? 'listed' : 'unlisted' })
      state.onListed(by, position)
    },
  }),
}

/** Adds an identity, its feed and its list of private threads; returns the identity's number. */
export function addIdentity(state: State, position: number, record: NewIdentity): number {
  const { id, kind, displayName, tokenDigest, at, expiresAt, listed } = record
  const identity = state.identities.add(id, tokenDigest, kind, displayName)
  state.identities.actors.tell(identity, { type: 'created', kind, at, expiresAt })
  if (listed) {
    state.identities.actors.tell(identity, { type: 'listed' })
    state.onListed(identity, position)
  }
  state.feeds.add()
  if (kind !== 'compat') state.feeds.actors.tell(identity, { type: 'opened', position })
  state.privateThreads.add()
  return identity
}
