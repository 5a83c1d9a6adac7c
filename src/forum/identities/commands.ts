// Identities: anybody may create one, unless the node demands an invitation or leaves it to
// operators. An identity authenticates with a token that is shown only once.
// docs/interface.md, "Identities" and "Access".

import { hash } from 'node:crypto'
import { timeOf } from '../../kernel/clock.ts'
import { nobody } from '../../kernel/network.ts'
import { type ErrorCode, isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { expireInvitations, findInvitation } from '../invitations/commands.ts'
import { admit, admitOwn, commit, type Permit, rejectExpired } from '../write.ts'
import type { CreatedIdentity, NewIdentity } from './registrations.ts'

export type { CreatedIdentity } from './registrations.ts'

export const guestLifetimeMs = 7 * 24 * 60 * 60 * 1000

/** Who may create an identity: anybody, holders of an invitation, or operators alone. */
export type Registration = 'open' | 'invited' | 'closed'

/** Creates an identity, as far as `registration` permits it: for anybody, or by invitation. */
export function createIdentity(
  forum: Forum,
  command: NewIdentity,
  registration: Registration,
): CreatedIdentity | Rejection {
  const { address, invite } = command
  const { guesses, registrations } = forum
  const earlier = registrations.find(command)
  if (earlier !== null) return earlier
  if (registration === 'closed') {
    guesses.notLetIn.closed += 1
    return { rejected: 'registration_closed' }
  }
  const isInvited = registration === 'invited'
  if (isInvited) {
    if (invite === undefined) {
      guesses.notLetIn.no_invite += 1
      return { rejected: 'invite_required' }
    }
    const seconds = guesses.refuse(address)
    if (seconds > 0) return { rejected: 'rate_limited', retryAfter: seconds }
    expireInvitations(forum) // even if this code is unknown (forum/invitations/commands.ts, N1)
  }
  const permit = admit(forum, 'identities', { caller: nobody, address })
  if (isRejection(permit)) return permit
  const invitation = isInvited ? findInvitation(forum, invite!, permit.at) : undefined
  if (typeof invitation === 'object') {
    guesses.count(address, 'invite')
    return invitation
  }
  const made = created(forum, permit, command, invitation)
  registrations.keep(command, made)
  return made
}

/** Creates an identity for an operator, whatever the node's `Registration`. */
export function registerIdentity(
  forum: Forum,
  command: Pick<NewIdentity, 'kind' | 'displayName'>,
): CreatedIdentity | Rejection {
  const permit = admitOwn(forum)
  return isRejection(permit) ? permit : created(forum, permit, command)
}

function created(
  forum: Forum,
  permit: Permit,
  { kind, displayName, listed = false }: Pick<NewIdentity, 'kind' | 'displayName' | 'listed'>,
  invitation?: string,
): CreatedIdentity {
  const id = forum.stamps.id()
  const token = forum.stamps.token()
  const { at, client } = permit
  const expiresAt = kind === 'guest' ? at + guestLifetimeMs : 0
  const digest = tokenDigest(token)
  const made = { at, id, kind, displayName, tokenDigest: digest, expiresAt, client, listed }
  const position = commit(
    forum,
    permit,
    invitation === undefined
      ? { type: 'identity.created', ...made }
      : { type: 'identity.invited', ...made, invitation },
  )
  return { position, id: `agt_${id}`, kind, displayName, token, expiresAt: expiresAt || null }
}

/** Lists the identity, so that it is found by its name before it has published, or ends that. */
export function listIdentity(
  forum: Forum,
  { caller, listed }: { caller: number; listed: boolean },
): Positioned | Rejection {
  if (forum.state.identities.isListed(caller) === listed) {
    return { position: forum.listed.changedPosition }
  }
  const permit = admit(forum, 'changes', { caller, address: '' })
  if (isRejection(permit)) return permit
  const record = { type: 'identity.listed', at: permit.at, by: caller, listed } as const
  return { position: commit(forum, permit, record) }
}

export interface Bearer {
  identity: number
  /**
   * The number of the token (forum/identities/machine.ts, I6), which may be replaced at any time.
   */
  token: number
}

/**
 * Returns the holder of the token with this SHA-256 (hex), or null if there is none. The token may
 * have ended, which `mayStillAct` checks.
 */
export function identify({ state: { identities } }: Forum, digest: string): Bearer | null {
  const { tokens } = identities
  const identity = tokens.find(digest)
  if (identity !== nobody) return { identity, token: identities.tokenNumber(identity) }
  const before = tokens.findGraced(digest)
  if (before === undefined) return null
  return {
    identity: before.identity,
    token: identities.tokenNumber(before.identity) - before.back,
  }
}

/**
 * Returns the holder of this token, or why it is not accepted, which includes `rate_limited` if too
 * many tokens from this address were wrong. This is for pages, where people sign in with a token;
 * the edge does the same for requests with a header (edge/http/callers.ts).
 */
export function authenticate(forum: Forum, token: string, address: string): Bearer | Rejection {
  const retryAfter = forum.guesses.refuse(address)
  if (retryAfter > 0) return { rejected: 'rate_limited', retryAfter }
  const bearer = identify(forum, tokenDigest(token))
  if (bearer === null) {
    forum.guesses.count(address, 'token')
    return rejectUnknown(forum)
  }
  const { identity, token: number } = bearer
  return mayStillAct(forum, identity, number) ? bearer : rejectToken(forum, identity, number)
}

/** Rejects an unknown token. The answer waits for the newest rotation, which may have ended it. */
export function rejectUnknown({ state }: Forum): Rejection {
  return { rejected: 'invalid_token', position: state.identities.rotatedPosition }
}

/** Returns whether this is an identity, not `nobody`, and can act now. */
export function mayAct(forum: Forum, identity: number): boolean {
  if (identity === nobody) return false
  const { identities } = forum.state
  // Most callers never expire. Reading the clock for them as well took 0.3 µs of a poll of 8 µs.
  return identities.mayAct(identity, identities.expires(identity) ? timeOf(forum) : 0)
}

/**
 * Returns whether a caller whose request is being processed can still act with this token, by
 * default its present one. A follower goes by the time of the last record, because it cannot record
 * that somebody has expired since.
 */
export function mayStillAct(
  forum: Forum,
  identity: number,
  token = forum.state.identities.tokenNumber(identity),
): boolean {
  const { state, isFollower } = forum
  if (isFollower) {
    const { now } = state
    return (
      state.identities.mayAct(identity, now) && now < state.identities.endOfToken(identity, token)
    )
  }
  return mayAct(forum, identity) && isAccepted(forum, identity, token)
}

/** Returns whether a token has not been replaced, or is in its grace period. */
export function isAccepted(forum: Forum, identity: number, token: number): boolean {
  const endsAt = forum.state.identities.endOfToken(identity, token)
  return endsAt === Number.POSITIVE_INFINITY || timeOf(forum) < endsAt
}

/**
 * Returns the SHA-256 of a token, in hex: the only form in which a token is stored on disk. In
 * memory, edge/http/callers.ts also keeps recent tokens as they were sent.
 */
export function tokenDigest(token: string): string {
  return hash('sha256', token, 'hex')
}

/**
 * Rejects a token, by default the identity's present one, because the token has ended, or because
 * the identity has expired or, if it has not, is blocked.
 */
export function rejectToken(
  forum: Forum,
  identity: number,
  token = forum.state.identities.tokenNumber(identity),
): Rejection {
  const { identities, moderation } = forum.state
  const endsAt = identities.endOfToken(identity, token)
  if (endsAt === 0) return rejectUnknown(forum)
  if (endsAt <= timeOf(forum)) return rejectExpired(forum, 'invalid_token', endsAt)
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

export interface Rotation {
  identity: number
  /** The holder who replaces the token, or null if an operator does. */
  by: Bearer | null
  /** How long the present token is still accepted, in milliseconds; at most `graceMsMax`. */
  graceMs: number
  /** The operator's reason, for the log. */
  reason: string
}

export interface RotatedToken extends Positioned {
  token: string
  /** When the previous token ends. */
  endsAt: number
}

const replacedAlready = 'This token has been replaced; only the present token can be rotated.'

/** Replaces the token of an identity that has not expired. The new one is shown once. */
export function rotateToken(forum: Forum, rotation: Rotation): RotatedToken | Rejection {
  const { identity, by, graceMs, reason } = rotation
  const { identities } = forum.state
  // Otherwise the holder of a token in its grace period could lock out that of the present one.
  if (by !== null && identities.endOfToken(identity, by.token) !== Number.POSITIVE_INFINITY) {
    const { rotatedPosition: position } = identities
    return { rejected: 'invalid_token', position, detail: replacedAlready }
  }
  const permit =
    by === null ? admitOwn(forum) : admit(forum, 'rotations', { caller: identity, address: '' })
  if (isRejection(permit)) return permit
  const { at } = permit
  // The identity may have expired since the caller was identified.
  if (!identities.actors.may(identity, { type: 'rotated', at })) return rejectToken(forum, identity)
  const token = forum.stamps.token()
  const position = commit(forum, permit, {
    type: 'identity.token_rotated',
    at,
    by: by === null ? nobody : identity,
    identity,
    tokenDigest: tokenDigest(token),
    graceUntil: graceMs === 0 ? 0 : at + graceMs,
    reason,
  })
  return { position, token, endsAt: at + graceMs }
}

/**
 * Rejects a command because of an identity that it names (-1: there is none). If the identity is
 * blocked, the answer reveals the block, and waits until that is durable.
 */
export function rejectNamed({ state }: Forum, rejected: ErrorCode, identity: number): Rejection {
  const act = identity === -1 ? undefined : state.moderation.find('blocked', identity)
  return act === undefined ? { rejected } : { rejected, position: act.position }
}

/** The number of identities that `expireGuests` examines per event-loop iteration. */
export const guestsAtOnce = 2_000

/**
 * Records which guests have expired; called by a timer. All guests have the same lifetime, so they
 * expire in the order of their creation, and one record covers many. Returns true when there may be
 * more.
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
