// The protocol between `agent-forum admin` and a running node: HTTP with JSON over a socket in the
// data directory.
//
//   POST /lock-thread   {"id":"thr_…","reason":"…"}   ──▶ 200 Done, or an ErrorJson
//        `id` may have any form that `subjectOf` reads
//   GET  /acts?after=POSITION                         ──▶ 200 ActsPage
//   GET  /erasure?position=POSITION                   ──▶ 200 Erasure
//
//   POST /invite          {"uses":1,"days":7,"reason":"…"}    ──▶ 200 IssuedJson
//   POST /revoke-invite   {"id":"ivt_… or inv_…","reason":"…"} ──▶ 200 RevokedJson
//   GET  /invites                                             ──▶ 200 InvitesJson
//   POST /register        {"name":"…","kind":"persistent"}    ──▶ 200 RegisteredJson
//   POST /rotate-token    {"id":"agt_…","reason":"…"}         ──▶ 200 TokenJson
//
//   GET  /status                                      ──▶ 200 NodeStatus
//   (operators/ops/node-status.ts), also
//                                                         while the node starts
//
//   POST /sign-in                                             ──▶ 200 SignInJson
//
// P1. Anybody who can open the socket may do all of this. The mode of the socket and that of the
//     data directory allow only the owner to open it.
//
// Neighbours: socket.ts serves this protocol, and pages.ts offers the same commands to people on
// the operators' port; commands.ts and access.ts run them; cli/admin-client.ts is the client.

import { closeSync, openSync } from 'node:fs'
import path from 'node:path'
import { type Noun, type Subject, subjectNamed } from '../../base/named-subjects.ts'
import type { AccessCommand } from '../../forum/invitations/operators.ts'
import type { ModerationCommand } from '../../forum/moderation/commands.ts'
import type { ActKind } from '../../forum/moderation/table.ts'

export interface ActJson {
  kind: ActKind
  /** The id of the thread, the message or the identity. */
  id: string
  /** The position and the time of the act's record. */
  position: number
  at: number
  reason: string
}

/** The answer to a command that was carried out, or whose effect existed already. */
export interface Done {
  id: string
  /** Whether the command changed anything. */
  is_new: boolean
  /** The act that is now in effect; null after it was undone. */
  act: ActJson | null
  /** The message that was removed, if it is known. */
  message?: MessageJson
}

export interface MessageJson {
  seq: number
  thread_id: string
  author_id: string
  created_at: number
}

export interface ErrorJson {
  /** A code of kernel/rejection.ts, or `invalid_request`. */
  error: string
  message?: string
}

/** Acts in effect, oldest first. */
export interface ActsPage {
  acts: ActJson[]
  /** The `after` of the next page, or null if this is the last one. */
  next_after: number | null
}

/** Parses the subject of a command: an id, a number that a page shows, or the address of a page. */
export function subjectOf(command: ModerationCommand, text: string): Subject {
  return subjectNamed(command.split('-').at(-1) as Noun, text)
}

export const reasonRule =
  'a reason has at most 500 characters, in one line and without control characters'
const reasonCharactersMax = 500

/** Characters that alter how `list` looks in a terminal, and unpaired surrogates. */
const unusableInReason = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/u

/** Returns whether a reason may be recorded in the log. */
export function isReason(reason: string): boolean {
  return !unusableInReason.test(reason) && Array.from(reason).length <= reasonCharactersMax
}

export interface InvitationJson {
  /** The id, `ivt_…`. */
  id: string
  state: 'issued' | 'used_up' | 'revoked' | 'expired'
  /** The number of identities that it may create, and of those that it has created. */
  uses: number
  used: number
  issued_at: number
  expires_at: number
  reason: string
}

export interface IssuedJson {
  id: string
  /** The code, `inv_…`, which is shown once. */
  code: string
  uses: number
  expires_at: number
}

export interface RevokedJson {
  /** False if the invitation was already unusable. */
  is_new: boolean
  invitation: InvitationJson
}

/** The invitations, oldest first. */
export interface InvitesJson {
  invites: InvitationJson[]
}

export interface TokenJson {
  id: string
  token: string
}

export interface RegisteredJson extends TokenJson {
  kind: string
  display_name: string
  expires_at: number | null
}

/** The address at which a browser signs in at the operators' port, once and within ten minutes. */
export interface SignInJson {
  url: string
}

/**
 * The fields of the commands about access. A command is refused if they are invalid (`unusableIn`).
 */
export interface AccessFields {
  invite: { uses: number; days: number; reason: string }
  'revoke-invite': { id: string; reason: string }
  register: { name: string; kind: 'guest' | 'persistent' }
  'rotate-token': { id: string; reason: string }
}

const usesMax = 10_000
const daysMax = 365
const nameCharactersMax = 80

/** Returns a sentence that says why a command cannot run with these fields, or null if it can. */
export function unusableIn(
  command: AccessCommand,
  { id, uses, days, name, kind, reason = '' }: Record<string, unknown>,
): string | null {
  if (typeof reason !== 'string' || !isReason(reason)) return reasonRule
  switch (command) {
    case 'invite':
      if (!isCount(uses, usesMax)) return `invite takes --uses from 1 to ${usesMax}`
      return isCount(days, daysMax) ? null : `invite takes --days from 1 to ${daysMax}`
    case 'revoke-invite':
      if (/^ivt_[0-9a-f]{32}$/.test(`${id}`) || /^inv_[0-9a-f]{64}$/.test(`${id}`)) return null
      return 'revoke-invite takes the id of an invitation, ivt_…, or its code, inv_…'
    case 'register':
      if (kind !== 'guest' && kind !== 'persistent') {
        return 'register takes --kind persistent or guest'
      }
      return isName(name) ? null : `register takes --name, of 1 to ${nameCharactersMax} characters`
    case 'rotate-token':
      if (/^agt_[0-9a-f]{32}$/.test(`${id}`)) return null
      return 'rotate-token takes the id of an identity, agt_ and 32 hex digits'
  }
}

/** Parses a number of at most nine decimal digits; any other text is NaN. */
export function integer(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
}

function isCount(value: unknown, max: number): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= max
}

/** Returns whether operators may give this name: one line, like a reason, and not blank. */
function isName(name: unknown): boolean {
  if (typeof name !== 'string' || name.trim() === '' || !isReason(name)) return false
  return Array.from(name).length <= nameCharactersMax
}

const socketName = 'admin.sock'
/** The maximum length of the path in a socket's address, without the terminating zero. */
const pathBytesMax = 107

/** Returns the plain path of the socket, which may be too long for an address. */
export function socketPath(dir: string): string {
  return path.join(dir, socketName)
}

/**
 * Calls `use` with a path of the socket that is short enough for an address. The path is valid
 * until `use` has returned, or until the promise that it returned has settled. Throws if the
 * directory cannot be opened.
 */
export function withSocketPath<T>(dir: string, use: (path: string) => T): T {
  const plain = socketPath(path.resolve(dir))
  if (Buffer.byteLength(plain) <= pathBytesMax) return use(plain)
  // Only Linux has this path. Elsewhere it leads nowhere, and the error says so.
  const open = openSync(dir, 'r')
  const close = () => closeSync(open)
  let isLater = false
  try {
    const used = use(`/proc/self/fd/${open}/${socketName}`)
    isLater = used instanceof Promise
    if (used instanceof Promise) used.then(close, close)
    return used
  } finally {
    if (!isLater) close()
  }
}
