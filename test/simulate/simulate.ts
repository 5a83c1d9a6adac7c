// npm run simulate -- --seeds N [--seed S] [--nodes 2]: simulates N seeds from S on, and prints the
// number of occurrences of each outcome. The seed of a failure is printed; `--seed S` alone repeats
// it and prints each step.

import { pluralize } from '../../src/base/text.ts'
import { scriptFlags } from '../script-flags.ts'

const help = `npm run simulate -- [flags]: simulates a whole node on bad days, by seed

  --seeds N   how many; default 200
  --seed S    the first one; default 1. Without --seeds: only this one, step by step
  --nodes 2   a leader and a standby with one log, instead of one node
  -h, --help

Exit codes: 0 every seed passed, 1 some failed, 64 a flag that cannot be used.
`

const flags = scriptFlags(help, ['seeds', 'seed', 'nodes'])
const first = flags.number('seed', 1)
const isReplay = flags.isGiven('seed') && !flags.isGiven('seeds')
const seeds = flags.number('seeds', isReplay ? 1 : 200)
const simulateSeed =
  flags.choice('nodes', ['1', '2']) === '2'
    ? (await import('../cluster/replication/simulation.ts')).simulateTwo
    : (await import('./simulation.ts')).simulate
const trace = isReplay ? (line: () => string) => console.log(line()) : undefined

const outcomes = new Map<string, number>()
let records = 0
let lives = 0
let failures = 0
const begun = performance.now()
const perSecond = (done: number) => (done / ((performance.now() - begun) / 1000)).toFixed(1)
for (let seed = first; seed < first + seeds; seed++) {
  try {
    const simulated = await simulateSeed(seed, trace)
    records += simulated.records
    lives += simulated.lives
    for (const [name, count] of simulated.outcomes)
      outcomes.set(name, (outcomes.get(name) ?? 0) + count)
  } catch (error) {
    failures += 1
    console.log(`seed ${seed} fails: ${(error as Error).stack}`)
    if (failures >= 20) break
  }
  const done = seed - first + 1
  if (done % 200 === 0 && done < seeds) {
    console.log(`${done} seeds, ${pluralize(failures, 'failure')}, ${perSecond(done)} seeds/s`)
  }
  // Lets the rest of the process run as well.
  await new Promise((resolve) => setImmediate(resolve))
}
const seconds = (performance.now() - begun) / 1000
const sorted = [...outcomes].sort(([a], [b]) => (a < b ? -1 : 1))
for (const [name, count] of sorted) console.log(`${String(count).padStart(9)}  ${name}`)
console.log(
  `${pluralize(seeds, 'seed')} from ${first}, ${pluralize(lives, 'node start')}, ` +
    `${pluralize(records, 'record')}, ` +
    `${pluralize(failures, 'failure')}, ${seconds.toFixed(1)} s, ${perSecond(seeds)} seeds/s`,
)
process.exitCode = failures === 0 ? 0 : 1
