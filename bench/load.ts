// The load generators: wrk if it is installed, because it needs the least processor time; otherwise
// autocannon, from npm. Each sends a ring of requests to one server over many connections.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Prepare, Seen, Send } from './generator.ts'
import { has, runLoad } from './process.ts'
import type { Ring } from './ring.ts'
import { prepareWrk } from './wrk.ts'

export const generators: Readonly<Record<'wrk' | 'autocannon', Prepare>> = {
  wrk: reporting(prepareWrk),
  autocannon: reporting(prepareAutocannon),
}
export type Generator = keyof typeof generators

export const bestGenerator: Generator = has('wrk') ? 'wrk' : 'autocannon'

/** Says on standard error that requests of a load failed, because not all figures are shown so. */
function reporting(prepare: Prepare): Prepare {
  return (dir, name, ring) => {
    const send = prepare(dir, name, ring)
    return async (load, filling) => {
      const seen = await send(load, filling)
      const { errors, requests } = seen
      if (errors > 0) process.stderr.write(`${name}: ${errors} of ${requests} requests failed\n`)
      return seen
    }
  }
}

function prepareAutocannon(dir: string, name: string, ring: Ring): Send {
  const ringFile = join(dir, `${name}.ring.json`)
  writeFileSync(ringFile, JSON.stringify(ring))
  const program = join(import.meta.dirname, 'autocannon.js')
  return async (load, filling) => {
    const args = [JSON.stringify(load), ringFile, JSON.stringify(filling)]
    return JSON.parse(await runLoad([process.execPath, program, ...args])) as Seen
  }
}
