// The status that `agent-forum status` reports, as the admin socket sends it: the role of a node in
// its log, its position, and whether it is ready. readiness.ts decides on the latter.

import { withCommit } from './commit.ts'
import { readiness, warningsOf } from './readiness.ts'
import type { Vitals } from './vitals.ts'

export type NodeStatus = ReturnType<typeof nodeStatus>

export function nodeStatus(vitals: Vitals) {
  const { version, journal, state, availability } = vitals
  const { isReady, text } = readiness(vitals, false)
  const hasRole = availability.refusal !== 'starting'
  const replication = hasRole ? vitals.replication : null
  return {
    /** With the commit, if it is known. */
    version: withCommit(version),
    /** Whether the node answers requests, and a sentence about that: 'ok', or why not. */
    is_ready: isReady,
    readiness: text.trimEnd(),
    /** `alone` without a replicated log; null until the node has a role. */
    role: hasRole ? (replication?.role ?? 'alone') : null,
    /** The position of the newest record of its log; null until the log has been read. */
    position: journal?.position ?? null,
    /** Null without a replicated log, and until the node has a role. */
    replication: replication && {
      /** The id of this node, and of the leader of the term that it has reached. */
      node: replication.node,
      leader: state.term.node,
      term: replication.term(),
      /** The lag of a follower behind the stream, or of the stream behind the leader. */
      lag_positions: replication.lagPositions(),
      lag_seconds: replication.lagSeconds(),
    },
    /** Faults that do not keep the node from answering, one sentence each. */
    warnings: warningsOf(vitals),
  }
}
