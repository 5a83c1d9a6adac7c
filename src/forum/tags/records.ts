// The record with which the author of a thread changes its tags.

import { kind, type Timed } from '../../kernel/record.ts'

export interface ThreadTagged extends Timed {
  type: 'thread.tagged'
  by: number
  thread: number
  /** All tags that the thread has from now on, each once, in the order of the request. */
  tags: readonly string[]
}

export const tagRecords = {
  'thread.tagged': kind<ThreadTagged>({
    code: 8,
    version: 1,
    fields: { by: true, thread: true, tags: true },
    apply(state, position, { at, by, thread, tags }) {
      state.quotas.count('changes', { by, client: '', at })
      state.threads.actors.tell(thread, { type: 'tagged', position })
      state.tags.change(thread, tags, state.threads.isPublic(thread), position)
    },
  }),
}
