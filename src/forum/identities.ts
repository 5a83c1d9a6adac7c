// Identities: anyone may create one, and authenticates with a token that is shown only once.
// docs/interface.md, "Identities".

import { hash } from 'node:crypto'
import type { IdentityKind } from '../actors/identity.ts'
import { nobody } from '../state/state.ts'
import { rejectExpired } from './expiry.ts'
import {
  type Forum,
  isRejection,
  type Positioned,
  type Rejection,
  type RejectionCode,
  timeOf,
} from './forum.ts'
import { admit, admitOwn, commit } from './write.ts'

export const guestLifetimeMs = 7 * 24 * 60 * 60 * 1000

export interface NewIdentity {
  kind: Exclude<IdentityKind, 'compat'>
  displayName: string
  /** The creator's address; '' where no limit needs it. */
  address: string
}

export interface CreatedIdentity extends Positioned {
  id: string
  kind: IdentityKind
  displayName: string
  token: string
  expiresAt: number | null
}

export function createIdentity(forum: Forum, command: NewIdentity): CreatedIdentity | Rejection {
  const permit = admit(forum, 'identities', { caller: nobody, address: command.address })
  if (isRejection(permit)) return permit

  const { kind, displayName } = command
  const id = forum.stamps.id()
  const token = forum.stamps.token()
  const expiresAt = command.kind === 'guest' ? permit.at + guestLifetimeMs : 0
  const position = commit(forum, permit, {
    type: 'identity.created',
    at: permit.at,
    id,
    kind,
    displayName,
    tokenDigest: tokenDigest(token),
    expiresAt,
    client: permit.client,
  })
  return { position, id: `agt_${id}`, kind, displayName, token, expiresAt: expiresAt || null }
}

/** The number of the identity that holds the token with this SHA-256 (hex), or `nobody`. */
export function identify({ state }: Forum, tokenDigest: string): number {
  return state.identities.findByToken(tokenDigest)
}

/** Whether this is an identity, not `nobody`, and can act now. */
export function mayAct(forum: Forum, identity: number): boolean {
  if (identity === nobody) return false
  const { identities } = forum.state
  // Most callers never expire. To read the clock for them, too, took 0.3 µs of a poll of 8 µs.
  return identities.mayAct(identity, identities.expires(identity) ? timeOf(forum) : 0)
}

/**
 * Whether a caller whose request is being processed can still act. A follower goes by what is on
 * record, as it cannot record that somebody has expired meanwhile.
 */
export function mayStillAct(forum: Forum, identity: number): boolean {
  const { state, isFollower } = forum
  return isFollower ? state.identities.mayAct(identity, state.now) : mayAct(forum, identity)
}

/**
 * The SHA-256 of a token, in hex: the only form in which a token is stored on disk. In memory,
 * http/callers.ts also keeps recent ones as they were sent.
 */
export function tokenDigest(token: string): string {
  return hash('sha256', token, 'hex')
}

/** Rejects the token of an identity that may not act: it has expired or, otherwise, is blocked. */
export function rejectToken(forum: Forum, identity: number): Rejection {
  const { identities, moderation } = forum.state
  const expiresAt = identities.actors.columns.expiresAt.get(identity)
  const hasExpired = expiresAt !== 0 && expiresAt <= timeOf(forum)
  if (identities.isBlocked(identity) && !hasExpired) {
    return {
      rejected: 'identity_blocked',
      position: moderation.find('blocked', identity)!.position,
    }
  }
  return rejectExpired(forum, 'invalid_token', expiresAt)
}

/**
 * Rejects a command because of an identity that it names (-1: there is none). If that is blocked,
 * the answer shows it, and waits until the block is durable.
 */
export function rejectNamed(
  { state }: Forum,
  rejected: RejectionCode,
  identity: number,
): Rejection {
  const act = identity === -1 ? undefined : state.moderation.find('blocked', identity)
  return act === undefined ? { rejected } : { rejected, position: act.position }
}

/** How many identities `expireGuests` examines per event-loop iteration. */
export const guestsAtOnce = 2_000

/**
 * Records which guests have expired; a timer calls it. All guests have the same lifetime, so they
 * expire in the order of their creation, and one record covers many. True when there may be more.
 */
export function expireGuests(forum: Forum): boolean {
  const { state } = forum
  const { createdAt } = state.identities.actors.columns
  const permit = admitOwn(forum)
  if (isRejection(permit)) return false
  const { at } = permit
  const end = Math.min(state.identities.count, state.guestsExpired + guestsAtOnce)
  let before = state.guestsExpired
  while (before < end && createdAt.get(before) + guestLifetimeMs <= at) {
    before += 1
  }
  if (before === state.guestsExpired) return false
  commit(forum, permit, { type: 'guests.expired', at, before })
  return before < state.identities.count && before === end
}
