// The vitals of a node that does not exist, to look at.

import { Load } from '../../src/http/load.ts'
import { Meter } from '../../src/http/meter.ts'
import { allWritten, newVitals, type ReplicationStats, type Vitals } from '../../src/ops/vitals.ts'
import { State } from '../../src/state/state.ts'
import type { Health, Journal } from '../../wal/journal/journal.ts'

/** Those of a node in this state; its log is at position 7, or not open yet without a `health`. */
export function vitalsOf(
  refusal: 'starting' | 'shutting_down' | null,
  health: Health | null,
): Vitals {
  const vitals = newVitals({
    version: '1',
    http: 'x',
    durability: 'always',
    availability: { refusal },
    meter: new Meter(),
    load: new Load(),
    memoryBytesMax: 1,
    textBytesMax: 1,
    state: new State({ retentionMs: 1, seed: 1 }),
    logOutput: allWritten,
  })
  if (health !== null) vitals.journal = { health, position: 7, warnings: [] as string[] } as Journal
  return vitals
}

/** Replication of a follower that lacks the last 12 records of the stream. */
export const follower: ReplicationStats = {
  role: 'follower',
  term: () => 3,
  lagPositions: () => 12,
  lagSeconds: () => 0.5,
  takeovers: () => 1,
  fenced: () => 2,
  forwarded: () => 40,
}
