// The record with which the author of a thread changes its tags.

import { kind, number, texts } from '../../kernel/record.ts'

export const tagRecords = {
  'thread.tagged': kind({
    code: 8,
    version: 1,
    fields: {
      by: number,
      thread: number,
      /** All tags that the thread has from now on, each once, in the order of the request. */
      tags: texts,
    },
    apply(state, position, { at, by, thread, tags }) {
      state.quotas.count('changes', { by, client: '', at })
      state.threads.actors.tell(thread, { type: 'tagged', position })
      state.tags.change(thread, tags, state.threads.isPublic(thread))
      state.tags.changedPosition = position
    },
  }),
}
