// The first seeds of the simulation of two nodes, whose goal and method are in simulation.ts.

import t from 'tap'
import { sizeOf, timeoutMs } from '../depth.ts'
import { simulateTwo } from './simulation.ts'

const seeds = sizeOf('REPLICATION_SEEDS')
const firstSeed = Number(process.env.TEST_SEED ?? 1)

t.setTimeout(timeoutMs)

t.test(`two nodes: ${seeds} seeds of bad days: one history`, async (t) => {
  const seen = new Map<string, number>()
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    try {
      const { outcomes } = await simulateTwo(seed)
      for (const [name, count] of outcomes) seen.set(name, (seen.get(name) ?? 0) + count)
    } catch (error) {
      t.fail(`seed ${seed}: ${(error as Error).stack}`)
      return
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (const [name, count] of [...seen].sort()) t.comment(`${count} ${name}`)
  t.pass(`${seeds} seeds`)
})
