// Replication as operators see it: readiness, warnings, metrics.

import { counted } from '../../wal/counted.ts'
import { counter, gauge } from './prometheus.ts'
import type { ReplicationStats, Vitals } from './vitals.ts'

/** A follower that is further behind is not ready: others show newer messages. */
const readyLagSecondsMax = 30
/** A lag of this is reported. */
const notableLagSeconds = 5

/** Why a node that answers is not ready, or null: a follower that is far behind. */
export function lagging({ replication }: Vitals): string | null {
  if (replication?.role !== 'follower') return null
  return replication.lagSeconds() > readyLagSecondsMax ? `lagging: ${lagOf(replication)}` : null
}

/** Warnings for the operator, one sentence each. */
export function replicationWarnings({ replication }: Vitals): string[] {
  if (replication === null || replication.lagSeconds() < notableLagSeconds) return []
  return [`replication: ${lagOf(replication)}`]
}

/** One line for `/readyz?verbose`; empty: the node is alone. */
export function replicationLine({ replication }: Vitals): string[] {
  if (replication === null) return []
  const { role } = replication
  const sign = replication.lagSeconds() < notableLagSeconds ? '[+]' : '[-]'
  return [`${sign} replication: ${role} in term ${replication.term()}, ${lagOf(replication)}`]
}

function lagOf(replication: ReplicationStats): string {
  const positions = counted(replication.lagPositions(), 'position')
  const lag = `${positions} and ${replication.lagSeconds().toFixed(1)} s`
  return replication.role === 'follower' ? `${lag} behind` : `the stream is ${lag} behind`
}

export function replicationMetrics({ replication }: Vitals): string {
  if (replication === null) return ''
  const prefix = 'agent_forum_replication'
  return [
    gauge(`${prefix}_leader`, '1 while this node leads.', replication.role === 'leader' ? 1 : 0),
    gauge(`${prefix}_term`, 'The term of the newest record here.', replication.term()),
    gauge(
      `${prefix}_lag_positions`,
      'Records that the stream has and this follower lacks; of a leader, that the stream lacks.',
      replication.lagPositions(),
    ),
    gauge(
      `${prefix}_lag_seconds`,
      'For how long the first of them has been missing, or the stream could not be asked.',
      replication.lagSeconds(),
    ),
    counter(
      `${prefix}_takeovers_total`,
      'How often this process took over from another node.',
      replication.takeovers(),
    ),
    counter(
      `${prefix}_fenced_total`,
      'How often another node took over from this process.',
      replication.fenced(),
    ),
    counter(
      `${prefix}_forwarded_total`,
      'Requests that were passed on to the leader.',
      replication.forwarded(),
    ),
  ].join('')
}
