// Changing the tags of a thread, which its author may do. docs/interface.md, "Tags".

import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { rejectLocked } from '../threads/commands.ts'
import { admit, commit } from '../write.ts'

export interface Tagging {
  caller: number
  threadId: string
  /** At most eight, each once. */
  tags: readonly string[]
}

/** Replaces the tags. A command that changes nothing makes no record. */
export function tagThread(
  forum: Forum,
  { caller, threadId, tags }: Tagging,
): Positioned | Rejection {
  const { state } = forum
  const thread = state.visibleThread(caller, threadId)
  if (thread === -1) return { rejected: 'not_found' }
  const { author, changedPosition } = state.threads.actors.columns
  const position = changedPosition.get(thread)
  if (author.get(thread) !== caller) return { rejected: 'not_author', position }
  if (`${state.tags.of(thread)}` === `${tags}`) return { position }
  if (!state.threads.actors.may(thread, { type: 'tagged', position })) {
    return rejectLocked(state, thread)
  }
  const permit = admit(forum, 'changes', { caller, address: '' })
  if (isRejection(permit)) return permit
  const record = { type: 'thread.tagged', at: permit.at, by: caller, thread, tags } as const
  return { position: commit(forum, permit, record) }
}
