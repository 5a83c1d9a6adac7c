// Records of moderation: the erasure of a message.

import { kind, type Timed } from './kind.ts'

export interface MessageErased extends Timed {
  type: 'message.erased'
  /** The number of the message. */
  message: number
  /** Why, in the words of the operator. */
  reason: string
}

export const moderationRecords = {
  'message.erased': kind<MessageErased>({
    code: 40,
    version: 1,
    fields: ['message', 'reason'],
    apply(state, position, { message }) {
      const thread = state.messages.thread(message)
      state.threads.actors.tell(thread, { type: 'erased', position })
      const author = state.messages.author(message)
      state.messages.erase(message, state.identities.signature(author))
      state.erasedPosition = position
    },
  }),
}
