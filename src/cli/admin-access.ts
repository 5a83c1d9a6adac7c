// agent-forum admin invite, revoke-invite, list-invites, register and rotate-token: decide who may
// come in.
//
// A code or a token is printed alone on standard output, for scripts, and what it is for on
// standard error. With --json, one object on standard output holds all of it.

import type { Flags } from '../base/arguments.ts'
import type { AccessCommand } from '../forum/invitations/operators.ts'
import {
  type AccessFields,
  type InvitationJson,
  type IssuedJson,
  integer,
  type RegisteredJson,
  type RevokedJson,
  subjectOf,
  type TokenJson,
  unusableIn,
} from '../operators/admin/protocol.ts'
import { accessOfNode, invitesOfNode } from './admin-client.ts'

export const accessFlags = {
  uses: { value: 'N', help: 'invite: how many identities it creates; default 1' },
  days: { value: 'D', help: 'invite: for how long, 1 to 365; default 7' },
  name: { value: 'NAME', help: 'register: the display name' },
  kind: {
    value: 'KIND',
    choices: ['persistent', 'guest'],
    help: 'register: persistent, the default, or guest, which expires after seven days',
  },
} satisfies Flags

export interface AccessArguments {
  data: string
  id: string
  json: boolean
  reason: string
  uses?: string
  days?: string
  name?: string
  kind?: string
}

type Commands = { [Command in AccessCommand]: (args: AccessArguments) => AccessFields[Command] }

const fieldsOf: Commands = {
  invite: ({ uses = '1', days = '7', reason }) => {
    return { uses: integer(uses), days: integer(days), reason }
  },
  'revoke-invite': ({ id, reason }) => ({ id, reason }),
  register: ({ name = '', kind = 'persistent' }) => {
    return { name, kind: kind as AccessFields['register']['kind'] }
  },
  'rotate-token': ({ id, reason }) => ({ id: subjectOf('block-identity', id).id || id, reason }),
}

/** Returns why the command cannot be run with these arguments, or null if it can. */
export function unusableArguments(command: AccessCommand, args: AccessArguments): string | null {
  return unusableIn(command, { ...fieldsOf[command](args) })
}

export const timeOf = (at: number) => new Date(at).toISOString()

/** Runs the command. Throws CommandError. */
export async function runAccess(command: AccessCommand, args: AccessArguments): Promise<void> {
  const done = await accessOfNode<Done[AccessCommand], AccessCommand>(
    args.data,
    command,
    fieldsOf[command](args),
  )
  if (args.json) return say(JSON.stringify(done))
  const { secret, about } = sentences[command](done as never)
  if (secret !== null) say(secret)
  process.stderr.write(`${about}\n`)
}

/** Prints the invitations that are kept, oldest first. */
export async function listInvites({ data, json }: AccessArguments): Promise<void> {
  const invites = await invitesOfNode(data)
  if (json) return say(JSON.stringify({ invites }))
  const lines = invites.map(({ id, state, uses, used, expires_at, reason }) => {
    const count = `${used} of ${uses}`.padEnd(8)
    return `${id}  ${wordOf(state).padEnd(7)}  ${count}  until ${timeOf(expires_at)}  ${reason}`
  })
  say(
    lines.length === 0 ? 'there is no invitation' : lines.map((line) => line.trimEnd()).join('\n'),
  )
}

interface Done {
  invite: IssuedJson
  'revoke-invite': RevokedJson
  register: RegisteredJson
  'rotate-token': TokenJson
}

/** The report of an outcome: a secret for standard output, and a sentence about it. */
interface OutcomeReport {
  secret: string | null
  about: string
}

const sentences: { [Command in AccessCommand]: (done: Done[Command]) => OutcomeReport } = {
  invite: ({ id, code, uses, expires_at }) => {
    const creates = uses === 1 ? 'one identity' : `${uses} identities`
    const until = `until ${timeOf(expires_at)}`
    return { secret: code, about: `${id} creates ${creates} ${until}; its code is shown once` }
  },
  'revoke-invite': ({ is_new, invitation: { id, state } }) => {
    const result = is_new ? 'is revoked' : `was unusable already: it is ${wordOf(state)}`
    return { secret: null, about: `${id} ${result}` }
  },
  register: ({ id, token, display_name, kind, expires_at }) => {
    const until = expires_at === null ? '' : ` until ${timeOf(expires_at)}`
    const who = `${id} ${display_name} (${kind}${until})`
    return { secret: token, about: `${who} is registered; its token is shown once` }
  },
  'rotate-token': ({ id, token }) => {
    return { secret: token, about: `${id} has this token now; its previous token is revoked` }
  },
}

/** Returns a state in the words that people read. */
function wordOf(state: InvitationJson['state']): string {
  return state === 'used_up' ? 'used up' : state === 'issued' ? 'open' : state
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
