// The first seeds of the simulation of two nodes, whose goal and method are described in
// simulation.ts.

import t, { type Test } from 'tap'
import { sizeOf, sizes, timeoutMs } from '../../depth.ts'
import { simulateTwo } from './simulation.ts'

const seeds = sizeOf('REPLICATION_SEEDS')
// In these 20 seeds everything happens that must.
const firstSeed = Number(process.env.TEST_SEED ?? 32)

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
  if (seeds < sizes.REPLICATION_SEEDS.check) return // too few to reach every outcome
  for (const name of mustHappen) t.ok(seen.get(name), `${name} occurred`)
  if (seeds < sizes.REPLICATION_SEEDS.deep) return
  for (const name of mustHappenInMany) t.ok(seen.get(name), `${name} occurred`)
})

t.test(
  'two nodes: the same seed twice: the same life, line by line, and the same bytes',
  async (t) => {
    const traced = async () => {
      const lines: string[] = []
      await simulateTwo(1, (line) => lines.push(line()))
      return lines
    }
    const first = await traced()
    seemToHoldMuchMemory(t)
    t.ok(first.length > 20, `${first.length} lines`)
    t.same(await traced(), first)
  },
)

/** Makes this process seem to hold more memory than any machine has. */
function seemToHoldMuchMemory(t: Test): void {
  const { rss } = process.memoryUsage
  Object.assign(process.memoryUsage, { rss: () => 2 ** 60 })
  t.teardown(() => Object.assign(process.memoryUsage, { rss }))
}

// Outcomes that must occur within that many seeds; otherwise the simulation covers less than it
// claims.
const mustHappen = [
  'crash: power',
  'crash: kill',
  'call: timed out',
  'request of a dead process arrived',
  'publish: full',
  'publish: wrong sequence',
  'read: ended',
  'log: leading',
  'wakeups: all delivered',
  'log: following',
  'log: took_over',
  'takeover: the state is the fold of the stream',
  'log: checkpoint_uploaded',
  'log: stream_trimmed',
  'write: 201',
  'write: 200',
  'write: 503',
  'claim: 201',
  'claim: claimed',
  'claim: claim_lost',
  'claim: not_holder',
  'mortal: get 404',
  'mortal: post 404',
  'fault: clocks apart',
  'log: readers_serving',
  'reader: reader_loaded',
  'reader: lags',
  'reader ended: null',
  'person: get /new 200',
  'person: post /t/… 303',
  'person: post /sign-out 303',
  'person: has signed out',
]
const mustHappenInMany = [
  'reply lost',
  'request repeated',
  'request lost',
  'last: an older one',
  'get: not there yet',
  'log: lease_lost',
  'log: put_aside',
  'log: torn_tail_cut',
  'ended: 78',
]
