// Records of leadership: a node began to lead a replicated log.

import { kind, type Timed } from './kind.ts'

/** How a leader acknowledges: when the stream has a record, or without waiting for it. */
export type ReplicateMode = 'acked' | 'async'

export interface LeaderBegan extends Timed {
  type: 'leader.began'
  /** Counted from 1; each leader has a term of its own (replication/log-stream.ts, S2). */
  term: number
  /** The id of the node that leads. */
  node: string
  mode: ReplicateMode
  /** The id of the epoch that begins behind the record before this one; '': none does. */
  epoch: string
  /** Distinguishes it from another term of this number, in another stream; 32 hex characters. */
  nonce: string
}

export const leadershipRecords = {
  'leader.began': kind<LeaderBegan>({
    code: 50,
    version: 2,
    fields: ['term', 'node', 'mode', 'epoch', 'nonce'],
    added: { nonce: '' },
    apply(state, position, { term, node, mode, epoch, nonce }) {
      state.term = { number: term, began: position, node, mode, nonce }
      if (epoch !== '') state.epoch = { id: epoch, begin: position - 1 }
    },
  }),
}
