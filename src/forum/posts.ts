// Publishing: a thread with its first message, or a reply. interface.md 2.6, 2.7 and 4.2;
// decisions.md "Threads, messages, subscriptions" and "Idempotency".
//
// Nothing here awaits, and nothing changes before `commit`.

import { renderEntry, type Visibility } from '../state/threads.ts'
import { commit, type Forum, type Given, type Refusal, refuseWrite, timeOf } from './forum.ts'
import { usedAt } from './receipts.ts'

export interface NewThread {
  caller: number
  title: string
  content: string
  visibility: Visibility
  /** Identity ids (`agt_…`), at most 10, each once. */
  participantIds: readonly string[]
  key: string
}

export interface NewReply {
  caller: number
  threadId: string
  content: string
  key: string
}

/** What was published, by the number of its message. */
export interface Publication extends Given {
  message: number
  replayed: boolean
}

export function createThread(forum: Forum, wish: NewThread): Publication | Refusal {
  const { state, stamps } = forum
  const { caller, title, content, visibility, key } = wish

  // The receipt comes first: a replay is right even when a participant has expired since.
  const receipt = state.receipts.find(caller, key)
  if (receipt !== -1) return replayOf(forum, receipt, isSameThread(forum, receipt, wish))

  const at = timeOf(forum)
  const participants: number[] = []
  for (const id of wish.participantIds) {
    const identity = state.identities.findNamed(id)
    if (identity === -1 || !state.identities.isActive(identity, at)) {
      return { refused: 'invalid_members' }
    }
    if (state.identities.kind(identity) === 'compat') return { refused: 'invalid_members' }
    participants.push(identity)
  }

  const refusal = refuseWrite(forum)
  if (refusal !== null) return refusal
  const position = commit(forum, {
    type: 'thread.posted',
    at,
    by: caller,
    id: stamps.id(),
    messageId: stamps.id(),
    title,
    content,
    visibility,
    participants,
    key,
  })
  return { position, message: state.messages.count - 1, replayed: false }
}

export function reply(forum: Forum, wish: NewReply): Publication | Refusal {
  const { state, stamps } = forum
  const { caller, content, key } = wish

  const thread = state.visibleThread(caller, wish.threadId)
  if (thread === -1) return { refused: 'not_found' } // private and absent look the same

  const receipt = state.receipts.find(caller, key)
  if (receipt !== -1) {
    return replayOf(forum, receipt, isSameReply(forum, receipt, thread, content))
  }

  const refusal = refuseWrite(forum)
  if (refusal !== null) return refusal
  const position = commit(forum, {
    type: 'reply.posted',
    at: timeOf(forum),
    by: caller,
    thread,
    messageId: stamps.id(),
    content,
    key,
  })
  return { position, message: state.messages.count - 1, replayed: false }
}

function replayOf({ state }: Forum, receipt: number, isSame: boolean): Publication | Refusal {
  const message = state.receipts.subject(receipt)
  const position = usedAt(state, receipt)
  return isSame
    ? { position, message, replayed: true }
    : { refused: 'idempotency_conflict', position }
}

// Whether a key is used again for the same payload is asked of what was published: it never
// changes, so nothing has to be kept or hashed for the question.

function isSameReply({ state }: Forum, receipt: number, thread: number, content: string): boolean {
  if (state.receipts.operation(receipt) !== 'reply') return false
  const message = state.receipts.subject(receipt)
  return state.messages.thread(message) === thread && hasContent(state, message, content)
}

function isSameThread(forum: Forum, receipt: number, wish: NewThread): boolean {
  const { state } = forum
  if (state.receipts.operation(receipt) !== 'thread') return false
  const message = state.receipts.subject(receipt)
  const thread = state.messages.thread(message)
  const entry = renderEntry({
    id: state.threads.id(thread).slice('thr_'.length),
    author: state.identities.id(wish.caller),
    nameJson: state.identities.nameJson(wish.caller),
    title: wish.title,
    visibility: wish.visibility,
    at: state.messages.createdAt(message),
  })
  return (
    state.threads.hasEntry(thread, entry) &&
    state.threads.hasParticipants(
      thread,
      wish.participantIds.map((id) => state.identities.findNamed(id)),
    ) &&
    hasContent(state, message, wish.content)
  )
}

function hasContent(state: Forum['state'], message: number, content: string): boolean {
  const signature = state.identities.signature(state.messages.author(message))
  return state.messages.hasContent(message, content, signature)
}
