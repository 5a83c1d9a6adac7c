// The operators' commands about access, with the answers that protocol.ts describes.

import type { Forum, Positioned } from '../../forum/forum.ts'
import { type AccessCommand, accessCommands } from '../../forum/invitations/operators.ts'
import type { Invitation } from '../../forum/invitations/table.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import {
  type AccessFields,
  type InvitationJson,
  type IssuedJson,
  type RegisteredJson,
  type RevokedJson,
  type TokenJson,
  unusableIn,
} from './protocol.ts'

/** Runs an operator's command. Resolves when its outcome is durable. */
export type Administer = <T extends Positioned>(
  run: (forum: Forum) => T | Rejection,
) => Promise<T | Rejection>

export type AccessAnswer = IssuedJson | RevokedJson | RegisteredJson | TokenJson

export function isAccessCommand(name: string): name is AccessCommand {
  return Object.hasOwn(accessCommands, name)
}

/**
 * Resolves with the answer to a command with these fields, with its rejection, or with a sentence
 * that says why the fields cannot be used.
 */
export async function answerAccess(
  administer: Administer,
  command: AccessCommand,
  sent: Record<string, unknown>,
): Promise<AccessAnswer | Rejection | string> {
  const unusable = unusableIn(command, sent)
  return unusable ?? (await answers[command](administer, { reason: '', ...sent } as never))
}

const answers: {
  [Command in AccessCommand]: (
    administer: Administer,
    fields: AccessFields[Command],
  ) => Promise<AccessAnswer | Rejection>
} = {
  async invite(administer, fields) {
    const issued = await administer((forum) => accessCommands.invite(forum, fields))
    if (isRejection(issued)) return issued
    const { id, code, expiresAt } = issued
    return { id: `ivt_${id}`, code, uses: fields.uses, expires_at: expiresAt }
  },

  async 'revoke-invite'(administer, fields) {
    const revoked = await administer((forum) => accessCommands['revoke-invite'](forum, fields))
    if (isRejection(revoked)) return revoked
    return { is_new: revoked.isNew, invitation: invitationJson(revoked.invitation) }
  },

  async register(administer, { name: displayName, kind }) {
    const made = await administer((forum) => accessCommands.register(forum, { displayName, kind }))
    if (isRejection(made)) return made
    const { id, token, expiresAt } = made
    return { id, kind, display_name: displayName, token, expires_at: expiresAt }
  },

  async 'rotate-token'(administer, fields) {
    const replaced = await administer((forum) => accessCommands['rotate-token'](forum, fields))
    return isRejection(replaced) ? replaced : { id: replaced.id, token: replaced.token }
  },
}

export function invitationJson(invitation: Invitation): InvitationJson {
  const { id, state, uses, used, issuedAt, expiresAt, reason } = invitation
  return {
    id: `ivt_${id}`,
    state: state === 'usedUp' ? 'used_up' : state,
    ...{ uses, used, issued_at: issuedAt, expires_at: expiresAt, reason },
  }
}
