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
}

export const leadershipRecords = {
  'leader.began': kind<LeaderBegan>({
    code: 50,
    version: 1,
    fields: ['term', 'node', 'mode', 'epoch'],
    apply(state, position, { term, node, mode, epoch }) {
      state.term = { number: term, began: position, node, mode }
      if (epoch !== '') state.epoch = { id: epoch, begin: position - 1 }
    },
  }),
}
