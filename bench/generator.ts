// What a load generator is given, and what it reports.

import type { Filling, Ring } from './ring.ts'

export interface Load {
  url: string
  connections: number
  seconds: number
}

export const percentiles = ['50', '90', '99', '99.9', '100'] as const
export type Percentile = (typeof percentiles)[number]

/** What the load generator saw. */
export interface Seen {
  requests: number
  seconds: number
  /** By percentile. */
  latencyMs: Record<Percentile, number>
  /** Answers that were not 2xx or 3xx, and socket errors. */
  errors: number
}

export type Send = (load: Load, filling: Filling) => Promise<Seen>

/** Writes what the generator needs to send a ring into a directory; returns what sends it. */
export type Prepare = (dir: string, name: string, ring: Ring) => Send
