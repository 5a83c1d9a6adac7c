// Records of identities.

import type { IdentityKind } from '../../actors/identity.ts'
import { kind, type Timed } from './kind.ts'
import { removeWebhookOf } from './webhooks.ts'

export interface IdentityCreated extends Timed {
  type: 'identity.created'
  /** 32 hex characters, as all ids in records: without a prefix. */
  id: string
  kind: IdentityKind
  displayName: string
  /** SHA-256 of the token, in hex. */
  tokenDigest: string
  /** 0: never. */
  expiresAt: number
}

/** All guests created before the identity with this number have expired. */
export interface GuestsExpired extends Timed {
  type: 'guests.expired'
  before: number
}

export const identityRecords = {
  'identity.created': kind<IdentityCreated>({
    code: 1,
    version: 1,
    fields: ['id', 'kind', 'displayName', 'tokenDigest', 'expiresAt'],
    apply(state, position, { id, kind, displayName, tokenDigest, at, expiresAt }) {
      const identity = state.identities.add(id, tokenDigest, kind, displayName)
      state.identities.actors.step(identity, { type: 'created', kind, at, expiresAt, position })
      state.subscriptions.addIdentity()
      state.privateThreads.add()
    },
  }),

  'guests.expired': kind<GuestsExpired>({
    code: 2,
    version: 1,
    fields: ['before'],
    apply(state, position, { before, at }) {
      for (let identity = state.guestsExpired; identity < before; identity++) {
        state.identities.actors.step(identity, { type: 'expired', at })
        removeWebhookOf(state, identity, position)
      }
      state.guestsExpired = before
    },
  }),
}
