// How operators moderate a running node, and decide who may come in: the socket `admin.sock` in its
// data directory, and the operations behind it. protocol.ts describes the protocol.
//
// S1. Its mode is 0600 from the moment it exists: it is bound under a umask. One that an earlier
//     process has left is removed first, which the lock of the directory allows.
// S2. It exists while the node serves. Where it cannot be made, as on a file system without
//     sockets, the node serves without it, and its log says so.

import { rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { messageOf } from '../../wal/errors.ts'
import { type ErrorKind, errors } from '../api/errors.ts'
import { partition } from '../base/partition.ts'
import { type Forum, isRejection, type Positioned, type Rejection } from '../forum/forum.ts'
import { listInvitations } from '../forum/invitations.ts'
import {
  type Moderating,
  type ModerationCommand,
  type ModerationOutcome,
  moderationCommands,
} from '../forum/moderation.ts'
import type { Gate } from '../http/gate.ts'
import type { Invitation } from '../state/invitations.ts'
import type { Act } from '../state/moderation.ts'
import type { State } from '../state/state.ts'
import type { CheckpointSchedule, Erasure } from '../storage/checkpoints.ts'
import {
  type AccessAnswer,
  type Administer,
  answerAccess,
  invitationJson,
  isAccessCommand,
} from './access.ts'
import {
  type ActJson,
  type ActsPage,
  type Done,
  type InvitesJson,
  isReason,
  type MessageJson,
  type Refusal,
  reasonRule,
  type Subject,
  socketPath,
  subjectOf,
  withSocketPath,
} from './protocol.ts'

const bodyBytesMax = 16 * 1024
const actsOnPage = 500
const ownerOnly = 0o177

/** The parts of a node that operators reach. */
export interface Administered {
  state: State
  /** Shows invitations. */
  invitations(): Invitation[]
  administer: Administer
  moderate(command: ModerationCommand, about: Moderating): Promise<ModerationOutcome>
  erasure(position: number): Erasure
}

interface About {
  subject: Subject
  reason: string
}

type Body = Done | ActsPage | Erasure | AccessAnswer | InvitesJson | Refusal
type Answer = [status: number, body: Body]

/** Serves until the returned function is called. */
export function serveAdmin(dir: string, node: Administered, log: Logger): () => void {
  const server = createServer((request, response) => {
    answer(node, request).then(
      ([status, body]) => send(response, status, body),
      (error) => {
        // A request that ends early, or a bug: the node continues, and the operator sees the error.
        log.error({ why: messageOf(error) }, 'admin_request_failed')
        send(response, 500, { error: 'failed', message: messageOf(error) })
      },
    )
  })
  const onError = (error: unknown) => {
    log.warn({ socket: socketPath(dir), why: messageOf(error) }, 'admin_socket_missing')
  }
  server.on('error', onError)
  try {
    withSocketPath(dir, (path) => {
      rmSync(path, { force: true })
      const before = process.umask(ownerOnly)
      try {
        server.listen(path) // binds at once
      } finally {
        process.umask(before)
      }
    })
  } catch (error) {
    onError(error)
  }
  return () => {
    server.close()
    server.closeIdleConnections()
    try {
      rmSync(socketPath(dir), { force: true })
    } catch (error) {
      log.warn({ why: messageOf(error) }, 'admin_socket_left')
    }
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', Connection: 'close' })
  response.end(`${JSON.stringify(body)}\n`)
}

async function answer(node: Administered, request: IncomingMessage): Promise<Answer> {
  const { pathname, searchParams } = new URL(request.url!, 'http://admin.invalid')
  const name = pathname.slice(1)
  if (request.method === 'GET' && name === 'acts') {
    return [200, actsPage(node.state, Number(searchParams.get('after') ?? 0))]
  }
  if (request.method === 'GET' && name === 'erasure') {
    return [200, node.erasure(Number(searchParams.get('position') ?? 0))]
  }
  if (request.method === 'GET' && name === 'invites') {
    return [200, { invites: node.invitations().map(invitationJson) }]
  }
  if (request.method === 'POST' && isAccessCommand(name)) {
    const sent = parsed(await bodyOf(request))
    if (sent === null) return [400, { error: 'invalid_request', message: notJson }]
    const answer = await answerAccess(node.administer, name, sent)
    if (typeof answer === 'string') return [400, { error: 'invalid_request', message: answer }]
    return isRejection(answer) ? refusal(answer) : [200, answer]
  }
  if (request.method !== 'POST' || !Object.hasOwn(moderationCommands, name)) {
    return [404, { error: 'invalid_request', message: `There is no ${request.method} /${name}.` }]
  }
  const command = name as ModerationCommand
  const about = parse(command, await bodyOf(request))
  if (typeof about === 'string') return [400, { error: 'invalid_request', message: about }]
  const id = about.subject.id || idOf(node.state, about.subject)
  if (typeof id !== 'string') return refusal(id)
  const outcome = await node.moderate(command, { id, reason: about.reason })
  return isRejection(outcome) ? refusal(outcome) : [200, done(node.state, id, outcome)]
}

/** The id of the message with this number, in the thread of its permalink. */
function idOf({ messages, threads }: State, { seq, thread }: Subject): string | Rejection {
  const message = partition(messages.count, (each) => messages.seq(each) < seq)
  if (message === messages.count || messages.seq(message) !== seq) {
    return { rejected: 'not_found', detail: `there is no message #${seq}` }
  }
  const its = threads.id(messages.thread(message))
  if (thread === '' || thread === its) return `msg_${messages.id(message)}`
  // After a backup was restored, numbers are given a second time.
  return { rejected: 'not_found', detail: `message #${seq} is in ${its}, not in ${thread}` }
}

function done(state: State, id: string, outcome: Exclude<ModerationOutcome, Rejection>): Done {
  const { isNew: is_new, act } = outcome
  const message = act?.kind === 'removed' ? { message: messageJson(state, act.subject) } : {}
  return { id, is_new, act: act && actJson(state, act), ...message }
}

function messageJson({ messages, threads, identities }: State, message: number): MessageJson {
  return {
    seq: messages.seq(message),
    thread_id: threads.id(messages.thread(message)),
    author_id: identities.id(messages.author(message)),
    created_at: messages.createdAt(message),
  }
}

function refusal({ rejected, detail }: Rejection): Answer {
  const { status }: ErrorKind = errors[rejected]
  return [status, { error: rejected, ...(detail !== undefined && { message: detail }) }]
}

function actsPage(state: State, after: number): ActsPage {
  const acts = state.moderation.page(after, actsOnPage).map((act) => actJson(state, act))
  return { acts, next_after: acts.length < actsOnPage ? null : acts.at(-1)!.position }
}

function actJson(state: State, { kind, subject, position, at, reason }: Act): ActJson {
  const { threads, messages, identities } = state
  const id = {
    locked: () => threads.id(subject),
    removed: () => `msg_${messages.id(subject)}`,
    blocked: () => identities.id(subject),
  }[kind]()
  return { kind, id, position, at, reason }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  request.setEncoding('utf8')
  for await (const piece of request) {
    text += piece
    if (text.length > bodyBytesMax) return ''
  }
  return text
}

const notJson = 'The body is not JSON.'

function parsed(body: string): Record<string, unknown> | null {
  try {
    return JSON.parse(body) ?? {}
  } catch {
    return null
  }
}

/** The request, or the reason of its refusal. */
function parse(command: ModerationCommand, body: string): About | string {
  const sent = parsed(body)
  if (sent === null) return notJson
  const { id, reason = '' } = sent
  const subject = subjectOf(command, `${id}`)
  if (subject.unusable !== null) return `${command} ${subject.unusable}`
  return typeof reason === 'string' && isReason(reason) ? { subject, reason } : reasonRule
}

/**
 * The operator's way to moderate a running node.
 * Runs a command; resolves when its outcome is durable.
 */
export function moderate(
  forum: Forum,
  gate: Gate,
  command: ModerationCommand,
  about: Moderating,
): Promise<ModerationOutcome> {
  // A follower repeats what the leader records; it records nothing itself.
  if (forum.isFollower) return Promise.resolve({ rejected: 'no_leader' })
  const outcome = moderationCommands[command](forum, about)
  return outcome instanceof Promise
    ? outcome.then((later) => durable(forum, gate, later))
    : durable(forum, gate, outcome)
}

/** Runs a command about access; resolves when its outcome is durable. */
export function administer<T extends Positioned>(
  forum: Forum,
  gate: Gate,
  run: (forum: Forum) => T | Rejection,
): Promise<T | Rejection> {
  if (forum.isFollower) return Promise.resolve({ rejected: 'no_leader' })
  return durable(forum, gate, run(forum))
}

function durable<T extends Positioned>(
  { journal }: Forum,
  gate: Gate,
  outcome: T | Rejection,
): Promise<T | Rejection> {
  const { position = 0 } = outcome
  if (position <= journal.durable) {
    return Promise.resolve(gate.mayDecide ? outcome : { rejected: 'no_leader' })
  }
  return new Promise((resolve) => {
    gate.keep(position, (failure) => {
      resolve(failure === null ? outcome : { rejected: failure })
    })
  })
}

interface AdminOptions {
  config: { data: string }
  log: Logger
  environment: { disk?: unknown }
  checkpoints: CheckpointSchedule
  /** Whether every reader has applied the record at this position. */
  readers: { haveApplied(position: number): boolean } | null
  /** Whether the index has lost the text that was removed at this position; null: no index. */
  search: { isGone(position: number): boolean } | null
}

export type Admin = Omit<Administered, 'state'> & { stop(): void }

/** Starts the socket, unless the disk is simulated. */
export function startAdmin(
  forum: Forum,
  gate: Gate,
  { config, log, environment, checkpoints, readers, search }: AdminOptions,
): Admin {
  const erasure = (position: number) => {
    const erased = checkpoints.erasure(position)
    const haveApplied = readers?.haveApplied(position) ?? true
    const isGone = search?.isGone(position) ?? true
    return { ...erased, is_gone: erased.is_gone && haveApplied && isGone }
  }
  const administered: Administered = {
    state: forum.state,
    invitations: () => listInvitations(forum),
    administer: (run) => administer(forum, gate, run),
    moderate: (command, about) => moderate(forum, gate, command, about),
    erasure,
  }
  const stop = environment.disk ? () => {} : serveAdmin(config.data, administered, log)
  return { ...administered, stop }
}
