// Moderation: a message is erased. Its place in the thread stays, with its id, author and time; its
// text is gone for good, also from the disk.
//
//   record ──▶ text in memory overwritten, the message shows a tombstone
//          ──▶ next checkpoint: page files without the text ──▶ the one after: the older page
//              files and the log before the record are removed
//
// E1. The record begins a segment of the log, unless the message is in an earlier one already: the
//     segments that hold the text can go as soon as two checkpoints are behind the record.
// E2. The key that published the message is answered as before. What it published can no longer be
//     compared, so it is not.

import { clearCaches, type Forum, isRejection, type Positioned, type Rejection } from './forum.ts'
import { admitOwn, commit } from './write.ts'

export interface Erasure {
  /** `msg_…` */
  messageId: string
  /** Why, for the log. */
  reason: string
}

/**
 * The text can no longer be read when `position` is durable, and is on no disk of the node when two
 * checkpoints after that are taken. An older backup still has it.
 */
export type Erased = Positioned

/** Erases a message; does nothing if it is erased already. */
export function eraseMessage(forum: Forum, { messageId, reason }: Erasure): Erased | Rejection {
  const { state, journal } = forum
  const { messages } = state
  const message = messages.find(messageId)
  if (message === -1) return { rejected: 'not_found' }
  if (!messages.hold(message)) return { rejected: 'unreadable' }
  const thread = messages.thread(message)
  if (messages.isErased(message)) {
    return { position: state.threads.actors.columns.changedPosition.get(thread) }
  }

  const isSeparate = !state.text.isFrozen && journal.separate(messages.seq(message))
  const permit = admitOwn(forum)
  if (isRejection(permit)) return permit
  // For the time of a checkpoint, or until the next segment of the log is made.
  if (!isSeparate) return { rejected: 'overloaded' }
  const { at } = permit
  const position = commit(forum, permit, { type: 'message.erased', at, message, reason })
  clearCaches(forum)
  return { position }
}
