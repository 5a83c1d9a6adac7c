// Records of invitations, and of the identities that they create.

import { nobody } from '../../kernel/network.ts'
import { flag, kind, number, text } from '../../kernel/record.ts'
import { addIdentity, createdFields } from '../identities/records.ts'

export const invitationRecords = {
  'invitation.issued': kind({
    code: 61,
    version: 1,
    fields: {
      /** 32 hex characters. */
      id: text,
      /** SHA-256 of its code, in hex. */
      digest: text,
      /** The number of identities that it can create. */
      uses: number,
      expiresAt: number,
      reason: text,
    },
    apply(state, position, { type: _, ...invitation }) {
      state.invitations.issue({ ...invitation, position })
    },
  }),

  'invitation.revoked': kind({
    code: 62,
    version: 1,
    fields: { id: text, reason: text },
    apply(state, position, { id }) {
      state.invitations.revoke(id, position)
    },
  }),

  /** An identity was created with an invitation. */
  'identity.invited': kind({
    code: 63,
    version: 1,
    fields: { ...createdFields, invitation: text, listed: flag },
    apply(state, position, record) {
      const { client, at, invitation } = record
      addIdentity(state, position, record)
      state.quotas.count('identities', { by: nobody, client, at })
      state.invitations.use(invitation, at, position)
    },
  }),
}
