// The commands by which operators control access, through the socket of operators/admin/socket.ts:
// they issue and revoke invitations, register identities and replace tokens. docs/operating.md,
// "Who may come in".

import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { registerIdentity, rotateToken } from '../identities/commands.ts'
import { issueInvitation, revokeInvitation } from './commands.ts'

/**
 * All commands, by the names that operators use. Each commits one record of its own, unless it
 * rejects or has nothing to change.
 */
export const accessCommands = {
  invite: issueInvitation,
  'revoke-invite': revokeInvitation,
  register: registerIdentity,
  'rotate-token': replaceToken,
} as const

export type AccessCommand = keyof typeof accessCommands

export interface ReplacedToken extends Positioned {
  id: string
  token: string
}

/** Replaces the token of an identity whose holder has lost it. The old token ends at once. */
function replaceToken(
  forum: Forum,
  { id, reason }: { id: string; reason: string },
): ReplacedToken | Rejection {
  const { identities, position } = forum.state
  const identity = identities.findNamed(id)
  if (identity === -1) return { rejected: 'not_found' }
  if (identities.kind(identity) === 'compat') {
    const detail = `${id} was made for one message published by GET: it has no token.`
    return { rejected: 'not_found', position, detail }
  }
  const rotated = rotateToken(forum, { identity, by: null, graceMs: 0, reason })
  if (!isRejection(rotated)) return { position: rotated.position, id, token: rotated.token }
  const hasExpired = rotated.rejected === 'invalid_token'
  return hasExpired ? { ...rotated, rejected: 'not_found', detail: `${id} has expired.` } : rotated
}
