// Records of moderation: the acts of operators on threads, messages and identities.

import { kind, number, text } from '../../kernel/record.ts'
import { feedTopic } from '../../kernel/topics.ts'
import { releaseClaimsOf } from '../claims/records.ts'
import type { State } from '../state.ts'
import type { ActKind } from './table.ts'

export const moderationRecords = {
  'message.erased': kind({
    code: 40,
    version: 1,
    fields: { message: number, reason: text },
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

  /** The thread accepts no replies until it is unlocked. */
  'thread.locked': kind({
    code: 41,
    version: 1,
    fields: { thread: number, reason: text },
    apply(state, position, record) {
      state.threads.actors.tell(record.thread, { type: 'locked', position })
      addAct(state, position, 'locked', record.thread, record)
    },
  }),

  'thread.unlocked': kind({
    code: 42,
    version: 1,
    fields: { thread: number, reason: text },
    apply(state, position, { thread }) {
      state.threads.actors.tell(thread, { type: 'unlocked', position })
      state.moderation.delete('locked', thread)
    },
  }),

  /** The identity's token is refused, and its webhook is not called, until it is unblocked. */
  'identity.blocked': kind({
    code: 43,
    version: 1,
    fields: { identity: number, reason: text },
    apply(state, position, record) {
      const { identity } = record
      state.identities.rotatedPosition = position // its sessions give no access
      state.identities.actors.tell(identity, { type: 'blocked' })
      releaseClaimsOf(state, position, identity)
      addAct(state, position, 'blocked', identity, record)
      state.onNews(feedTopic(identity)) // to refuse its waiting polls
    },
  }),

  'identity.unblocked': kind({
    code: 44,
    version: 1,
    fields: { identity: number, reason: text },
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
  { at, reason }: { at: number; reason: string },
): void {
  moderation.add({ kind, subject, position, at, reason })
}
