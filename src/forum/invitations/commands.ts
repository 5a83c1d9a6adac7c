// Invitations: operators issue and revoke them, and a caller needs one to create an identity where
// the node demands it. docs/interface.md, "Access".
//
// N1. A code is shown once, and only its SHA-256 is kept. Checking a code costs the same whether it
//     is unknown, used up, revoked or expired, and so does refusing it: one look-up by the digest,
//     and an answer that waits for the newest change of any invitation.

import { hash } from 'node:crypto'
import { timeOf } from '../../kernel/clock.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { admitOwn, commit, recordTime } from '../write.ts'
import { type Invitation, invitationsMax } from './table.ts'

const dayMs = 24 * 3_600_000

export interface IssuedInvitation extends Positioned {
  /** 32 hex characters. */
  id: string
  /** The code, which is shown once. */
  code: string
  expiresAt: number
}

export interface Issuing {
  /** The number of identities that can be created with it, at least one. */
  uses: number
  days: number
  /** Its purpose or recipient; may be empty. */
  reason: string
}

/** Issues an invitation. Rejects as `overloaded` while `invitationsMax` are still usable. */
export function issueInvitation(forum: Forum, issuing: Issuing): IssuedInvitation | Rejection {
  const { uses, days, reason } = issuing
  const { invitations } = forum.state
  expireInvitations(forum)
  const permit = admitOwn(forum)
  if (isRejection(permit)) return permit
  if (!invitations.hasRoom) {
    return { rejected: 'overloaded', position: invitations.changedPosition, detail: tooMany }
  }
  const { at } = permit
  const id = forum.stamps.id()
  const code = `inv_${forum.stamps.token().slice('aic_'.length)}`
  const digest = digestOf(code)
  const expiresAt = at + days * dayMs
  const record = { type: 'invitation.issued', at, id, digest, uses, expiresAt, reason } as const
  return { position: commit(forum, permit, record), id, code, expiresAt }
}

const tooMany = `the limit of ${invitationsMax} usable invitations is reached: revoke one`

export interface Revoking {
  /** `ivt_…`, the id, or `inv_…`, the code. */
  id: string
  reason: string
}

export interface RevokedInvitation extends Positioned {
  invitation: Invitation
  /** False if it could no longer be used, so that nothing was done. */
  isNew: boolean
}

/** Revokes an invitation. One that can no longer be used stays as it is. */
export function revokeInvitation(
  forum: Forum,
  { id, reason }: Revoking,
): RevokedInvitation | Rejection {
  const { invitations } = forum.state
  expireInvitations(forum)
  const own = id.startsWith('inv_') ? invitations.idOf(digestOf(id)) : id.slice('ivt_'.length)
  const found = own === null ? null : invitations.find(own)
  const position = invitations.changedPosition
  if (found === null) return { rejected: 'not_found', position }
  if (found.state !== 'issued') return { position, invitation: found, isNew: false }
  const permit = admitOwn(forum)
  if (isRejection(permit)) return permit
  const record = { type: 'invitation.revoked', at: permit.at, id: found.id, reason } as const
  const revoked = commit(forum, permit, record)
  return { position: revoked, invitation: invitations.find(found.id)!, isNew: true }
}

/**
 * Returns all invitations that are kept, oldest first. One whose time is over is shown as expired
 * even if no record says so yet.
 */
export function listInvitations(forum: Forum): Invitation[] {
  const now = timeOf(forum)
  return forum.state.invitations.all().map((each) => {
    const isOver = each.state === 'issued' && each.expiresAt <= now
    return isOver ? { ...each, state: 'expired' } : each
  })
}

/** Returns the id of the invitation with this code, or a rejection if it cannot be used at `at`. */
export function findInvitation({ state }: Forum, code: string, at: number): string | Rejection {
  const { invitations } = state
  const id = invitations.idOf(digestOf(code))
  if (id !== null && invitations.mayUse(id, at)) return id
  return { rejected: 'invalid_invite', position: invitations.changedPosition }
}

/** Records that invitations have expired, if one is due to expire and no record says so yet. */
export function expireInvitations(forum: Forum): void {
  if (forum.state.invitations.nextExpiry <= timeOf(forum)) recordTime(forum)
}

function digestOf(code: string): string {
  return hash('sha256', code, 'hex')
}
