// Publishing: a thread with its first message, or a reply. docs/interface.md, "Threads
// and messages" and "Idempotency".
//
// Nothing here awaits, and nothing changes before `commit`.

import { timeOf } from '../../kernel/clock.ts'
import { detailsOf } from '../../kernel/receipts.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import { rejectLost } from '../claims/commands.ts'
import type { Forum, Positioned } from '../forum.ts'
import { rejectNamed } from '../identities/commands.ts'
import type { State } from '../state.ts'
import { admit, commit, replayOf } from '../write.ts'
import type { Visibility } from './machine.ts'
import type { MessageContent } from './messages.ts'
import { countUnseen } from './queries.ts'
import { detailsOfThread } from './records.ts'
import { renderEntry } from './table.ts'

/** A message to be published. It mentions at most 10 identities, each once. */
interface NewMessage extends MessageContent {
  caller: number
  key: string
  /** The caller's address, or '' if no limit needs it. */
  address: string
}

export interface NewThread extends NewMessage {
  title: string
  visibility: Visibility
  /** Identity ids (`agt_…`), at most 10, each once. */
  participantIds: readonly string[]
  /** At most eight, each once. */
  tags?: readonly string[]
  /** How long the thread lives after its newest message; by default without end. */
  ttlSeconds?: number | undefined
}

export interface NewReply extends NewMessage {
  threadId: string
  /** The reply is rejected if the thread has a newer message than this. */
  expectSeq?: number | undefined
  /** The newest message that the caller has seen. */
  seenSeq?: number | undefined
  /** The reply is rejected unless the caller holds the claim of the thread with this fence. */
  fence?: number | undefined
}

/** The result of publishing: the number of the message. */
export interface Publication extends Positioned {
  message: number
  replayed: boolean
  /** The number of messages by others between `seenSeq` and this one (`countUnseen`). */
  unseen?: number
}

export function createThread(forum: Forum, command: NewThread): Publication | Rejection {
  const { state, stamps } = forum
  const { caller, title, content, type = '', visibility, tags = [], ttlSeconds = 0, key } = command

  // The receipt is checked first: a replay succeeds even if a participant has expired since.
  const receipt = state.receipts.find(caller, key)
  if (receipt !== -1) {
    const isSame = state.receipts.details(receipt) === detailsOfThread(command)
    return replayMessage(state, receipt, isSame && isSameThread(forum, receipt, command))
  }

  const at = timeOf(forum)
  const participants: number[] = []
  for (const id of command.participantIds) {
    const identity = state.identities.findNamed(id)
    if (identity === -1 || !state.identities.mayAct(identity, at)) {
      return rejectNamed(forum, 'invalid_members', identity)
    }
    participants.push(identity)
  }
  const isPublic = visibility === 'public'
  const maySee = (identity: number) =>
    isPublic || identity === caller || participants.includes(identity)
  const mentions = findMentioned(forum, command, maySee)
  if (isRejection(mentions)) return mentions

  const permit = admit(forum, 'messages', command, mentions.length)
  if (isRejection(permit)) return permit
  const position = commit(forum, permit, {
    type: 'thread.posted',
    at: permit.at,
    by: caller,
    id: stamps.id(),
    messageId: stamps.id(),
    title,
    escapedContent: JSON.stringify(content),
    visibility,
    participants,
    key,
    client: permit.client,
    mentions,
    messageType: type,
    tags,
    ttlSeconds,
  })
  return { position, message: state.messages.count - 1, replayed: false }
}

export function reply(forum: Forum, command: NewReply): Publication | Rejection {
  const published = publishReply(forum, command)
  const { seenSeq } = command
  if (isRejection(published) || seenSeq === undefined) return published
  return { ...published, unseen: countUnseen(forum.state, published.message, seenSeq) }
}

