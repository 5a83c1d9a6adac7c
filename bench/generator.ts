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
}

export type Send = (load: Load, filling: Filling) => Promise<Seen>

/** Writes the generator's files for a ring into a directory; returns a function that sends it. */
export type Prepare = (dir: string, name: string, ring: Ring) => Send

/** The input of the generator that sends at a constant rate (open-loop.ts). */
export interface OpenLoad {
  port: number
  /** How answers are framed: by the length in an HTTP head, or in a RESP bulk string. */
  protocol: 'http' | 'resp'
  /** The rendered requests (ring.ts). */
  ringFile: string
  /** The fraction of the requests that append a record. */
  writes: number
  filling: Filling
  /** Requests a second. */
  rate: number
  seconds: number
  connections: number
}

export const openPercentiles = ['50', '90', '99', '99.9', '99.99', '100'] as const

export interface OpenSeen {
  requests: number
  errors: number
  /** By percentile, counted from when requests were due. */
  latencyMs: Record<(typeof openPercentiles)[number], number>
  /** How late the generator itself was, at p99.9. */
  lateMs: number
}
