// The vitals of an imaginary node, for tests and for viewing.

import { Histogram } from '../../../src/base/histogram.ts'
import { Load } from '../../../src/edge/http/load.ts'
import { Meter } from '../../../src/edge/http/meter.ts'
import { State } from '../../../src/forum/state.ts'
import {
  allWritten,
  CheckpointStats,
  newVitals,
  type ReadersStats,
  type ReplicationStats,
  ScrubStats,
  type Vitals,
} from '../../../src/operators/ops/vitals.ts'
import type { Health, Journal } from '../../../wal/journal/journal.ts'

/** The delays of an event loop that is never late. */
export const noDelays = { quantile: () => 0 }

/** Returns a node's vitals in this state. Its log is at position 7; null: it is not open yet. */
export function vitalsOf(
  refusal: 'starting' | 'shutting_down' | null,
  health: Health | null,
): Vitals {
  const vitals = newVitals({
    version: '1',
    http: 'x',
    durability: 'always',
    retentionDays: 0,
    availability: { refusal },
    meter: new Meter(),
    load: new Load(),
    memoryBytesMax: 1,
    textBytesMax: 1,
    state: new State({ retentionMs: 1, seed: 1 }),
    checkpoints: new CheckpointStats(),
    scrub: new ScrubStats(),
    logOutput: allWritten,
  })
  if (health !== null) vitals.journal = { health, position: 7, warnings: [] as string[] } as Journal
  return vitals
}

/** The replication of a follower that lacks the last 12 records of the stream. */
export const follower: ReplicationStats = {
  node: 'this-node',
  role: 'follower',
  term: () => 3,
  lagPositions: () => 12,
  lagSeconds: () => 0.5,
  isStale: () => false,
  takeovers: () => 1,
  fenced: () => 2,
  forwarded: () => 40,
}

/** Two of three readers, one of which is three records behind the other. */
export function someReaders() {
  const heap = { residentBytes: 2 ** 20, heapBytes: 0, externalBytes: 0, textBytes: 0 }
  const memory = { ...heap, bodyBytes: 100, answerBytes: 20 }
  return {
    counts: { configured: 3, serving: 2 },
    running: [
      { reader: 1, position: 7, ...memory },
      { reader: 2, position: 4, ...memory },
    ],
    cpuSeconds: 0,
    restarts: 1,
    forwarded: 0,
    waiting: 0,
    textReads: 0,
    staleness: new Histogram([]),
    heldSeconds: 0,
    warnings: ['readers: 2 of 3 serve'],
  } satisfies ReadersStats
}

/** Returns the vitals of a node that has everything measurable: a log, readers and a leader. */
export function vitalsOfAll(): Vitals {
  const vitals = vitalsOf(null, 'ok')
  const syncs = new Histogram([])
  const stats = { batches: 1, records: 7, bytes: 512, segment: 1, syncs }
  Object.assign(vitals.journal!, { durable: 7, stats: () => stats })
  const ended = { news: 1, timeout: 2 }
  return {
    ...vitals,
    waiting: { ...vitals.waiting, ended },
    guesses: { notLetIn: { token: 3, invite: 4 } },
    readers: someReaders(),
    replication: follower,
  }
}
