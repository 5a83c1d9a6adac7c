// Sessions of people who have signed in with the token of an identity (page.ts). No process keeps a
// list of them: a browser sends its session with each request, sealed with a key that is derived
// from the node's secret, so that every process of a node and every node of the log can open it.
//
// Sealed, in base64url:  offset, length
//                        0  12  nonce, random
//                        12 16  authentication tag
//                        28  6  when it ends, in milliseconds since the epoch
//                        34  4  the number of the token (forum/identities/machine.ts, I6)
//                        38 16  its form token: forms of the session contain it, forged ones do not
//                        54 32  the bearer token's bytes; all after the tag is AES-256-GCM
//
// B1. The key alone, as from a backup, is not enough to make a session: a session contains a token,
//     of which the log has only a digest. A session alone does not reveal the token, except to its
//     holder in the minute after the registration (`newToken`).
// B2. A session ends with its token (by rotation or expiry), with the epoch, which is authenticated
//     data, when its time is over, and when its identity signs out. While the identity is blocked,
//     its sessions give no access.
// B3. Signing out records the same token under its next number, so it ends all sessions of the
//     identity, wherever they are; programs can still use the token, and what was begun with it
//     goes on (forum/identities/table.ts, G4).

import { createCipheriv, createDecipheriv } from 'node:crypto'
import { timeOf } from '../../kernel/clock.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { authenticate, mayStillAct, rejectUnknown, tokenDigest } from '../identities/commands.ts'
import { admit, commit } from '../write.ts'

export const sessionMs = 30 * 24 * 60 * 60 * 1000

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const formBytes = 16
const sealedBytes = 86
/** How long after a registration its token may be shown. */
const newTokenMs = 60_000

export interface Session {
  identity: number
  /** The number of the token that it was begun with. */
  token: number
  /** The SHA-256 of that token, in hex. */
  digest: string
  /** The token that its forms contain, in hex. */
  formToken: string
  /** That token itself if the identity was registered with it just now, otherwise ''. */
  newToken: string
}

/** A sign-in: the token of an identity, and the address that it comes from. */
interface SignIn {
  token: string
  address: string
  epoch: string
}

/** Returns a sealed session for the holder of this token, or a rejection. */
export function beginSession(forum: Forum, signIn: SignIn): string | Rejection {
  const { token, address, epoch } = signIn
  const bearer = authenticate(forum, token, address)
  if (isRejection(bearer)) return bearer
  // A token in its grace period is about to end, and `isPresent` would reject a session with it.
  const { identities } = forum.state
  if (bearer.token !== identities.tokenNumber(bearer.identity)) return rejectUnknown(forum)
  return sealSession(forum, { token, number: bearer.token, epoch })
}

/** Seals a session for this token, which must be an identity's present one, with this number. */
export function sealSession(
  forum: Forum,
  { token, number, epoch }: { token: string; number: number; epoch: string },
): string {
  const head = Buffer.alloc(10)
  head.writeUIntBE(timeOf(forum) + sessionMs, 0, 6)
  head.writeUInt32BE(number, 6)
  const bytes = Buffer.from(token.slice('aic_'.length), 'hex')
  const nonce = forum.stamps.bytes(nonceBytes)
  const sealing = createCipheriv(cipher, forum.sessionKey, nonce).setAAD(Buffer.from(epoch))
  const parts = [head, forum.stamps.bytes(formBytes), bytes].map((part) => sealing.update(part))
  sealing.final()
  return Buffer.concat([nonce, sealing.getAuthTag(), ...parts]).toString('base64url')
}

/**
 * Opens a sealed session. Returns null if it is none of this epoch, or its time is over; `absent`
 * if it gives no access as far as this process knows, which may not know the newest records.
 */
export function findSession(
  forum: Forum,
  sealed: string,
  epoch: string,
): Session | 'absent' | null {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length !== sealedBytes) return null
  const opened = open(forum.sessionKey, bytes, epoch)
  if (opened === null || opened.readUIntBE(0, 6) <= timeOf(forum)) return null
  const bearer = `aic_${opened.toString('hex', 10 + formBytes)}`
  const digest = tokenDigest(bearer)
  const { identities } = forum.state
  const identity = identities.tokens.find(digest)
  const token = opened.readUInt32BE(6)
  const formToken = opened.toString('hex', 10, 10 + formBytes)
  if (identity === -1 || !isPresent(forum, { identity, token })) return 'absent'
  const ageMs = timeOf(forum) - identities.actors.columns.createdAt.get(identity)
  const newToken = token === 0 && ageMs < newTokenMs ? bearer : ''
  return { identity, token, digest, formToken, newToken }
}

/** Returns whether a session that a request found some time ago is still valid. */
export function isPresent(
  forum: Forum,
  { identity, token }: Pick<Session, 'identity' | 'token'>,
): boolean {
  return (
    token === forum.state.identities.tokenNumber(identity) && mayStillAct(forum, identity, token)
  )
}

function open(key: Buffer, sealed: Buffer, epoch: string): Buffer | null {
  const opening = createDecipheriv(cipher, key, sealed.subarray(0, nonceBytes))
  const begin = nonceBytes + tagBytes
  opening.setAAD(Buffer.from(epoch)).setAuthTag(sealed.subarray(nonceBytes, begin))
  const opened = opening.update(sealed.subarray(begin))
  try {
    opening.final()
  } catch {
    return null
  }
  return opened
}

/** Ends all sessions of the session's identity, and nothing else (B3). */
export function signOut(forum: Forum, session: Session): Positioned | Rejection {
  const { identities } = forum.state
  const { identity } = session
  if (!isPresent(forum, session)) return { position: identities.rotatedPosition }
  const permit = admit(forum, 'rotations', { caller: identity, address: '' })
  if (isRejection(permit)) return permit
  const position = commit(forum, permit, {
    type: 'identity.token_rotated',
    at: permit.at,
    by: identity,
    identity,
    tokenDigest: session.digest,
    graceUntil: 0,
    reason: '',
  })
  return { position }
}
