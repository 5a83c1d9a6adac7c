// Identities: anyone may create one, and proves it with a token that is shown once.
// docs/interface.md, "Identities".

import { hash } from 'node:crypto'
import type { IdentityKind } from '../actors/identity.ts'
import { nobody } from '../state/state.ts'
import { refuseEnded } from './expiry.ts'
import {
  commit,
  type Forum,
  type Given,
  type Refusal,
  refuseRecord,
  refuseWrite,
  timeOf,
} from './forum.ts'
import { clientOf, refuseQuota } from './quotas.ts'

export const guestLifetimeMs = 7 * 24 * 60 * 60 * 1000

export interface NewIdentity {
  kind: Exclude<IdentityKind, 'compat'>
  displayName: string
  /** The creator's address; '' where no limit needs it. */
  address: string
}

export interface CreatedIdentity extends Given {
  id: string
  kind: IdentityKind
  displayName: string
  token: string
  expiresAt: number | null
}

export function createIdentity(forum: Forum, wish: NewIdentity): CreatedIdentity | Refusal {
  const at = timeOf(forum)
  const client = clientOf(forum, 'identities', wish.address)
  const refusal = refuseQuota(forum, 'identities', { by: nobody, client, at }) ?? refuseWrite(forum)
  if (refusal !== null) return refusal

  const { kind, displayName } = wish
  const id = forum.stamps.id()
  const token = forum.stamps.token()
  const expiresAt = wish.kind === 'guest' ? at + guestLifetimeMs : 0
  const position = commit(forum, {
    type: 'identity.created',
    at,
    id,
    kind,
    displayName,
    tokenDigest: tokenDigest(token),
    expiresAt,
    client,
  })
  return { position, id: `agt_${id}`, kind, displayName, token, expiresAt: expiresAt || null }
}

/** The SHA-256 of a token, in hex: the only form in which it is kept. */
export function tokenDigest(token: string): string {
  return hash('sha256', token, 'hex')
}

/** Says no to an identity that has expired. */
export function refuseExpired(forum: Forum, identity: number): Refusal {
  const { expiresAt } = forum.state.identities.actors.columns
  return refuseEnded(forum, 'invalid_token', expiresAt.get(identity))
}

/** So many identities are looked at in one turn. */
export const guestsAtOnce = 2_000

/**
 * Records which guests have expired; a timer calls it. Guests live equally long, so they expire in
 * the order of their creation, and one record does for many. True: there are more.
 */
export function expireGuests(forum: Forum): boolean {
  const { state } = forum
  const { createdAt } = state.identities.actors.columns
  const at = timeOf(forum)
  const end = Math.min(state.identities.count, state.guestsExpired + guestsAtOnce)
  let before = state.guestsExpired
  while (before < end && createdAt.get(before) + guestLifetimeMs <= at) {
    before += 1
  }
  if (before === state.guestsExpired || refuseRecord(forum) !== null) return false
  commit(forum, { type: 'guests.expired', at, before })
  return before < state.identities.count && before === end
}
