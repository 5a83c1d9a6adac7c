// Records of moderation: the acts of operators on threads, messages and identities.

import { kind, type Timed } from '../../kernel/record.ts'
import { feedTopic } from '../../kernel/topics.ts'
import { releaseClaimsOf } from '../claims/records.ts'
import type { State } from '../state.ts'
import type { ActKind } from './table.ts'

interface Reasoned extends Timed {
  /** The operator's reason, or '' if none was given. */
  reason: string
}

export interface MessageErased extends Reasoned {
  type: 'message.erased'
  message: number
}

/** The thread accepts no replies until it is unlocked. */
export interface ThreadLocked extends Reasoned {
  type: 'thread.locked'
  thread: number
}

export interface ThreadUnlocked extends Reasoned {
  type: 'thread.unlocked'
  thread: number
}

/** The identity's token is refused, and its webhook is not called, until it is unblocked. */
export interface IdentityBlocked extends Reasoned {
  type: 'identity.blocked'
  identity: number
}

export interface IdentityUnblocked extends Reasoned {
  type: 'identity.unblocked'
  identity: number
}

export const moderationRecords = {
  'message.erased': kind<MessageErased>({
    code: 40,
    version: 1,
    fields: { message: true, reason: true },
    apply(state, position, record) {
      const { message } = record
      const thread = state.messages.thread(message)
      state.threads.actors.tell(thread, { type: 'erased', position })
      const author = state.messages.author(message)
      state.messages.erase(message, state.identities.signature(author))
      state.erasedPosition = position
      addAct(state, position, 'removed', message, record)
    },
  }),

  'thread.locked': kind<ThreadLocked>({
    code: 41,
    version: 1,
    fields: { thread: true, reason: true },
    apply(state, position, record) {
      state.threads.actors.tell(record.thread, { type: 'locked', position })
      addAct(state, position, 'locked', record.thread, record)
    },
  }),

  'thread.unlocked': kind<ThreadUnlocked>({
    code: 42,
    version: 1,
    fields: { thread: true, reason: true },
    apply(state, position, { thread }) {
      state.threads.actors.tell(thread, { type: 'unlocked', position })
      state.moderation.delete('locked', thread)
    },
  }),

  'identity.blocked': kind<IdentityBlocked>({
    code: 43,
    version: 1,
    fields: { identity: true, reason: true },
    apply(state, position, record) {
      const { identity } = record
      state.identities.actors.tell(identity, { type: 'blocked' })
      releaseClaimsOf(state, position, identity)
      addAct(state, position, 'blocked', identity, record)
      state.onNews(feedTopic(identity)) // to refuse its waiting polls
    },
  }),

  'identity.unblocked': kind<IdentityUnblocked>({
    code: 44,
    version: 1,
    fields: { identity: true, reason: true },
    apply(state, position, { identity }) {
      state.identities.actors.tell(identity, { type: 'unblocked' })
      state.webhooks.skipTo(identity, position)
      state.moderation.delete('blocked', identity)
    },
  }),
}

function addAct(
  { moderation }: State,
  position: number,
  kind: ActKind,
  subject: number,
  { at, reason }: Reasoned,
): void {
  moderation.add({ kind, subject, position, at, reason })
}
