// Records of invitations, and of the identities that they create.

import { nobody } from '../../kernel/network.ts'
import { kind, type Timed } from '../../kernel/record.ts'
import { addIdentity, type NewIdentity } from '../identities/records.ts'

export interface InvitationIssued extends Timed {
  type: 'invitation.issued'
  /** 32 hex characters. */
  id: string
  /** SHA-256 of its code, in hex. */
  digest: string
  /** The number of identities that it can create. */
  uses: number
  expiresAt: number
  /** The operator's reason, or '' if none was given. */
  reason: string
}

export interface InvitationRevoked extends Timed {
  type: 'invitation.revoked'
  id: string
  reason: string
}

/** An identity was created with an invitation. */
export interface IdentityInvited extends NewIdentity {
  type: 'identity.invited'
  /** A hash of the creator's address, or '' if no limit needs it. */
  client: string
  invitation: string
}

export const invitationRecords = {
  'invitation.issued': kind<InvitationIssued>({
    code: 61,
    version: 1,
    fields: { id: true, digest: true, uses: true, expiresAt: true, reason: true },
    apply(state, position, { type: _, ...invitation }) {
      state.invitations.issue({ ...invitation, position })
    },
  }),

  'invitation.revoked': kind<InvitationRevoked>({
    code: 62,
    version: 1,
    fields: { id: true, reason: true },
    apply(state, position, { id }) {
      state.invitations.revoke(id, position)
    },
  }),

  'identity.invited': kind<IdentityInvited>({
    code: 63,
    version: 1,
    fields: {
      id: true,
      kind: true,
      displayName: true,
      tokenDigest: true,
      expiresAt: true,
      client: true,
      invitation: true,
      listed: true,
    },
    apply(state, position, record) {
      const { client, at, invitation } = record
      addIdentity(state, position, record)
      state.quotas.count('identities', { by: nobody, client, at })
      state.invitations.use(invitation, at, position)
    },
  }),
}
