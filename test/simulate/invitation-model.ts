// The invitations of the model: the effect of their records, and which invitations are usable at a
// given time.

import assert from 'node:assert/strict'
import type { RecordOf } from '../../src/forum/records.ts'

interface Invitation {
  digest: string
  usesLeft: number
  expiresAt: number
  /** Whether it was revoked, or is recorded as expired. */
  hasEnded: boolean
}

export class InvitationModel {
  readonly #byId = new Map<string, Invitation>()
  /** The position of the newest change of any invitation. */
  changed = 0

  issue(position: number, { id, digest, uses, expiresAt }: RecordOf<'invitation.issued'>): void {
    this.#byId.set(id, { digest, usesLeft: uses, expiresAt, hasEnded: false })
    this.changed = position
  }

  use(position: number, { invitation, at }: RecordOf<'identity.invited'>): void {
    const used = this.#byId.get(invitation)!
    assert.ok(isUsable(used, at), 'an identity comes with an invitation that can be used')
    used.usesLeft -= 1
    this.changed = position
  }

  revoke(position: number, { id }: RecordOf<'invitation.revoked'>): void {
    const revoked = this.#byId.get(id)!
    assert.ok(!revoked.hasEnded && revoked.usesLeft > 0, 'what has ended is not revoked')
    revoked.hasEnded = true
    this.changed = position
  }

  expire(position: number, at: number): void {
    for (const each of this.#byId.values()) {
      if (each.hasEnded || each.usesLeft === 0 || each.expiresAt > at) continue
      each.hasEnded = true
      this.changed = position
    }
  }

  /** Returns whether an invitation whose code has this digest can be used at this time. */
  isUsable(digest: string, at: number): boolean {
    return Array.from(this.#byId.values()).some((each) => {
      return each.digest === digest && isUsable(each, at)
    })
  }
}

function isUsable({ usesLeft, expiresAt, hasEnded }: Invitation, at: number): boolean {
  return !hasEnded && usesLeft > 0 && at < expiresAt
}
