// The planted bugs: each is a patch beside this file that makes one small, believable mistake. Its
// head says what the mistake is, what it would do, and which tests are predicted to find it:
//
//   A sync that fails counts as done, because the next one is expected to cover its writes.
//
//   Effect: Writes are acknowledged that the disk has lost.
//   Found by: wal/sync-queue, wal/failure
//   Simulation: 20 seeds of 1 node
//
//   diff --git a/wal/journal/sync-queue.ts b/wal/journal/sync-queue.ts
//   …
//
// `run.ts` applies each of them to a copy of the tree and runs these tests; `outcomes.ts` keeps
// what they found.

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

/** So many seeds of the simulation, of one node or of two with one log. */
export interface Simulated {
  seeds: number
  nodes: number
}

export interface Planted {
  name: string
  /** The patch, by its path. */
  file: string
  /** The mistake, in one sentence. */
  mistake: string
  /** What it would do, in one sentence. */
  effect: string
  /** Test files below test/, without `.test.ts`. */
  foundBy: readonly string[]
  /** The simulation that is predicted to find it as well. */
  simulation: Simulated | null
}

export const top = join(import.meta.dirname, '../../..')
const directory = join(top, 'test/planted')
const form = /^Effect: (.+)\nFound by: ([\w/., -]+)(?:\nSimulation: (\d+) seeds of ([12]) nodes?)?$/

/** Reads all patches, in the order of their names. Throws if a head has another form. */
export function plantedBugs(): Planted[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.patch'))
  return names.sort().map((name) => {
    const file = join(directory, name)
    const [head = ''] = readFileSync(file, 'utf8').split('\ndiff --git ', 1)
    const [mistake = '', tests = '', ...others] = head.trimEnd().split('\n\n')
    const found = form.exec(tests)
    if (found === null || others.length > 0) throw new Error(`${name}: its head has another form`)
    const [, effect = '', list = '', seeds, nodes] = found
    return {
      name: basename(name, '.patch'),
      file,
      mistake: mistake.replaceAll('\n', ' '),
      effect,
      foundBy: list.split(', '),
      simulation: seeds === undefined ? null : { seeds: Number(seeds), nodes: Number(nodes) },
    }
  })
}

const run = promisify(execFile)

/** Resolves to git's complaint about a patch that does not apply to this tree, or to null. */
export async function complaintOf({ file }: Planted, tree = top): Promise<string | null> {
  return run('git', ['apply', '--check', file], { cwd: tree }).then(
    () => null,
    (error: { stderr: string }) => error.stderr,
  )
}
