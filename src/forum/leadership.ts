// Records of leadership: a node began to lead a replicated log.

import { kind, number, text } from '../kernel/record.ts'

export const leadershipRecords = {
  'leader.began': kind({
    code: 50,
    version: 1,
    fields: {
      /**
       * Counted from 1; each leader has a term of its own (cluster/replication/log-stream.ts, S2).
       */
      term: number,
      node: text,
      /**
       * Distinguishes the term from one with the same number in another stream; 32 hex characters.
       */
      nonce: text,
    },
    apply(state, position, { term, node, nonce }) {
      state.term = { number: term, began: position, node, nonce }
    },
  }),
}
