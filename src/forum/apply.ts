// What each record does to the state. The only code that changes it, while serving and at recovery:
// live traffic and the replay of the log go through the same function.
//
// It cannot say no: a record is in the log, so it has happened.

import type { State } from '../state/state.ts'
import { renderEntry } from '../state/threads.ts'
import type {
  ForumRecord,
  GuestsExpired,
  IdentityCreated,
  ReplyPosted,
  ThreadPosted,
} from './records.ts'

export function apply(state: State, position: number, record: ForumRecord): void {
  state.position = position
  state.now = record.at
  switch (record.type) {
    case 'reply.posted':
      return replyPosted(state, position, record)
    case 'thread.posted':
      return threadPosted(state, position, record)
    case 'identity.created':
      return identityCreated(state, position, record)
    case 'thread.subscribed':
      return subscribe(state, record.by, record.thread, position)
    case 'thread.unsubscribed':
      return unsubscribe(state, record.by, record.thread, position)
    case 'guests.expired':
      return guestsExpired(state, record)
  }
}

function identityCreated(state: State, position: number, record: IdentityCreated): void {
  const { id, kind, displayName, tokenDigest, at, expiresAt } = record
  const identity = state.identities.add(id, tokenDigest, kind, displayName)
  state.identities.actors.step(identity, { type: 'created', kind, at, expiresAt, position })
  state.subscriptions.addIdentity()
  state.privateThreads.add()
}

function guestsExpired(state: State, { before, at }: GuestsExpired): void {
  for (let identity = state.guestsExpired; identity < before; identity++) {
    state.identities.actors.step(identity, { type: 'expired', at })
  }
  state.guestsExpired = before
}

function threadPosted(state: State, position: number, record: ThreadPosted): void {
  const { by, id, title, visibility, participants, at } = record
  const entry = renderEntry({
    id,
    author: state.identities.id(by),
    nameJson: state.identities.nameJson(by),
    title,
    visibility,
    at,
  })
  const thread = state.threads.add(id, entry, visibility, participants)
  state.threads.actors.step(thread, { type: 'created', at, position, author: by, visibility })

  const members = new Set([by, ...participants])
  for (const member of members) {
    subscribe(state, member, thread, position)
    if (visibility === 'private') state.privateThreads.push(member, thread)
  }
  const message = addMessage(state, position, thread, record)
  state.receipts.add(by, record.key, 'thread', message, at)
}

function replyPosted(state: State, position: number, record: ReplyPosted): void {
  const { by, thread, at } = record
  state.threads.actors.step(thread, { type: 'replied', position })
  subscribe(state, by, thread, position)
  const message = addMessage(state, position, thread, record)
  state.receipts.add(by, record.key, 'reply', message, at)
}

function addMessage(
  state: State,
  seq: number,
  thread: number,
  { by, messageId, content, at }: ThreadPosted | ReplyPosted,
): number {
  const signature = state.identities.signature(by)
  const message = state.messages.add({
    id: messageId,
    seq,
    author: by,
    signature,
    thread,
    content,
    at,
  })
  state.threads.addMessage(thread, message)
  return message
}

function subscribe(state: State, identity: number, thread: number, position: number): void {
  if (!state.subscriptions.subscribe(identity, thread, position)) return
  state.identities.actors.step(identity, { type: 'followed', position })
}

function unsubscribe(state: State, identity: number, thread: number, position: number): void {
  if (!state.subscriptions.unsubscribe(identity, thread, position)) return
  state.identities.actors.step(identity, { type: 'unfollowed', position })
}
