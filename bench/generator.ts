// The input of a load generator, and its results.

import type { Filling, Ring } from './ring.ts'

export interface Load {
  url: string
  connections: number
  seconds: number
}

export const percentiles = ['50', '90', '99', '99.9', '100'] as const
export type Percentile = (typeof percentiles)[number]

/** The results of a load generator. */
export interface Seen {
  requests: number
  seconds: number
  /** By percentile. */
  latencyMs: Record<Percentile, number>
  /** Answers that were not 2xx or 3xx, socket errors, and timeouts. */
  errors: number
  /** Requests that had no answer after the generator's limit: wrk goes on waiting for it. */
  timeouts: number
}

export type Send = (load: Load, filling: Filling) => Promise<Seen>

/** Writes the generator's files for a ring into a directory; returns a function that sends it. */
export type Prepare = (dir: string, name: string, ring: Ring) => Send
