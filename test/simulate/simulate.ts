// npm run simulate -- --seeds N [--seed S]: lives through N seeds from S on, and says what it
// found. The seed of a failure is printed; `--seed S` alone lives through it again, line by line.

import { parseArgs } from 'node:util'
import { simulate } from './simulation.ts'

const { values } = parseArgs({
  options: { seeds: { type: 'string' }, seed: { type: 'string' } },
})
const first = Number(values.seed ?? 1)
const isReplay = values.seed !== undefined && values.seeds === undefined
const seeds = Number(values.seeds ?? (isReplay ? 1 : 200))
const trace = isReplay ? (line: () => string) => console.log(line()) : undefined

const outcomes = new Map<string, number>()
let records = 0
let lives = 0
let failures = 0
const begun = performance.now()
const perSecond = (done: number) => (done / ((performance.now() - begun) / 1000)).toFixed(1)
for (let seed = first; seed < first + seeds; seed++) {
  try {
    const simulated = await simulate(seed, trace)
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
  if (done % 1000 === 0) {
    console.log(`${done} seeds, ${failures} failures, ${perSecond(done)} seeds/s`)
  }
  // The rest of the process gets its turn too.
  await new Promise((resolve) => setImmediate(resolve))
}
const seconds = (performance.now() - begun) / 1000
const sorted = [...outcomes].sort(([a], [b]) => (a < b ? -1 : 1))
for (const [name, count] of sorted) console.log(`${String(count).padStart(9)}  ${name}`)
console.log(
  `${seeds} seeds from ${first}, ${lives} lives, ${records} records, ` +
    `${failures} failures, ${seconds.toFixed(1)} s, ${perSecond(seeds)} seeds/s`,
)
process.exitCode = failures === 0 ? 0 : 1
