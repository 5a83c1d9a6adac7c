// Moderation: what operators do, through the socket of operators/admin/socket.ts. A locked thread
// accepts no replies; a blocked identity's token is refused; both acts can be undone. A message is
// removed for good: its place in the thread remains, with its id, author and time, and its text is
// erased, also from the disk.
//
//   record ──▶ text in memory overwritten, the message shows a tombstone
//          ──▶ next checkpoint: page files without the text ──▶ the one after: the older page
//              files and the log before the record are removed
//
// E1. The record begins a segment of the log, unless the message is in an earlier segment anyway,
//     so that the segments with the text can go as soon as two checkpoints follow the record.
// E2. A retry with the key that published the message is answered as before. Its payload is not
//     compared, because what was published is gone.
// E3. A command that changes nothing, because its act is in effect already, makes no record.

import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import { ownWork } from '../../kernel/sliced-work.ts'
import type { Forum, Positioned } from '../forum.ts'
import type { ForumRecord } from '../records.ts'
import { admitOwn, commit } from '../write.ts'
import type { Act } from './table.ts'

/** The number of message ids that are compared in one event-loop iteration, in about 1 ms. */
const idsPerSlice = 1 << 18

export interface Moderating {
  /** `thr_…`, `msg_…` or `agt_…`. */
  id: string
  /** The reason, for the log and for the list of acts; may be empty. */
  reason: string
}

export interface Moderated extends Positioned {
  /** False if there was nothing to change, so that nothing was done. */
  isNew: boolean
  /** The act that is in effect now, or null after one was undone. */
  act: Act | null
}

export type ModerationOutcome = Moderated | Rejection
type Command = (forum: Forum, command: Moderating) => ModerationOutcome | Promise<ModerationOutcome>

/** All commands, by the names that operators use. */
export const moderationCommands = {
  'lock-thread': lockThread,
  'unlock-thread': unlockThread,
  'remove-message': eraseMessage,
  'block-identity': blockIdentity,
  'unblock-identity': unblockIdentity,
} as const satisfies Record<string, Command>

export type ModerationCommand = keyof typeof moderationCommands

const notFound: Rejection = { rejected: 'not_found' }

export function lockThread(forum: Forum, { id, reason }: Moderating): ModerationOutcome {
  const thread = findThread(forum, id)
  if (thread === -1) return notFound
  const { threads, moderation } = forum.state
  const act = () => moderation.find('locked', thread) ?? null
  const position = threads.actors.columns.changedPosition.get(thread)
  if (threads.isLocked(thread)) return { position, isNew: false, act: act() }
  return done(forum, act, (at) => ({ type: 'thread.locked', at, thread, reason }))
}

export function unlockThread(forum: Forum, { id, reason }: Moderating): ModerationOutcome {
  const thread = findThread(forum, id)
  if (thread === -1) return notFound
  const { actors } = forum.state.threads
  const position = actors.columns.changedPosition.get(thread)
  if (!actors.may(thread, { type: 'unlocked', position })) {
    return { position, isNew: false, act: null }
  }
  return done(forum, noAct, (at) => ({ type: 'thread.unlocked', at, thread, reason }))
}

export function blockIdentity(forum: Forum, { id, reason }: Moderating): ModerationOutcome {
  const { identities, moderation, position } = forum.state
  const identity = identities.findNamed(id)
  if (identity === -1) return notFound
  const act = () => moderation.find('blocked', identity) ?? null
  if (identities.isBlocked(identity)) return { position, isNew: false, act: act() }
  if (!identities.actors.may(identity, { type: 'blocked' })) {
    const isCompat = identities.kind(identity) === 'compat'
    const why = isCompat ? 'was made for one message published by GET' : 'has expired'
    return { ...notFound, position, detail: `${id} ${why}, so it has no valid token.` }
  }
  return done(forum, act, (at) => ({ type: 'identity.blocked', at, identity, reason }))
}

export function unblockIdentity(forum: Forum, { id, reason }: Moderating): ModerationOutcome {
  const { identities, position } = forum.state
  const identity = identities.findNamed(id)
  if (identity === -1) return notFound
  if (!identities.isBlocked(identity)) return { position, isNew: false, act: null }
  return done(forum, noAct, (at) => ({ type: 'identity.unblocked', at, identity, reason }))
}

/**
 * Erases a message. Its text can no longer be read once `position` is durable, and is on no disk of
 * the node once two checkpoints have been taken after the act. An older backup still has it.
 * Rejects as `overloaded` while a checkpoint is being taken, or until the next segment of the log
 * is made.
 */
export function eraseMessage(
  forum: Forum,
  { id, reason }: Moderating,
): ModerationOutcome | Promise<ModerationOutcome> {
  const { messages } = forum.state
  let from = 0
  const slice = (): ModerationOutcome | null => {
    const message = messages.find(id, from, from + idsPerSlice)
    from += idsPerSlice
    if (message !== -1) return eraseFound(forum, message, reason)
    return from < messages.count ? null : notFound
  }
  return slice() ?? forum.slicedWork.add(ownWork, slice)
}

function eraseFound(forum: Forum, message: number, reason: string): ModerationOutcome {
  const { state, journal } = forum
  const { messages, moderation } = state
  if (state.isGone(message)) return notFound
  if (!messages.hold(message)) return { rejected: 'unreadable' }
  const act = () => moderation.find('removed', message) ?? null
  if (messages.isErased(message)) {
    const { changedPosition } = state.threads.actors.columns
    const position = changedPosition.get(messages.thread(message))
    return { position, isNew: false, act: act() }
  }
  const isSeparate = !state.text.isFrozen && journal.separate(messages.seq(message))
  const permit = admitOwn(forum)
  if (isRejection(permit)) return permit
  if (!isSeparate) return { rejected: 'overloaded' }
  const { at } = permit
  const position = commit(forum, permit, { type: 'message.erased', at, message, reason })
  return { position, isNew: true, act: act() }
}

const noAct = () => null

function done(
  forum: Forum,
  act: () => Act | null,
  record: (at: number) => ForumRecord,
): ModerationOutcome {
  const permit = admitOwn(forum)
  if (isRejection(permit)) return permit
  const position = commit(forum, permit, record(permit.at))
  return { position, isNew: true, act: act() }
}

function findThread({ state }: Forum, id: string): number {
  return /^thr_[0-9a-f]{32}$/.test(id) ? state.threads.find(id, 'thr_'.length) : -1
}
