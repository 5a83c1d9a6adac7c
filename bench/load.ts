// The load generators: wrk if it is installed, because it needs the least processor time; otherwise
// autocannon, from npm. Each sends a ring of requests to one server over many connections.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Prepare, Seen, Send } from './generator.ts'
import { has, runLoad } from './process.ts'
import type { Ring } from './ring.ts'
import { prepareWrk } from './wrk.ts'

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
