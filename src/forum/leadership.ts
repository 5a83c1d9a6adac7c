// Records of leadership: a node began to lead a replicated log.

import { kind, type Timed } from '../kernel/record.ts'

export interface LeaderBegan extends Timed {
  type: 'leader.began'
  /** Counted from 1; each leader has a term of its own (cluster/replication/log-stream.ts, S2). */
  term: number
  node: string
  /** Distinguishes the term from one with the same number in another stream; 32 hex characters. */
  nonce: string
}

export const leadershipRecords = {
  'leader.began': kind<LeaderBegan>({
    code: 50,
    version: 1,
    fields: { term: true, node: true, nonce: true },
    apply(state, position, { term, node, nonce }) {
      state.term = { number: term, began: position, node, nonce }
    },
  }),
}
