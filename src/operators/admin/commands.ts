// The operators' commands, as the socket and the operators' port run them. protocol.ts describes
// the fields and the answer of each.

import type { Subject } from '../../base/named-subjects.ts'
import { partition } from '../../base/partition.ts'
import { writePage } from '../../edge/api/item-page.ts'
import type { Gate, GateFailure } from '../../edge/http/gate.ts'
import type { Erasure } from '../../engine/storage/checkpoints.ts'
import type { Forum, Positioned } from '../../forum/forum.ts'
import type { Invitation } from '../../forum/invitations/table.ts'
import {
  type Moderating,
  type ModerationCommand,
  type ModerationOutcome,
  moderationCommands,
} from '../../forum/moderation/commands.ts'
import type { Act } from '../../forum/moderation/table.ts'
import type { State } from '../../forum/state.ts'
import { type ErrorKind, errors, isRejection, type Rejection } from '../../kernel/rejection.ts'
import { ownWork } from '../../kernel/sliced-work.ts'
import { type AccessAnswer, type Administer, answerAccess, isAccessCommand } from './access.ts'
import {
  type ActJson,
  type ActsPage,
  type Done,
  type ErrorJson,
  isReason,
  type MessageJson,
  reasonRule,
  subjectOf,
} from './protocol.ts'

const actsOnPage = 500

/** The parts of a node that the operators' commands use. */
export interface Administered {
  state: State
  invitations(): Invitation[]
  administer: Administer
  moderate(command: ModerationCommand, about: Moderating): Promise<ModerationOutcome>
  erasure(position: number): Erasure
  /** Resolves with the number of the message with this id, or -1. */
  findMessage(id: string): Promise<number | Rejection>
  /** The identities whose writes rate limits refuse (forum/write.ts). */
  refusedCallers: Forum['refusedCallers']
  /** Resolves with the text of the message with this number. */
  textOf(message: number): Promise<string | Rejection>
  /**
   * Resolves with null when everything that the state has now is durable, or with a rejection when
   * it cannot become so. Nothing of the state is shown before.
   */
  whenDurable(): Promise<Rejection | null>
}

/** The answer to a command: its HTTP status and its body. */
export type Answer = [status: number, body: Done | AccessAnswer | ErrorJson]

/** Returns whether `runCommand` knows a command of this name. */
export function isCommand(name: string): boolean {
  return isAccessCommand(name) || isModeration(name)
}

function isModeration(name: string): name is ModerationCommand {
  return Object.hasOwn(moderationCommands, name)
}

/** Runs a command by name with the fields that were sent. Resolves when its outcome is durable. */
export async function runCommand(
  node: Administered,
  name: string,
  sent: Record<string, unknown>,
): Promise<Answer> {
  if (isAccessCommand(name)) {
    const answer = await answerAccess(node.administer, name, sent)
    if (typeof answer === 'string') return unusable(answer)
    return isRejection(answer) ? refusal(answer) : [200, answer]
  }
  if (!isModeration(name)) {
    return [404, { error: 'invalid_request', message: `There is no command ${name}.` }]
  }
  const command = name
  const { reason = '' } = sent
  const subject = subjectOf(command, `${sent.id}`)
  if (subject.unusable !== null) return unusable(`${command} ${subject.unusable}`)
  if (typeof reason !== 'string' || !isReason(reason)) return unusable(reasonRule)
  const id = subject.id || idOf(node.state, subject)
  if (typeof id !== 'string') return refusal(id)
  const outcome = await node.moderate(command, { id, reason })
  return isRejection(outcome) ? refusal(outcome) : [200, done(node.state, id, outcome)]
}

/** Returns the answer to a request that cannot be used, for the reason in `message`. */
export function unusable(message: string): [status: number, body: ErrorJson] {
  return [400, { error: 'invalid_request', message }]
}

/** Returns the id of the message with this number, which must be in `thread` unless that is ''. */
export function idOf({ messages, threads }: State, { seq, thread }: Subject): string | Rejection {
  const message = partition(messages.count, (each) => messages.seq(each) < seq)
  if (message === messages.count || messages.seq(message) !== seq) {
    return { rejected: 'not_found', detail: `there is no message #${seq}` }
  }
  const its = threads.id(messages.thread(message))
  if (thread === '' || thread === its) return `msg_${messages.id(message)}`
  // After a restore from a backup, numbers are assigned a second time.
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

export function refusal({ rejected, detail }: Rejection): [status: number, body: ErrorJson] {
  const { status }: ErrorKind = errors[rejected]
  return [status, { error: rejected, ...(detail !== undefined && { message: detail }) }]
}

export function actsPage(state: State, after: number): ActsPage {
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

/**
 * Resolves with the text of a message, which is read from disk if necessary, as for any request; or
 * with `not_found` if its thread has expired.
 */
export function textOf(forum: Forum, message: number): Promise<string | Rejection> {
  const { page, state, coldReads } = forum
  const items = { name: 'items', entries: state.messages, shown: [message] }
  const parking = { caller: ownWork, connection: { isGone: false }, bodyBytes: 0 }
  return new Promise((resolve) => {
    const read = () => {
      if (state.isGone(message)) return resolve({ rejected: 'not_found' })
      const bytes = writePage(page, null, items, '"next":0')
      if (!coldReads.isNeeded) return resolve(JSON.parse(`${Buffer.from(bytes)}`).items[0].content)
      coldReads.park(parking, (parked) => {
        if ('rejected' in parked) resolve(parked)
        else coldReads.runAgain(parked, read)
      })
    }
    read()
  })
}

/** Runs a moderation command on a running node. Resolves when its outcome is durable. */
export function moderate(
  forum: Forum,
  gate: Gate,
  command: ModerationCommand,
  about: Moderating,
): Promise<ModerationOutcome> {
  if (forum.isFollower) return Promise.resolve(refusedByFollower(forum))
  const outcome = moderationCommands[command](forum, about)
  return outcome instanceof Promise
    ? outcome.then((later) => durable(forum, gate, later))
    : durable(forum, gate, outcome)
}

/** Runs a command about access. Resolves when its outcome is durable. */
export function administer<T extends Positioned>(
  forum: Forum,
  gate: Gate,
  run: (forum: Forum) => T | Rejection,
): Promise<T | Rejection> {
  if (forum.isFollower) return Promise.resolve(refusedByFollower(forum))
  return durable(forum, gate, run(forum))
}

/** A follower applies what the leader records, and records nothing itself. */
function refusedByFollower({ state: { term } }: Forum): Rejection {
  const detail = `this node follows node ${term.node}, the leader of term ${term.number}`
  return { rejected: 'no_leader', detail: `${detail}; run the command there` }
}

async function durable<T extends Positioned>(
  forum: Forum,
  gate: Gate,
  outcome: T | Rejection,
): Promise<T | Rejection> {
  const { position = 0 } = outcome
  if (position <= forum.journal.durable && !gate.mayDecide) return { rejected: 'no_leader' }
  return (await whenDurable(forum, gate, position)) ?? outcome
}

/** Resolves with null when the position is durable, or with a rejection if it may be lost. */
export async function whenDurable(
  { journal }: Forum,
  gate: Gate,
  position: number,
): Promise<Rejection | null> {
  if (position <= journal.durable) return null
  const failure = await new Promise<GateFailure | null>((resolve) => gate.keep(position, resolve))
  return failure === null ? null : { rejected: failure }
}