function publishReply(forum: Forum, command: NewReply): Publication | Rejection {
  const { state, stamps } = forum
  const { caller, content, type = '', key, expectSeq, seenSeq, fence } = command
  const details = detailsOf({ expectSeq, seenSeq, fence })

  const thread = state.visibleThread(caller, command.threadId)
  if (thread === -1) return { rejected: 'not_found' } // private and absent look the same

  const receipt = state.receipts.find(caller, key)
  if (receipt !== -1) {
    const isSame = state.receipts.details(receipt) === details
    return replayMessage(state, receipt, isSame && isSameReply(forum, receipt, thread, command))
  }
  if (!state.threads.mayReply(thread)) return rejectLocked(state, thread)
  const maySee = (identity: number) => state.maySee(identity, thread)
  const mentions = findMentioned(forum, command, maySee)
  if (isRejection(mentions)) return mentions
  const lost = fence === undefined ? null : rejectLost(forum, thread, { caller, fence })
  if (lost !== null) return lost
  const newest = state.threads.actors.columns.newestPosition.get(thread)
  if (expectSeq !== undefined && newest > expectSeq) {
    const detail = `The thread has a newer message than ${expectSeq}: its seq is ${newest}.`
    const fields = { newest_seq: newest }
    return { rejected: 'thread_changed', position: newest, detail, fields }
  }

  const permit = admit(forum, 'messages', command, mentions.length)
  if (isRejection(permit)) return permit
  const position = commit(forum, permit, {
    type: 'reply.posted',
    at: permit.at,
    by: caller,
    thread,
    messageId: stamps.id(),
    escapedContent: JSON.stringify(content),
    key,
    client: permit.client,
    mentions,
    details,
    messageType: type,
  })
  return { position, message: state.messages.count - 1, replayed: false }
}

/** Returns the identities that the message mentions. Rejects unless all can act and may see it. */
function findMentioned(
  forum: Forum,
  { mentionIds = [] }: MessageContent,
  maySee: (identity: number) => boolean,
): number[] | Rejection {
  const { identities } = forum.state
  const mentioned: number[] = []
  for (const id of mentionIds) {
    const identity = identities.findNamed(id)
    const isActive = identity !== -1 && identities.mayAct(identity, timeOf(forum))
    if (!isActive || !maySee(identity)) return rejectNamed(forum, 'invalid_mentions', identity)
    mentioned.push(identity)
  }
  return mentioned
}

export function rejectLocked({ threads }: State, thread: number): Rejection {
  const position = threads.actors.columns.changedPosition.get(thread)
  return { rejected: 'thread_locked', position }
}

function replayMessage(state: State, receipt: number, isSame: boolean): Publication | Rejection {
  return replayOf(state, receipt, isSame, { message: state.receipts.subject(receipt) })
}

// A payload that is sent again with the same key is compared with what was published, which never
// changes, so no copy or hash of the payload has to be kept.

function isSameReply(
  { state }: Forum,
  receipt: number,
  thread: number,
  command: NewReply,
): boolean {
  if (state.receipts.operation(receipt) !== 'reply') return false
  return isReply(state, state.receipts.subject(receipt), thread, command)
}

function isSameThread({ state }: Forum, receipt: number, command: NewThread): boolean {
  if (state.receipts.operation(receipt) !== 'thread') return false
  return isThread(state, state.receipts.subject(receipt), command)
}

export function isReply(
  state: State,
  message: number,
  thread: number,
  content: MessageContent,
): boolean {
  return state.messages.thread(message) === thread && isSame(state, message, content)
}

/**
 * Returns whether the message and the thread it began are as this command would create them. What
 * a thread said that has expired is unknown: it counts as the same.
 */
export function isThread(
  state: State,
  message: number,
  command: MessageContent & Pick<NewThread, 'title' | 'visibility' | 'participantIds'>,
): boolean {
  const thread = state.messages.thread(message)
  if (state.threads.isExpired(thread)) {
    return state.threads.actors.columns.firstPosition.get(thread) === state.messages.seq(message)
  }
  const author = state.messages.author(message)
  const entry = renderEntry({
    ...command,
    id: state.threads.hex(thread),
    author: state.identities.id(author),
    nameJson: state.identities.nameJson(author),
    at: state.messages.createdAt(message),
  })
  return (
    state.threads.hasEntry(thread, entry) &&
    state.threads.hasParticipants(
      thread,
      command.participantIds.map((id) => state.identities.findNamed(id)),
    ) &&
    isSame(state, message, command)
  )
}

function isSame(
  { messages, identities }: State,
  message: number,
  content: MessageContent,
): boolean {
  return messages.isSame(message, identities.signature(messages.author(message)), content)
}
