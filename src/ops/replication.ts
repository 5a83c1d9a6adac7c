// Replication as operators see it: readiness and warnings.

import { counted } from '../base/counted.ts'
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
