// Sends the commands of `agent-forum admin` to the node of a data directory, through its socket.

import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf, messageOf } from '../../wal/errors.ts'
import type { Erasure } from '../engine/storage/checkpoints.ts'
import type { AccessCommand } from '../forum/invitations/operators.ts'
import type { ModerationCommand } from '../forum/moderation/commands.ts'
import {
  type AccessFields,
  type ActJson,
  type ActsPage,
  type Done,
  type ErrorJson,
  type InvitationJson,
  type InvitesJson,
  type SignInJson,
  socketPath,
  subjectOf,
  withSocketPath,
} from '../operators/admin/protocol.ts'
import type { NodeStatus } from '../operators/ops/node-status.ts'
import { CommandError } from './command-error.ts'

const timeoutMs = 60_000
const retryEveryMs = 500
const patienceMs = 600_000

interface Command {
  command: ModerationCommand
  id: string
  reason: string
}

/**
 * Makes the node run a command. Retries while the node cannot because of a checkpoint, or of damage
 * that it is repairing; `onWait` is called before the first retry, with the reason. Throws
 * CommandError.
 */
export async function moderateNode(
  dir: string,
  { command, id, reason }: Command,
  onWait: (why: string) => void,
): Promise<Done> {
  for (let waitedMs = 0; ; waitedMs += retryEveryMs) {
    const answer = await send<Done>(dir, 'POST', `/${command}`, { id, reason })
    if (!('error' in answer)) return answer
    const why = retried[answer.error]
    if (why === undefined || waitedMs >= patienceMs) {
      throw refusalOf(answer, `there is no ${subjectOf(command, id).noun} ${id}`)
    }
    if (waitedMs === 0) onWait(why)
    await sleep(retryEveryMs)
  }
}

/** Makes the node run an access command. Throws CommandError. */
export async function accessOfNode<T extends object, C extends AccessCommand>(
  dir: string,
  command: C,
  fields: AccessFields[C],
): Promise<T> {
  const noun = command === 'revoke-invite' ? 'invitation' : 'identity'
  return orThrow(await send<T>(dir, 'POST', `/${command}`, fields), `there is no such ${noun}`)
}

/** Returns all invitations that are kept, oldest first. */
export async function invitesOfNode(dir: string): Promise<InvitationJson[]> {
  return (await read<InvitesJson>(dir, '/invites')).invites
}

/** Returns an address at which a browser can sign in once. Throws CommandError. */
export async function signInAddress(dir: string): Promise<SignInJson> {
  return orThrow(await send<SignInJson>(dir, 'POST', '/sign-in', {}))
}

/** Returns all acts that are in effect, oldest first. */
export async function actsOfNode(dir: string): Promise<ActJson[]> {
  const acts: ActJson[] = []
  for (let after: number | null = 0; after !== null; ) {
    const page: ActsPage = await read<ActsPage>(dir, `/acts?after=${after}`)
    acts.push(...page.acts)
    after = page.next_after
  }
  return acts
}

/** Returns the progress of an erasure, which the record at this position began. */
export function erasureOfNode(dir: string, position: number): Promise<Erasure> {
  return read<Erasure>(dir, `/erasure?position=${position}`)
}

/** Returns the status of the node, which may still be starting. Throws CommandError. */
export function statusOfNode(dir: string): Promise<NodeStatus> {
  return read<NodeStatus>(dir, '/status')
}

/** Refusals that are temporary. */
const retried: Record<string, string> = {
  overloaded: 'the node is busy, for example with a checkpoint; trying again',
  unreadable: 'the page with the text is damaged, and the node repairs it; trying again',
}

/** The meaning of other refusals for an operator. */
const sentences: Record<string, [exitCode: 65 | 69 | 74, sentence: string]> = {
  overloaded: [74, 'the node has been busy for ten minutes'],
  unreadable: [74, 'the page with the text is damaged; /readyz?verbose of the node has details'],
  storage_full: [74, 'the disk of the node is full'],
  storage_failed: [74, 'the storage of the node has failed'],
  starting: [69, 'the node is starting; agent-forum status says how far it is'],
  shutting_down: [69, 'the node is stopping'],
  no_leader: [69, 'the node is not the leader; run the command on the leader'],
}

/** `missing` is the sentence for `not_found`. */
function refusalOf({ error, message }: ErrorJson, missing = error): CommandError {
  const [code, sentence] = sentences[error] ?? [65, error === 'not_found' ? missing : error]
  return new CommandError(code, message ?? sentence)
}

async function read<T extends object>(dir: string, path: string): Promise<T> {
  return orThrow(await send<T>(dir, 'GET', path))
}

function orThrow<T extends object>(answer: T | ErrorJson, missing?: string): T {
  if ('error' in answer) throw refusalOf(answer as ErrorJson, missing)
  return answer
}

async function send<T extends object>(
  dir: string,
  method: string,
  path: string,
  body: object | null = null,
): Promise<T | ErrorJson> {
  try {
    const text = await withSocketPath(dir, (socket) => exchange(socket, method, path, body))
    return JSON.parse(text) as T | ErrorJson
  } catch (error) {
    throw new CommandError(69, `no node answers on ${socketPath(dir)}: ${reasonOf(error)}`)
  }
}

function exchange(
  socket: string,
  method: string,
  path: string,
  body: object | null,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { socketPath: socket, method, path, agent: false, timeout: timeoutMs }
    const sent = request(options, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (piece) => {
        text += piece
      })
      response.once('error', reject)
      response.once('end', () => resolve(text))
    })
    sent.once('error', reject)
    sent.once('timeout', () => {
      sent.destroy(new Error(`it did not answer for ${timeoutMs / 1000} seconds`))
    })
    sent.end(body === null ? undefined : JSON.stringify(body))
  })
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no socket; is --data the directory of the node, and is the node running?',
  ECONNREFUSED: 'the socket is left over from a node that has ended',
  EACCES: 'only the user that runs the node may open it',
}

function reasonOf(error: unknown): string {
  return reasons[codeOf(error)] ?? messageOf(error)
}
