// Load: a ring of requests sent to one server over many connections. wrk where it is installed,
// since it costs its core least; else autocannon, which comes with npm.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { has, runLoad } from './process.ts'
import type { Filling, Ring } from './ring.ts'
import { prepareWrk } from './wrk.ts'

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

export const generators: Readonly<Record<'wrk' | 'autocannon', Prepare>> = {
  wrk: prepareWrk,
  autocannon: prepareAutocannon,
}
export type Generator = keyof typeof generators

export const bestGenerator: Generator = has('wrk') ? 'wrk' : 'autocannon'

function prepareAutocannon(dir: string, name: string, ring: Ring): Send {
  const ringFile = join(dir, `${name}.ring.json`)
  writeFileSync(ringFile, JSON.stringify(ring))
  const program = join(import.meta.dirname, 'autocannon.js')
  return async (load, filling) => {
    const args = [JSON.stringify(load), ringFile, JSON.stringify(filling)]
    return JSON.parse(await runLoad([process.execPath, program, ...args])) as Seen
  }
}
